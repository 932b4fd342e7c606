"""How a row of a table becomes an example, for each kind of data, as its reader will make it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from regard.data.discovery.tables.columns import is_number
from regard.data.discovery.tables.opening import cell_text
from regard.data.discovery.tables.structured import REGRESSION, Choice
from regard.data.discovery.tally import Seen
from regard.data.sources.questions import references
from regard.data.sources.tagged import listed as items_of

BETWEEN = re.compile(r"[\s,;]+")
"""What stands between numbers where a cell has several."""


def pair(cells: Sequence[Any]) -> Seen | None:
    if not all(isinstance(cell, str) for cell in cells):
        raise ValueError(f"{next(cell for cell in cells if not isinstance(cell, str))!r}, which is not text")
    source, target = (cell_text(cell) for cell in cells)
    return Seen(source, target) if source and target else None


def labelled(cells: Sequence[Any]) -> Seen | None:
    text, label, *second = (cell_text(cell) for cell in cells)
    return Seen(" ".join([text, *second]), label, (label,)) if text and label and all(second) else None


def numbered(cells: Sequence[Any]) -> Seen | None:
    text, number, *second = (cell_text(cell) for cell in cells)
    if number and not all(map(is_number, BETWEEN.split(number))):
        raise ValueError(f"{number[:40]!r}, which is not a number")
    return Seen(" ".join([text, *second]), number) if text and number and all(second) else None


def text_alone(cells: Sequence[Any]) -> Seen | None:
    text = cell_text(cells[0])
    return Seen(text) if text else None


def tagged(cells: Sequence[Any]) -> Seen | None:
    words, tags = map(items_of, cells)
    if len(words) != len(tags):
        raise ValueError(f"{len(words)} words and {len(tags)} tags")
    return Seen(" ".join(words), " ".join(tags), tags) if words else None


def question(cells: Sequence[Any]) -> Seen | None:
    asked, context = cell_text(cells[0]), cell_text(cells[1])
    answers = references(cells[2], None)
    return Seen(f"{asked}\t{context}", answers[0].text if answers else "") if asked and context else None


ROWS: Mapping[str, Callable[[Sequence[Any]], Seen | None]] = {
    "pairs": pair, "labelled": labelled, "text-table": text_alone, "tagged": tagged, "questions": question,
    "pictures": labelled, "sounds": labelled,
}  # fmt: skip
"""How a row of each kind of data is read: None where it is skipped, a ValueError where it is wrong."""


def reader_of(choice: Choice) -> Callable[[Sequence[Any]], Seen | None]:
    return numbered if choice.task == REGRESSION else ROWS[choice.kind]
