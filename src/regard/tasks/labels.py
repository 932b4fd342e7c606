"""Checks labels: at least two are needed, and all must occur in training."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from regard.core.errors import DataError, enumerate_problems

LISTED = 20


class HasOrigin(Protocol):
    """Something that was read somewhere."""

    @property
    def line(self) -> int: ...

    @property
    def origin(self) -> str: ...


def check_distinct_labels(labels: Sequence[str]) -> None:
    """Those that a recipe names; a class that is named twice would be two."""
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise ValueError(f"labels names {', '.join(map(repr, twice))} more than once; name every class once")


def check_two_labels(labels: Sequence[str]) -> None:
    if len(labels) < 2:
        raise DataError(
            f"there is {f'only one class, {labels[0]!r}' if labels else 'no class'}; at least two are needed, so give "
            "examples of others"
        )


def check_known_labels(stated: Iterable[tuple[str, HasOrigin]], known: Collection[str]) -> None:
    """Labels that nothing was learned about are named, all of them, with where they first stand."""
    found: dict[str, HasOrigin] = {}
    for label, example in stated:
        if label not in known:
            found.setdefault(label, example)
    if found:
        problems = [f"{label!r} ({one.origin}, line {one.line})" for label, one in found.items()]
        remedy = "correct or remove them, or name all in task.labels before training"
        title = f"labels that no training example has (known: {', '.join(known)}); {remedy}"
        raise DataError(enumerate_problems(title, problems[:LISTED]))
