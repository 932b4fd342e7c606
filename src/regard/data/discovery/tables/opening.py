"""Opens a table: its separator, whether the first line names columns, and evenly taken rows."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from regard.core.errors import DataError
from regard.core.files import parse_json
from regard.data.discovery.encodings import check_text
from regard.data.discovery.given import ending
from regard.data.discovery.measuring import EvenSample
from regard.data.discovery.tables.header import has_names
from regard.data.readers import stream_lines, summarise
from regard.data.tables import JSON_SUFFIXES, LARGEST_CELL, SEPARATORS, as_text, cut_records

HEAD = 300  # lines by which a table's form is judged
OTHER_SEPARATORS = (",", ";", "\t", "|")
MOSTLY = 0.9
MISSING = object()
"""The cell of a key that a JSON object does not have."""


class Dialect(NamedTuple):
    """How cells are told apart. ``quotes`` is None where there is no quotation mark to be decided about."""

    separator: str = ""  # "": lines of JSON
    quotes: bool | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """What a file holds, row by row."""

    path: Path
    dialect: Dialect
    names: tuple[str, ...]  # of the columns; "1", "2" … where the first line names none
    header: bool
    rows: int
    sample: tuple[tuple[Any, ...], ...] = field(repr=False)
    header_reason: str = ""

    def key(self, name: str) -> int | str:
        """How a recipe names a column."""
        return name if self.header else int(name)

    def cells(self, name: str) -> list[Any]:
        """Of evenly taken rows."""
        place = self.names.index(name)
        return [row[place] for row in self.sample]

    def columns(self, names: Sequence[str]) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Some cells of all rows, each with its line."""
        if not self.dialect.separator:
            return _json_cells(self.path, names)
        places = [self.names.index(name) for name in names]
        rows = records(self.path, self.dialect)
        return ((line, tuple(cells[place] for place in places)) for line, cells in islice(rows, int(self.header), None))


def is_table(path: Path) -> bool:
    """By its ending; or, of a file of text, by tabs that make the same number of columns in nearly all of its lines."""
    kind = ending(path)
    if kind in SEPARATORS or kind in JSON_SUFFIXES:
        return True
    if kind not in ("", ".txt", ".tab", ".dat", ".data", ".psv"):
        return False
    try:
        lines = [line for line in islice(stream_lines(path), HEAD) if line.strip()]
    except DataError:
        return False
    counts = Counter(line.count("\t") for line in lines).most_common(1)
    return bool(counts) and counts[0][0] > 0 and counts[0][1] >= MOSTLY * len(lines)


def read_table_of(path: Path, named: Sequence[str] = ()) -> Table:
    """Looks at all of a table. Columns that the user ``named`` tell whether its first line has names."""
    check_text(path)
    if ending(path) in JSON_SUFFIXES:
        return _json_table(path)
    dialect = dialect_of(path)
    sample: EvenSample[tuple[str, ...]] = EvenSample()
    first: tuple[str, ...] = ()
    width, wrong, rows = 0, list[str](), 0
    for line, cells in records(path, dialect):
        first = first or cells
        width = width or len(cells)
        rows += 1
        if len(cells) != width:
            wrong.append(f"line {line:,} has {len(cells)}")
        elif rows > 1:
            sample.add(cells, sum(map(len, cells)))
    if wrong:
        raise DataError(_unequal(path, first, wrong, rows))
    header, reason = has_names(first, sample.things(), named)
    if rows == 1 and header:
        raise DataError(f"{path} has a line of names ({', '.join(first)}) and no rows; there is nothing to learn from")
    held = sample.things() if header else [first, *sample.things()]
    numbers = [str(place + 1) for place in range(width)]
    if header:
        numbers = [name.strip() or f"(column {number})" for name, number in zip(first, numbers)]
    names = tuple(numbers)
    _check_names(path, names)
    return Table(path, dialect, names, header, rows - header, tuple(held), reason)


def records(path: Path, dialect: Dialect) -> Iterator[tuple[int, tuple[str, ...]]]:
    """All records, empty lines aside, each with its line."""
    quotes = dialect.quotes is None or dialect.quotes
    for row in cut_records(path, dialect.separator, quotes=quotes):
        if row.cells:
            yield row.line, row.cells


def _check_names(path: Path, names: Sequence[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        told_twice = ", ".join(map(repr, twice))
        raise DataError(f"{path}: its first line names {told_twice} more than once; rename one of them")


def _unequal(path: Path, first: Sequence[str], wrong: Sequence[str], rows: int) -> str:
    shown = ", ".join(repr(cell[:30]) for cell in first[:8])
    return (
        f"{path}: its first line has {len(first)} columns ({shown}), but {summarise(wrong)} (of {rows:,} rows). "
        "Cells with a separator or a line's end in them need quotation marks around them, as in \"a, b\"; "
        "correct these lines, or "
        "take them out"
    )


# -- what stands between cells ----------------------------------------------------------------------------------


def dialect_of(path: Path) -> Dialect:
    """The separator with which the first lines have one number of columns, that of the file's ending before others."""
    lines = list(islice(stream_lines(path), HEAD + 1))
    usual = SEPARATORS.get(ending(path), "\t")
    marks = any('"' in line for line in lines)
    best, best_share = Dialect(usual, True if marks else None), 0.0
    for separator in (usual, *(one for one in OTHER_SEPARATORS if one != usual)):
        for quotes in (True, False) if marks else (None,):
            share = _regular(lines, separator, quotes)
            if share > best_share:
                best, best_share = Dialect(separator, quotes), share
            if share == 1.0:
                return checked(best, lines)
    return checked(best, lines)


def checked(found: Dialect, lines: Sequence[str]) -> Dialect:
    """Where nearly all lines with marks have cells that they enclose, they do, even if one of them is not closed."""
    if found.quotes is not False:
        return found
    for separator in (found.separator, *OTHER_SEPARATORS):
        marked = [line for line in lines if '"' in line]
        if sum(_encloses(line, separator) for line in marked) >= MOSTLY * len(marked):
            return Dialect(separator, True)
    return found


def _encloses(line: str, separator: str) -> bool:
    """Whether marks enclose cells of this line, wholly."""
    try:
        cells = next(csv.reader([line], delimiter=separator, strict=True), [])
    except csv.Error:
        return False
    return len(cells) > 1 and not any('"' in cell for cell in cells)


def _regular(lines: Sequence[str], separator: str, quotes: bool | None) -> float:
    """The share of records with the most frequent number of columns, where that is more than one."""
    if quotes:
        csv.field_size_limit(LARGEST_CELL)
        try:
            widths = [len(cells) for cells in csv.reader(lines, delimiter=separator, strict=True) if cells]
        except csv.Error:  # at the end of the head a quotation mark may still be open
            whole = [cells for cells in csv.reader(lines, delimiter=separator) if cells]
            if len(lines) <= HEAD or len(whole) < 2:
                return 0.0
            widths = [len(cells) for cells in whole[:-1]]
    else:
        widths = [line.count(separator) + 1 for line in lines if line.strip()]
    width, count = Counter(widths).most_common(1)[0] if widths else (1, 0)
    return count / len(widths) if width > 1 else 0.0


# -- lines of JSON ----------------------------------------------------------------------------------------------


def _json_table(path: Path) -> Table:
    sample: EvenSample[dict[str, Any]] = EvenSample()
    names: dict[str, None] = {}
    rows, wrong = 0, list[str]()
    for number, line in enumerate(stream_lines(path), start=1):
        if not line.strip():
            continue
        try:
            record = parse_json(line)
        except json.JSONDecodeError as error:
            if not rows and line.lstrip().startswith(("[", "{")):
                _check_not_whole(path)
            wrong.append(f"line {number:,}: broken JSON ({error.msg} at column {error.colno})")
            continue
        if not isinstance(record, dict):
            if not rows and isinstance(record, list):
                _check_not_whole(path)
            wrong.append(f"line {number:,}: {type(record).__name__} instead of an object")
            continue
        rows += 1
        names.update(dict.fromkeys(record))
        sample.add(record, len(line))
    if wrong:
        raise DataError(f"{path}: every line must be a JSON object, but {summarise(wrong)}. Correct these lines")
    held = tuple(tuple(record.get(name, MISSING) for name in names) for record in sample.things())
    return Table(path, Dialect(), tuple(names), True, rows, held)


def _check_not_whole(path: Path) -> None:
    """A file that is one JSON value is no table."""
    try:
        held = parse_json("\n".join(stream_lines(path)))
    except json.JSONDecodeError:
        return
    if isinstance(held, list) and held and all(isinstance(one, dict) for one in held[:HEAD]):
        raise DataError(
            f"{path} is one JSON list of {len(held):,} objects; one object a line is read here. Write it so with: "
            f"jq -c '.[]' {path.name} > {path.stem}.jsonl"
        )
    what = f"object with {', '.join([*held][:8])}" if isinstance(held, dict) else type(held).__name__
    raise DataError(
        f"{path} is one JSON {what}; read are one object a line (JSON lines), and SQuAD's files of questions. Write "
        f"the examples one a line, e.g. with: jq -c '.KEY[]' {path.name} > {path.stem}.jsonl"
    )


def _json_cells(path: Path, names: Sequence[str]) -> Iterator[tuple[int, tuple[Any, ...]]]:
    wrong = []
    for number, line in enumerate(stream_lines(path), start=1):
        if line.strip():
            record = parse_json(line)
            missing = [name for name in names if name not in record]
            if missing:
                wrong.append(f"line {number:,} has no {' and no '.join(map(repr, missing))}")
            else:
                yield number, tuple(record[name] for name in names)
    if wrong:
        raise DataError(f"{path}: {summarise(wrong)}. Give every object the keys that are to be read, or take it out")


def cell_text(cell: Any) -> str:
    """A cell as text, and what is not there as none."""
    return "" if cell is MISSING else as_text(cell)
