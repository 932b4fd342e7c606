"""Classifies columns by their contents: texts, labels, numbers, lists, pictures, dates, addresses, keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from regard.data.discovery.tables.names import IDS
from regard.data.discovery.tables.opening import MISSING, Table, cell_text
from regard.data.modalities.audio.decoding import SUFFIXES as SOUND_ENDINGS

Kind: TypeAlias = Literal[
    "text", "label", "short", "number", "list", "object", "picture", "sound", "date", "address", "key", "constant",
    "empty",
]
"""``short``: neither texts nor labels for certain, since too many short values recur."""

NEARLY = 0.95  # of all values
SPARSE = 0.05  # of all rows; with fewer filled ones, a column is as good as empty
FEW_ROWS = 30
FEW_LABELS = 20
MOST_LABELS = 5000
OFTEN, SELDOM = 3, 10  # how often values recur on the average, where they are few or many, to be labels
LABEL_WORDS, LABEL_CHARACTERS = 4, 60
TEXT_WORDS = 5
TEXT_SHARE = 0.5  # of different values
PICTURE_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm")
DATE = re.compile(
    r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ,].*)?|\d{1,2}:\d{2}(:\d{2}.*)?|\w{3} \w{3} \d{1,2} \d{2}:\d{2}:\d{2} .*"
)
ADDRESS = re.compile(r"(https?|ftp)://\S+|www\.\S+", re.IGNORECASE)
KEY = re.compile(r"[A-Za-z_.#-]{0,12}[0-9]+")
HASH = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{16,64}", re.IGNORECASE)
DIGITS = "0123456789"


@dataclass(frozen=True, slots=True)
class Column:
    """What a column of a table seems to hold, by evenly taken rows of it."""

    name: str
    kind: Kind
    distinct: int
    filled: int
    rows: int
    numeric: bool = False  # whether nearly all values are numbers, also where they recur as labels do

    def describe(self) -> str:
        """In a few words."""
        what = {
            "text": f"texts ({self.distinct:,} different ones in {self.filled:,} rows)",
            "label": f"labels ({self.distinct:,})",
            "short": f"short values, {self.distinct:,} different ones in {self.filled:,} rows",
            "number": "numbers", "list": "lists", "object": "objects", "picture": "paths of pictures",
            "sound": "paths of sounds", "date": "dates",
            "address": "addresses", "key": "keys, another one in each row", "constant": "the same everywhere",
            "empty": f"nothing in {self.rows - self.filled:,} of {self.rows:,} rows",
        }  # fmt: skip
        return f"{self.name!r}: {what[self.kind]}"


def columns_of(table: Table) -> list[Column]:
    return [judged(name, table.cells(name)) for name in table.names]


def judged(name: str, cells: Sequence[Any]) -> Column:
    """A column's kind, by its cells and, for keys, its name."""
    present = [cell for cell in cells if cell is not MISSING and cell is not None and cell != ""]
    if present and mostly(present, lambda cell: isinstance(cell, list)):
        return Column(name, "list", len(present), len(present), len(cells))
    if present and mostly(present, lambda cell: isinstance(cell, dict)):
        return Column(name, "object", len(present), len(present), len(cells))
    values = [text for text in map(cell_text, present) if text]
    if len(values) < SPARSE * len(cells):
        return Column(name, "empty", len(set(values)), len(values), len(cells))
    distinct = len(set(values))
    numeric = bool(values) and mostly(values, is_number)
    return Column(name, kind_of(name, values, distinct), distinct, len(values), len(cells), numeric)


def kind_of(name: str, values: Sequence[str], distinct: int) -> Kind:
    count = len(values)
    if not count:
        return "empty"
    if name.lower() in IDS and distinct >= NEARLY * count and mostly(values, lambda one: " " not in one):
        return "key"
    if distinct == 1 and count > 1:
        return "constant"
    if mostly(values, is_number):
        return _kind_of_numbers(values, distinct)
    if mostly(values, lambda one: one.lower().endswith(PICTURE_ENDINGS)):
        return "picture"
    if mostly(values, lambda one: one.lower().endswith(SOUND_ENDINGS)):
        return "sound"
    if mostly(values, DATE.fullmatch):
        return "date"
    if mostly(values, ADDRESS.fullmatch):
        return "address"
    counted = mostly(values, KEY.fullmatch) and len({one.rstrip(DIGITS) for one in values}) == 1
    if distinct >= NEARLY * count and (counted or mostly(values, HASH.fullmatch)):
        return "key"
    words = sorted(len(one.split()) for one in values)
    lengths = sorted(map(len, values))
    is_short = words[count // 2] <= LABEL_WORDS and lengths[int(count * NEARLY)] <= LABEL_CHARACTERS
    if is_short and recurs(count, distinct):
        return "label"
    if distinct >= TEXT_SHARE * count or words[count // 2] >= TEXT_WORDS or not is_short:
        return "text"
    return "short"


def _kind_of_numbers(values: Sequence[str], distinct: int) -> Kind:
    count = len(values)
    whole = mostly(values, lambda one: one.lstrip("+-").isdecimal())
    if recurs(count, distinct) and (whole or distinct <= FEW_LABELS):
        return "label"
    if whole and distinct == count > 2:
        numbers = [int(one) for one in values if one.lstrip("+-").isdecimal()]
        if numbers in (sorted(numbers), sorted(numbers, reverse=True)):
            return "key"
    return "number"


def mostly(values: Sequence[Any], holds: Callable[[Any], object]) -> bool:
    return sum(bool(holds(one)) for one in values) >= NEARLY * len(values)


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def recurs(count: int, distinct: int) -> bool:
    """Whether so few different values recur as often as labels do."""
    if count < FEW_ROWS:
        return 2 * distinct <= count
    return distinct * (OFTEN if distinct <= FEW_LABELS else SELDOM) <= count and distinct <= MOST_LABELS
