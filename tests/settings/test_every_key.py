"""Every key of every table: another value changes weights, files or answers, or is refused, or the key is listed."""

from __future__ import annotations

import fnmatch
import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeVar

import pytest
import torch

from tests.settings import changes, kinds
from tests.settings.files import write_files
from tests.settings.keys import Key, Place, changed, every_key, joined, value_at
from tests.settings.kinds import Tree
from tests.settings.trying import Outcome, outcome

EVERY = "REGARD_EVERY_KEY"
"""Set to 1, this environment variable has all keys looked at, in some minutes; else it is one in so many."""
ONE_IN = 12
OUT_OF_RANGE, NO_EFFECT = "Input should be", "has no effect"
Value = TypeVar("Value")

FILES = Path(mkdtemp()) / "data"
KEYS = {key.name: key for key in every_key(FILES)}


@pytest.fixture(scope="module", autouse=True)
def _files() -> None:
    torch.set_num_threads(1)
    write_files(FILES)


def sample() -> list[str]:
    """Those that are not listed; by default a part of them, spread over all tables."""
    own = [name for name in KEYS if found(changes.LISTED, name) is None]
    return own if os.environ.get(EVERY) == "1" else own[:: ONE_IN]


def found(table: Mapping[str, Value], name: str) -> Value | None:
    """What a table says of a key: by its name, or by a pattern that it fits."""
    return next((value for pattern, value in table.items() if fnmatch.fnmatchcase(name, pattern)), None)


@pytest.mark.parametrize("name", sample())
def test_another_value_has_an_effect_or_is_refused(name: str) -> None:
    key = KEYS[name]
    place = next((place for place in key.places if not usual(key, place).refusal), None)
    assert place is not None, f"no recipe in which it stands can be trained: {usual(key, key.places[0]).refusal}"
    said = effect(key, place)
    assert said.startswith(("effect", "refused")), said


def effect(key: Key, place: Place) -> str:
    """What another value does in this place."""
    recipe, before = ground(key, place), usual(key, place)
    path, alike, refused = joined(place.path, key.key), [], ""
    for value in other_values(key, place):
        after = outcome(changed(recipe, {path: value}))
        if after.refusal:
            if NO_EFFECT in after.refusal:
                return f"refused: {after.refusal}"
            refused = refused or ("" if OUT_OF_RANGE in after.refusal else after.refusal)
        elif after.files != before.files or after.scores() != before.scores():
            return f"effect of {value!r}"
        else:
            alike.append(value)
    if refused and not alike:
        return f"refused: {refused}"
    return f"{key.name}: nothing changes with {alike}; declare it in unused() of its settings, or list it"


def other_values(key: Key, place: Place) -> list[Any]:
    given = found(changes.OTHERS, key.name)
    if given is not None:
        return given
    if place.name.startswith("data=") and key.key in changes.SPLITS:
        return kinds.file_values(FILES, place.name.removeprefix("data="), key.key)
    now = value_at(ground(key, place), joined(place.path, key.key))
    return changes.guesses(key.info.annotation, key.info.get_default(call_default_factory=True) if now is None else now)


def ground(key: Key, place: Place) -> Tree:
    return changed(place.recipe, found(changes.BESIDE, key.name) or {})


def usual(key: Key, place: Place) -> Outcome:
    return trained(json.dumps(ground(key, place)))


@cache
def trained(recipe: str) -> Outcome:
    return outcome(json.loads(recipe))


def test_every_line_of_the_lists_is_of_a_key() -> None:
    for table in (changes.LISTED, changes.OTHERS, changes.BESIDE):
        idle = [pattern for pattern in table if not fnmatch.filter(KEYS, pattern)]
        assert not idle


def test_there_are_hundreds_of_keys() -> None:
    assert len(KEYS) > 500
