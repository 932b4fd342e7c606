"""Settings that may be "auto": read, bounded, written, decided, and filled in from what was decided before."""

from __future__ import annotations

import tomllib
from typing import Annotated, Any

import pytest

from regard.core.auto import AUTO, Auto, decided, filled, is_auto
from regard.core.config import Config, parse, to_toml
from regard.core.errors import RecipeError


class Plan(Config):
    steps: Annotated[int, Auto(ge=1)] = AUTO
    dropout: Annotated[float, Auto(lt=1)] = AUTO


def test_what_is_not_said_is_undecided_and_written_as_auto() -> None:
    plan = Plan()
    assert is_auto(plan.steps)
    assert is_auto(plan.dropout)
    assert tomllib.loads(to_toml(plan)) == {"steps": "auto", "dropout": "auto"}
    assert parse(Plan, tomllib.loads(to_toml(plan))) == plan


def test_what_is_said_stays() -> None:
    plan = parse(Plan, {"steps": 7, "dropout": 0})
    assert (decided(plan.steps, lambda: 99), decided(plan.dropout, lambda: 0.5)) == (7, 0.0)
    assert decided(Plan().steps, lambda: 99) == 99


@pytest.mark.parametrize(
    "tree, message",
    [
        ({"steps": 0}, "steps: Input should be greater than or equal to 1, found 0"),
        ({"steps": -1}, "steps: Input should be greater than or equal to 1, found -1"),
        ({"steps": "automatic"}, "steps: Input should be a valid integer"),
        ({"steps": 2.5}, "steps: Input should be a valid integer"),
        ({"dropout": 1.0}, "dropout: Input should be less than 1"),
        ({"dropout": -1}, "dropout: Input should be greater than or equal to 0"),
        ({"dropout": float("nan")}, "dropout: Input should be a finite number"),
    ],
)
def test_other_values_are_refused(tree: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError) as caught:
        parse(Plan, tree)
    assert message in str(caught.value)


def test_a_tree_is_filled_from_what_was_decided() -> None:
    given = {"a": "auto", "b": {"c": "auto", "d": 2}, "e": "auto"}
    held = {"a": 1, "b": {"c": 3, "d": 4}}
    assert filled(given, held) == {"a": 1, "b": {"c": 3, "d": 2}, "e": "auto"}
