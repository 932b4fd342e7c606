"""Bad settings at random: wrong types, unknown keys, kinds of other tables, numbers beyond all bounds."""

from __future__ import annotations

import math
import random
import signal
import tempfile
import traceback
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

import regard
from regard.core.config import Config
from regard.core.errors import RegardError
from regard.models import MODELS
from regard.runs.journal import NullObserver
from regard.runs.recipe import Recipe
from regard.tasks import TASKS
from tests.settings import kinds
from tests.settings.keys import changed, choices_of, joined, table_of
from tests.settings.kinds import Tree

HUGE = (10**9, 10**12, 2**31, 2**63 - 1, 2**63, 10**24, -1, -(10**9), -(2**63))
SECONDS = 20
"""How long one may take."""


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
        return f"{self.what}: {self.path} = {self.value!r} (model {self.recipe['model']['kind']})"


class Enough(NullObserver):
    """Ends a training that goes well."""

    def on_step(self, step: int, figures: Mapping[str, float]) -> None:
        if step >= 2:
            raise Trained


class Trained(Exception):
    """The setting was no hindrance."""


class Hangs(Exception):
    """It took too long."""


def cases(files: Path, count: int, seed: int) -> Iterator[Case]:
    """So many, the same for the same seed."""
    generator = random.Random(seed)
    grounds = [kinds.recipe_with(files, "model", kind) for kind in MODELS.kinds()]
    grounds += [kinds.recipe_with(files, "task", kind) for kind in TASKS.kinds()]
    ways = (wrong_type, unknown_key, other_kind, huge_number, not_finite, empty_text)
    while count:
        case = generator.choice(ways)(generator.choice(grounds), generator)
        if case is not None:
            count -= 1
            yield case


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


def verdict(case: Case, *, as_file: bool) -> str:
    """"refused", "trained", or what went wrong."""
    with tempfile.TemporaryDirectory() as folder, limited(SECONDS):
        path = Path(folder) / "recipe.toml"
        try:
            if as_file:
                path.write_text(tomli_w.dumps(changed(case.recipe, {case.path: case.value})), encoding="utf-8")
                recipe = Recipe.read(path)
            else:
                path.write_text(tomli_w.dumps(case.recipe), encoding="utf-8")
                recipe = Recipe.read(path, [f"{case.path}={written(case.value)}"])
            regard.train(recipe, Path(folder) / "run", observers=[Enough()])
        except RegardError as error:
            return "refused" if str(error).strip() else "refused without a word"
        except Trained:
            pass
        except Hangs:
            return f"hangs for {SECONDS} seconds"
        except BaseException as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            return f"{type(error).__name__}: {str(error)[:200]} ({last.filename}:{last.lineno})"
        return "accepted in silence" if case.must_fail else "trained"


def written(value: Any) -> str:
    """As it is typed behind --set."""
    if isinstance(value, str):
        return f'"{value}"'
    return tomli_w.dumps({"value": [value]}).partition("=")[2].strip().removeprefix("[").removesuffix("]").strip(" ,\n")


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Ends what takes longer, where that is possible."""

    def end(number: int, frame: Any) -> None:
        raise Hangs

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


