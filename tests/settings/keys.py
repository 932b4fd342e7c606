"""Every key of every table that a recipe can hold, each with tiny recipes in which that table stands."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pydantic.fields import FieldInfo

from regard.core.config import Choices, Config
from regard.runs.recipe import Recipe
from tests.settings import kinds
from tests.settings.kinds import Tree

MOST_PLACES = 6
"""Of one class of settings; the first of them that trains is taken."""


class Place(NamedTuple):
    """Where a table stands: its name with the kinds above it, its path, and a recipe that has it."""

    name: str
    path: str
    recipe: Tree


@dataclass(frozen=True)
class Key:
    """A key of a class of settings, and where its table may stand."""

    key: str
    settings: type[Config] = field(hash=False)
    places: tuple[Place, ...] = field(hash=False)

    @property
    def name(self) -> str:
        """As in "model=gpt.position=learned.first"."""
        return joined(self.places[0].name, self.key)

    @property
    def info(self) -> FieldInfo:
        return self.settings.model_fields[self.key]


def every_key(files: Path) -> list[Key]:
    """Each key of each class once."""
    places: dict[type[Config], list[Place]] = {Recipe: [Place("", "", kinds.recipe(files, "translation"))]}
    for settings, place in tables(Recipe, places[Recipe][0], files):
        own = places.setdefault(settings, [])
        if len(own) < MOST_PLACES:
            own.append(place)
    return [
        Key(key, settings, tuple(own))
        for settings, own in places.items()
        for key, info in settings.model_fields.items()
        if key != "kind" and table_of(info) is None and choices_of(info) is None
    ]


def tables(settings: type[Config], place: Place, files: Path, depth: int = 0) -> Iterator[tuple[type[Config], Place]]:
    """All tables below one, each with every kind that it may have."""
    for key, info in settings.model_fields.items():
        path, choices, own = joined(place.path, key), choices_of(info), table_of(info)
        for kind in choices.kinds() if choices is not None else ():
            found = choices.resolve(kind) if choices is not None else Config
            recipe = kinds.recipe_with(files, key, kind) if not place.path else with_kind(place.recipe, path, kind)
            inner = Place(joined(place.name, f"{key}={kind}"), path, recipe)
            yield found, inner
            if depth < 3:
                yield from tables(found, inner, files, depth + 1)
        if own is not None:
            inner = Place(joined(place.name, key), path, place.recipe)
            yield own, inner
            yield from tables(own, inner, files, depth + 1)


def with_kind(recipe: Tree, path: str, kind: str) -> Tree:
    """The recipe with another kind of table, unless it has that one there."""
    held = value_at(recipe, path)
    if isinstance(held, dict) and held.get("kind") == kind:
        return recipe
    return changed(recipe, {path: {"kind": kind, **kinds.PART_TABLES.get(f"{path.rpartition('.')[2]}={kind}", {})}})


def choices_of(info: FieldInfo) -> Choices[Any] | None:
    return next((note for note in info.metadata if isinstance(note, Choices)), None)


def table_of(info: FieldInfo) -> type[Config] | None:
    own = info.annotation
    return own if choices_of(info) is None and isinstance(own, type) and issubclass(own, Config) else None


def joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def value_at(recipe: Tree, path: str) -> Any:
    """What stands there; None: nothing does."""
    found: Any = recipe
    for key in path.split("."):
        found = found.get(key) if isinstance(found, dict) else None
    return found


def changed(recipe: Tree, values: Tree) -> Tree:
    """The recipe with other values by their paths; None takes a key out."""
    made = copy.deepcopy(recipe)
    for path, value in values.items():
        *above, last = path.split(".")
        table = made
        for key in above:
            table = table.setdefault(key, {})
        if value is None:
            table.pop(last, None)
        else:
            table[last] = value
    return made
