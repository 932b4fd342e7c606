"""A column that says which split a row belongs to: train, valid, test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from regard.data.discovery.found import numbered
from regard.data.discovery.given import ROLES, TRAIN, VALIDATION, SplitFiles
from regard.data.discovery.tables.opening import Table, cell_text
from regard.data.discovery.tables.structured import Choice

ANY_FORM = ("pairs", "labelled", "text-table")
"""Kinds of data that read tables with separators of their own, without a line of names, and only some of their rows."""
WORDS = {**ROLES, "eval": VALIDATION}
MOST = 4  # different values


@dataclass(frozen=True, slots=True)
class Division:
    """A column, and which of its values stands for which split; nothing where no column does."""

    column: str = ""
    values: Mapping[str, str] = field(default_factory=dict)  # by split
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def division(table: Table, choice: Choice, files: SplitFiles) -> Division:
    """By the one column whose every value is the name of a split, if the table is all that there is."""
    names = [name for name in table.names if name not in choice.columns.values() and may_divide(table, name)]
    if not names:
        return Division()
    column = names[0]
    if [*files.by_name().values()] != [(table.path,)]:
        return not_read(column, "the files say which split a row belongs to")
    if choice.kind not in ANY_FORM:
        return not_read(column, "write a file for each split")
    counts = Counter(cell_text(cells[0]) for _, cells in table.columns([column]))
    values = {WORDS.get(value.lower(), ""): value for value in counts}
    if "" in values:
        others = sum(count for value, count in counts.items() if value.lower() not in WORDS)
        return not_read(column, f"{numbered(others, 'row')} have something else in it; correct them")
    if TRAIN not in values or len(values) < len(counts):
        return not_read(column, "one value for each split is needed, and one of them train")
    shown = ", ".join(f"{value} {count:,}" for value, count in counts.most_common())
    return Division(column, values, (f"{column!r} says which split a row belongs to: {shown}",))


def not_read(column: str, why: str) -> Division:
    warning = f"column {column!r} seems to say which split a row belongs to; it is not read: {why}"
    return Division(warnings=(warning,))


def may_divide(table: Table, name: str) -> bool:
    values = {cell_text(cell).lower() for cell in table.cells(name)}
    return 1 < len(values) <= MOST and sum(value in WORDS for value in values) > 1
