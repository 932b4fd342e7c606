"""Tables: rows of CSV, TSV and JSON-lines files, plain or compressed, each with its line and named columns."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from regard.core.config import nearest
from regard.core.errors import DataError
from regard.data.readers import COMPRESSIONS, read_lines, some

JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
SEPARATORS = {".csv": ",", ".tsv": "\t"}
LARGEST_CELL = 1 << 28


class Row(NamedTuple):
    """The wanted cells of one record, and the line on which it ends."""

    line: int
    cells: tuple[Any, ...]


def suffix(path: Path) -> str:
    """What a file's name ends in, a compression's ending aside."""
    return path.with_suffix("").suffix if path.suffix in COMPRESSIONS else path.suffix


def read_table(path: Path, columns: Sequence[str]) -> list[Row]:
    """The named columns of every record. Cells of CSV and TSV are text; those of JSON are what they are."""
    kind = suffix(path)
    if kind in SEPARATORS:
        return _separated(path, SEPARATORS[kind], columns)
    if kind in JSON_SUFFIXES:
        return _json(path, columns)
    raise DataError(
        f"{path}: a table must end in {', '.join([*SEPARATORS, *JSON_SUFFIXES])} ({', '.join(COMPRESSIONS)} may follow)"
    )


def column_names(path: Path) -> tuple[str, ...]:
    """What the first line names, or the keys of the first JSON object; nothing where that cannot be read."""
    first = next((line for line in read_lines(path) if line.strip()), "")
    kind = suffix(path)
    if kind in SEPARATORS:
        return tuple(next(csv.reader([first], delimiter=SEPARATORS[kind]), []))
    try:
        record = json.loads(first)
    except json.JSONDecodeError:
        return ()
    return tuple(record) if isinstance(record, dict) else ()


def _separated(path: Path, separator: str, columns: Sequence[str]) -> list[Row]:
    """The first line names the columns; quotation marks hold a cell together, over several lines if need be."""
    csv.field_size_limit(LARGEST_CELL)
    reader = csv.reader((f"{line}\n" for line in read_lines(path)), delimiter=separator, strict=True)
    try:
        header = next(reader, [])
        places = [_place(path, column, header) for column in columns]
        rows, wrong = [], []
        for cells in reader:
            if not cells:
                continue
            if len(cells) == len(header):
                rows.append(Row(reader.line_num, tuple(cells[place] for place in places)))
            else:
                wrong.append(f"line {reader.line_num} has {len(cells)}")
    except csv.Error as error:
        raise DataError(
            f"{path}, line {reader.line_num}: {error}; a quotation mark is opened and not closed, or stands inside a "
            "cell where it must be doubled"
        ) from error
    if wrong:
        raise DataError(
            f"{path}: its first line names {len(header)} columns ({', '.join(header)}), but {some(wrong)}; cells "
            'with a separator or a line\'s end in them need quotation marks around them, as in "a, b"'
        )
    return rows


def _place(path: Path, column: str, header: Sequence[str]) -> int:
    if column in header:
        return header.index(column)
    raise DataError(
        f"{path} has no column {column!r}{nearest(column, header)}; its first line names: {', '.join(header)}. "
        "Name the columns in the recipe's [data] table, or write their names into the first line"
    )


def _json(path: Path, columns: Sequence[str]) -> list[Row]:
    """One JSON object a line."""
    rows, wrong = [], []
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        try:
            rows.append(Row(number, _cells(line, columns)))
        except ValueError as error:
            wrong.append(f"line {number}: {error}")
    if wrong:
        raise DataError(
            f"{path}: every line must be a JSON object with {', '.join(map(repr, columns))}, but {some(wrong)}. "
            "Mend these lines, or name other keys in the recipe's [data] table"
        )
    return rows


def _cells(line: str, columns: Sequence[str]) -> tuple[Any, ...]:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"broken JSON ({error.msg} at column {error.colno})") from error
    if not isinstance(record, dict):
        raise ValueError(f"{type(record).__name__} instead of an object")
    missing = [column for column in columns if column not in record]
    if missing:
        raise ValueError(f"no {' and no '.join(map(repr, missing))} among its keys {', '.join(map(repr, record))}")
    return tuple(record[column] for column in columns)


def as_text(cell: Any) -> str:
    """A cell as text: JSON's numbers and truth values as they are written there."""
    if isinstance(cell, str):
        # "\ud800" is legal JSON but no character, and would fail far from here.
        return cell.encode("utf-8", "replace").decode("utf-8").strip()
    return "" if cell is None else json.dumps(cell, ensure_ascii=False)


def distinct(values: Sequence[str]) -> Iterator[str]:
    """Different values in the order of the alphabet, numbers by their size."""

    def size(value: str) -> tuple[bool, int, str]:
        return not value.isdecimal(), int(value) if value.isdecimal() else 0, value

    yield from sorted(set(values), key=size)
