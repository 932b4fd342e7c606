"""Tables: rows of CSV, TSV and JSON-lines files, plain or compressed, each with its line and named columns."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from regard.core.config import nearest
from regard.core.errors import DataError
from regard.core.files import parse_json
from regard.data.readers import COMPRESSIONS, byte_lines, read_lines, stream_lines, summarise

JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
SEPARATORS = {".csv": ",", ".tsv": "\t"}
LARGEST_CELL = 1 << 28


TABLE_SUFFIXES = (*SEPARATORS, *JSON_SUFFIXES)


class Row(NamedTuple):
    """The wanted cells of one record, and the line on which it ends."""

    line: int
    cells: tuple[Any, ...]


class Layout(NamedTuple):
    """How a table is written, where that can differ."""

    quotes: bool = True  # quotation marks hold a cell together, over several lines if need be
    blank_lines: bool = False  # a line without text is a row of empty cells; else it is none
    only_text: bool = False  # cells of JSON must be text
    width: int = 0  # how many columns there must be in a table without names; 0: as many as in its first line
    separator: str = ""  # between cells, whatever the file's name ends in; "": as the ending says
    only: tuple[str, str] | None = None  # a column, and what must stand in it for a row to be read


USUAL = Layout()


def suffix(path: Path) -> str:
    """What a file's name ends in, a compression's ending aside."""
    return path.with_suffix("").suffix if path.suffix in COMPRESSIONS else path.suffix


def read_table(path: Path, columns: Sequence[int | str], layout: Layout = USUAL) -> list[Row]:
    """The chosen columns of every record. Cells of CSV and TSV are text; those of JSON are what they are.

    Columns are all chosen by name, and the first line of CSV and TSV names them; or all by number, counted from 1, and
    the first line is a record like the others.
    """
    if layout.only is not None:
        return _some_of(path, columns, layout, *layout.only)
    kind = suffix(path)
    separator = layout.separator or SEPARATORS.get(kind, "")
    if separator:
        return _separated(path, separator, columns, layout)
    if kind in JSON_SUFFIXES:
        return _json(path, [str(column) for column in columns], layout)
    raise DataError(
        f"{path}: a table must end in {', '.join(TABLE_SUFFIXES)} ({', '.join(COMPRESSIONS)} may follow)"
    )


def _some_of(path: Path, columns: Sequence[int | str], layout: Layout, column: str, value: str) -> list[Row]:
    """The rows with this value in this column."""
    numbered = columns and all(isinstance(one, int) for one in columns)
    rows = read_table(path, [*columns, int(column) if numbered else column], layout._replace(only=None))
    kept = [Row(line, cells[:-1]) for line, cells in rows if as_text(cells[-1]) == value]
    if not kept:
        there = ", ".join(sorted({as_text(cells[-1])[:40] for _, cells in rows})[:10]) or "nothing"
        raise DataError(f"{path}: no row has {value!r} in column {column!r}, but {there}; correct the key rows")
    return kept


def column_names(path: Path, separator: str = "") -> tuple[str, ...]:
    """What the first line names, or the keys of the first JSON object; nothing where that cannot be read."""
    first = next((line.decode("utf-8", "replace") for line in byte_lines(path) if line.strip()), "")
    first = first.removeprefix("\ufeff").rstrip("\r\n")
    separator = separator or SEPARATORS.get(suffix(path), "")
    if separator:
        return tuple(next(csv.reader([first], delimiter=separator), []))
    try:
        record = parse_json(first)
    except json.JSONDecodeError:
        return ()
    return tuple(record) if isinstance(record, dict) else ()


def _separated(path: Path, separator: str, columns: Sequence[int | str], layout: Layout) -> list[Row]:
    records = cut_records(path, separator, quotes=layout.quotes)
    names = [column for column in columns if isinstance(column, str)]
    header = next(records, Row(0, ())).cells if names else ()
    places = [_place(path, name, header) for name in names] or [int(column) - 1 for column in columns]
    width = len(header) or layout.width
    rows, wrong = [], []
    for line, cells in records:
        if not cells:
            rows += [Row(line, ("",) * len(columns))] if layout.blank_lines else []
            continue
        width = width or len(cells)
        if len(cells) == width and max(places) < width:
            rows.append(Row(line, tuple(cells[place] for place in places)))
        else:
            wrong.append(f"line {line} has {len(cells)}")
    if wrong:
        raise DataError(_other_widths(path, separator, header, max(width, max(places) + 1), wrong))
    return rows


def cut_records(path: Path, separator: str, *, quotes: bool) -> Iterator[Row]:
    """All cells of every record, the line of names among them, one record after the other; none: an empty line."""
    yield from _quoted(path, separator) if quotes else _plain(path, separator)


def _quoted(path: Path, separator: str) -> Iterator[Row]:
    csv.field_size_limit(LARGEST_CELL)
    reader = csv.reader((f"{line}\n" for line in stream_lines(path)), delimiter=separator, strict=True)
    try:
        for cells in reader:
            yield Row(reader.line_num, tuple(cells))
    except csv.Error as error:
        raise DataError(
            f"{path}, line {reader.line_num}: {error}; a quotation mark is opened and not closed, or is inside a "
            "cell where it must be doubled"
        ) from error


def _plain(path: Path, separator: str) -> Iterator[Row]:
    for number, line in enumerate(stream_lines(path), start=1):
        yield Row(number, tuple(line.split(separator)) if line.strip() else ())


def _other_widths(path: Path, separator: str, header: Sequence[str], width: int, wrong: Sequence[str]) -> str:
    if header:
        return (
            f"{path}: its first line names {len(header)} columns ({', '.join(header)}), but {summarise(wrong)}; cells "
            'with a separator or a line\'s end in them need quotation marks around them, as in "a, b"'
        )
    between = {"\t": "tab", ",": "comma", ";": "semicolon"}.get(separator, repr(separator))
    return (
        f"{path}: exactly {width} columns with a {between} between them are needed, but {summarise(wrong)}. Take out "
        "the others, or name the columns that you want in a first line and in the recipe's [data] table"
    )


def _place(path: Path, column: str, header: Sequence[str]) -> int:
    if column in header:
        return header.index(column)
    if not header:
        raise DataError(f"{path} is empty; the first line of a table names its columns, {column!r} among them")
    raise DataError(
        f"{path} has no column {column!r}{nearest(column, header)}; its first line names: {', '.join(header)}. "
        "Name the columns in the recipe's [data] table, or with --set data.KEY=COLUMN, or write their names into the "
        "first line"
    )


def _json(path: Path, columns: Sequence[str], layout: Layout) -> list[Row]:
    """One JSON object a line."""
    rows, wrong = [], []
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            rows += [Row(number, ("",) * len(columns))] if layout.blank_lines else []
            continue
        try:
            cells = _cells(line, columns)
            if layout.only_text:
                _check_text(columns, cells)
            rows.append(Row(number, cells))
        except ValueError as error:
            wrong.append(f"line {number}: {error}")
    if wrong:
        raise DataError(
            f"{path}: every line must be a JSON object with {'text under ' if layout.only_text else ''}"
            f"{', '.join(map(repr, columns))}, but {summarise(wrong)}. Correct these lines, or name other keys in the "
            "recipe's [data] table"
        )
    return rows


def _cells(line: str, columns: Sequence[str]) -> tuple[Any, ...]:
    try:
        record = parse_json(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"broken JSON ({error.msg} at column {error.colno})") from error
    if not isinstance(record, dict):
        raise ValueError(f"{type(record).__name__} instead of an object")
    missing = [column for column in columns if column not in record]
    if missing:
        raise ValueError(f"no {' and no '.join(map(repr, missing))} among its keys {', '.join(map(repr, record))}")
    return tuple(record[column] for column in columns)


def _check_text(columns: Sequence[str], cells: Sequence[Any]) -> None:
    for column, cell in zip(columns, cells, strict=True):
        if not isinstance(cell, str):
            raise ValueError(f"{column!r} is not text but {json.dumps(cell)[:40]}")
        # "\ud800" is legal JSON but no character, and would fail far from here.
        if any("\ud800" <= character <= "\udfff" for character in cell):
            raise ValueError(f"{column!r} holds half a surrogate pair, which is not a character")


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
