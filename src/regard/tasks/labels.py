"""Labels that the data decides: too few of them, and ones that nothing was learned about, are refused."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from regard.core.errors import DataError, enumerate_problems
from regard.data.examples import Example

LISTED = 20


def refuse_few(labels: Sequence[str]) -> None:
    if len(labels) < 2:
        raise DataError(
            f"there is nothing to tell apart: the labels are {', '.join(labels) or 'none at all'}; at least two are "
            "needed"
        )


def refuse_unseen(stated: Iterable[tuple[str, Example]], known: Collection[str]) -> None:
    """Labels that nothing was learned about are named, all of them, with where they first stand."""
    found: dict[str, Example] = {}
    for label, example in stated:
        if label not in known:
            found.setdefault(label, example)
    if found:
        problems = [f"{label!r} ({one.origin}, line {one.line})" for label, one in found.items()]
        remedy = "mend or remove them, or name all in task.labels"
        title = f"labels that no training example has (known: {', '.join(known)}); {remedy}"
        raise DataError(enumerate_problems(title, problems[:LISTED]))
