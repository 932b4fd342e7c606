"""Bad settings at random: wrong types, unknown keys, kinds of other tables, numbers beyond all bounds."""

from __future__ import annotations

import contextlib
import math
import random
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

import regard
from regard.core.config import Choices, Config
from regard.data import DATA
from regard.data.modalities import MODALITIES
from regard.models import MODELS
from regard.runs.journal import NullObserver
from regard.runs.recipe import Recipe
from regard.tasks import TASKS
from tests.settings import kinds
from tests.settings.keys import changed, choices_of, joined, table_of
from tests.settings.kinds import Tree

HUGE = (10**9, 10**12, 2**31, 2**63 - 1, 2**63, 10**24, -1, -(10**9), -(2**63))


@dataclass(frozen=True)
class Case:
    """A recipe with one bad setting; some of them may be good after all, such as a very long window."""

    what: str
    recipe: Tree
    path: str
    value: Any
    must_fail: bool

    @property
    def name(self) -> str:
        where = f"{self.recipe['model']['kind']} on {self.recipe['data']['kind']}"
        return f"{self.what}: {self.path} = {self.value!r} ({where})"


class Enough(NullObserver):
    """Ends a training that goes well."""

    def on_step(self, step: int, figures: Mapping[str, float]) -> None:
        if step >= 2:
            raise Trained


class Trained(Exception):
    """The setting was no hindrance."""


def grounds(files: Path) -> list[Tree]:
    """A tiny recipe for every model, task and kind of data and input."""
    tables: dict[str, Choices[Any]] = {"model": MODELS, "task": TASKS, "data": DATA, "input": MODALITIES}
    found = [kinds.recipe_with(files, table, kind) for table, choices in tables.items() for kind in choices.kinds()
             if kind not in kinds.SLOW]  # fmt: skip
    return [recipe for place, recipe in enumerate(found) if recipe not in found[:place]]


def case(recipes: Sequence[Tree], generator: random.Random) -> Case:
    """One of these recipes with something wrong in it."""
    ways = (wrong_type, unknown_key, other_kind, huge_number, not_finite, empty_text)
    while True:
        found = generator.choice(ways)(generator.choice(recipes), generator)
        if found is not None:
            return found


# -- what may be wrong ------------------------------------------------------------------------------------------


def leaves(settings: Config, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Every key of a recipe by its path, with its type and value."""
    for key, info in type(settings).model_fields.items():
        value = getattr(settings, key)
        if isinstance(value, Config):
            yield from leaves(value, joined(path, key))
        elif key != "kind":
            yield joined(path, key), info.annotation, value


def places(settings: Config, path: str = "") -> Iterator[tuple[str, Config]]:
    """Every table of a recipe by its path."""
    yield path, settings
    for key, info in type(settings).model_fields.items():
        if choices_of(info) is not None or table_of(info) is not None:
            yield from places(getattr(settings, key), joined(path, key))


def leaf(recipe: Tree, generator: random.Random, fits: Callable[[Any], bool]) -> tuple[str, Any] | None:
    own = [(path, kind) for path, kind, _ in leaves(Recipe.of(recipe)) if fits(kind)]
    return generator.choice(own) if own else None


def wrong_type(recipe: Tree, generator: random.Random) -> Case | None:
    found = leaf(recipe, generator, lambda kind: kind in (int, float, bool, str))
    if found is None:
        return None
    path, kind = found
    wrong = {
        int: ("seven", 1.5, True, [1], {"a": 1}), float: ("seven", True, [0.5], {}), bool: ("yes", 1, [True], {}),
        str: (7, True, ["a"], {"a": 1}),
    }  # fmt: skip
    return Case("wrong type", recipe, path, generator.choice(wrong[kind]), must_fail=True)


def unknown_key(recipe: Tree, generator: random.Random) -> Case:
    path, _ = generator.choice(list(places(Recipe.of(recipe))))
    key = generator.choice(("unknown", "widht", "Steps", "layer", "a b", "0", "", "kind2"))
    value = generator.choice((1, "a", True, {"kind": "a"}))
    return Case("unknown key", recipe, f"{path}.{key}" if path else key, value, must_fail=True)


def other_kind(recipe: Tree, generator: random.Random) -> Case | None:
    """The kind of another table, or none at all."""
    of_tables = [
        (joined(path, key), choices)
        for path, settings in places(Recipe.of(recipe))
        for key, info in type(settings).model_fields.items()
        if (choices := choices_of(info)) is not None
    ]
    path, choices = generator.choice(of_tables)
    others = sorted({kind for _, own in of_tables for kind in own.kinds()} - {*choices.kinds()})
    value = generator.choice([*others, "", "os:path", "regard.models.gpt:Gpt", "nowhere:Class", 3, ["gpt"], {}])
    return Case("kind of another table", recipe, f"{path}.kind", value, must_fail=True)


def huge_number(recipe: Tree, generator: random.Random) -> Case | None:
    found = leaf(recipe, generator, lambda kind: kind in (int, float))
    if found is None:
        return None
    path, kind = found
    number = generator.choice(HUGE)
    value = kind(number)
    return Case("huge number", recipe, path, value, must_fail=kind is int and number in (2**63, 10**24))


def not_finite(recipe: Tree, generator: random.Random) -> Case | None:
    found = leaf(recipe, generator, lambda kind: kind in (int, float))
    return found and Case("not finite", recipe, found[0], generator.choice((math.nan, math.inf, -math.inf)), True)


def empty_text(recipe: Tree, generator: random.Random) -> Case | None:
    found = leaf(recipe, generator, lambda kind: kind in (str, int) or typing.get_origin(kind) is typing.Literal)
    return found and Case("empty text", recipe, found[0], "", must_fail=found[1] is not str)


# -- what comes of it -------------------------------------------------------------------------------------------


def try_training(case: Case, folder: Path, *, as_file: bool) -> None:
    """Reads the recipe and trains it for two steps; whatever comes up is raised."""
    path = folder / "recipe.toml"
    if as_file:
        path.write_text(tomli_w.dumps(changed(case.recipe, {case.path: case.value})), encoding="utf-8")
        recipe = Recipe.read(path)
    else:
        path.write_text(tomli_w.dumps(case.recipe), encoding="utf-8")
        recipe = Recipe.read(path, [f"{case.path}={written(case.value)}"])
    with contextlib.suppress(Trained):
        regard.train(recipe, folder / "run", observers=[Enough()])


def written(value: Any) -> str:
    """As it is typed behind --set."""
    if isinstance(value, str):
        return f'"{value}"'
    return tomli_w.dumps({"value": [value]}).partition("=")[2].strip().removeprefix("[").removesuffix("]").strip(" ,\n")
