"""Series from tables: a column of times and columns of numbers become values on a regular clock, every oddity noted."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from regard.core.errors import DataError
from regard.data.ledger import Ledger
from regard.data.modalities.series.series import SECONDS, Clock, Series
from regard.data.modalities.series.times import Form, clock_of, form_of, in_unit
from regard.data.readers import summarise
from regard.data.tables import Row, as_text, column_names, read_table

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-", "."})
"""How a value that is not there is written, in small letters."""
PARTS = ("year", "month", "day", "hour", "minute", "second")
TIMES = ("time", "timestamp", "datetime", "date", "ts", "ds", "day", "month", "year", "hour", "period")
"""What a column of times is called, the likeliest first."""
NO_NUMBER = "a value that is not a number, taken as missing"
SOME = 0.05  # of all rows; if more are odd, the columns were chosen wrongly
MOST_EMPTY = 4  # steps for each row; beyond, the times follow no clock
LOOKED_AT = 500  # rows, to see which columns have numbers


class SeriesColumns(NamedTuple):
    """Which columns hold what."""

    time: tuple[str, ...] = ()  # one, or several whose texts are joined: year, month, day, hour; (): looked for
    values: tuple[str, ...] = ()  # (): all others that have numbers
    time_format: str = ""  # as strptime has it; "": looked for


LOOKED_FOR = SeriesColumns()


class ReadSeries(NamedTuple):
    """A series, and which of its steps stand in the file."""

    series: Series
    there_N: np.ndarray


class Timed(NamedTuple):
    """A row whose time and values were read."""

    time: int
    line: int
    values: tuple[float, ...]


def read_series(path: Path, split: str, ledger: Ledger, columns: SeriesColumns = LOOKED_FOR) -> ReadSeries:
    """The series of one table. Rows without a time, or with that of an earlier row, are skipped; steps without a row
    are missing. All of it stands in the ledger."""
    names = column_names(path)
    time = columns.time or time_columns(path, names)
    values = columns.values or number_columns(path, names, time)
    rows = read_table(path, [*time, *values])
    if not rows:
        raise DataError(f"{path} has no rows below its first line; a series needs a time and a value in each row")
    check_numbers(path, rows, len(time), values)
    timed, unit = with_times(path, rows, len(time), columns.time_format, split, ledger)
    note_texts(path, rows, len(time), values, split, ledger)
    note_missing(str(path), timed, values, ledger)
    kept = in_order(str(path), timed, split, ledger)
    clock = clock_of(np.array([one.time for one in kept], np.int64), unit)
    found, skipped = on_clock(path, kept, clock, values)
    found = found._replace(series=replace(found.series, time=tuple(time), time_format=columns.time_format))
    for line, detail in skipped:
        ledger.skip(split, str(path), line, "a time between two steps", detail)
    note_gaps(found, ledger)
    ledger.record(split, str(path), read=len(rows), kept=int(found.there_N.sum()))
    return found


# -- columns ------------------------------------------------------------------------------------------------------


def time_columns(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Year, month, day … together, or the one that is called so, else the first whose texts are dates."""
    known = {name.strip().lower(): name for name in names}
    parts = [*itertools.takewhile(known.__contains__, PARTS)]
    if len(parts) > 1:
        return tuple(known[part] for part in parts)
    called = next((known[name] for name in TIMES if name in known), "")
    if called:
        return (called,)
    rows = read_table(path, names)[:LOOKED_AT]
    for place, name in enumerate(names):
        texts = [as_text(row.cells[place]) for row in rows]
        if not all(is_number(text) for text in texts) and is_time(texts):
            return (name,)
    raise DataError(
        f"{path}: no column has times; its first line names {', '.join(names)}. Say which has: --set data.time=COLUMN, "
        "or several that make one time: --set 'data.time=[\"year\", \"month\", \"day\", \"hour\"]'"
    )


def is_time(texts: Sequence[str]) -> bool:
    try:
        return form_of(texts).unit == SECONDS
    except DataError:
        return False


def number_columns(path: Path, names: Sequence[str], time: Sequence[str]) -> tuple[str, ...]:
    """All columns of numbers, those of the times aside, and one that numbers the rows where there are others."""
    others = [name for name in names if name not in time]
    rows = read_table(path, others)[:LOOKED_AT] if others else []
    found: list[str] = []
    counting: list[str] = []
    for place, name in enumerate(others):
        texts = [as_text(row.cells[place]) for row in rows]
        filled = [text for text in texts if text.lower() not in MISSING]
        if filled and sum(map(is_number, filled)) > (1 - SOME) * len(filled):
            (counting if is_count(filled) else found).append(name)
    if not found and not counting:
        rest = ", ".join(others) or "nothing"
        raise DataError(f"{path} has no column of numbers beside {', '.join(time)} (but {rest})")
    return tuple(found or counting)


def is_number(text: str) -> bool:
    return not math.isnan(number(text))


def is_count(texts: Sequence[str]) -> bool:
    """Whether they number the rows: 1, 2, 3 …"""
    numbers = [int(text) if text.isdecimal() else -1 for text in texts]
    return numbers == list(range(numbers[0], numbers[0] + len(numbers))) and len(numbers) > 1


def number(text: str) -> float:
    """NaN where it is none, or not finite."""
    try:
        found = float(text)
    except ValueError:
        return math.nan
    return found if math.isfinite(found) else math.nan


def check_numbers(path: Path, rows: Sequence[Row], skipped: int, values: Sequence[str]) -> None:
    """A column with many values that are not numbers is not one of numbers."""
    wrong = []
    for place, name in enumerate(values, start=skipped):
        odd = [*texts_among(rows, place)]
        if len(odd) > SOME * len(rows):
            shown = summarise([f"line {line} has {text!r}" for line, text in odd])
            wrong.append(f"column {name!r} has {len(odd):,} values that are not numbers ({shown})")
    if wrong:
        told = ". ".join(wrong)
        raise DataError(f"{path}: {told}. Choose columns of numbers with data.values, or correct these lines")


def texts_among(rows: Sequence[Row], place: int) -> Iterator[tuple[int, str]]:
    """Line and text of cells that should hold a number."""
    for row in rows:
        text = as_text(row.cells[place])
        if text.lower() not in MISSING and not is_number(text):
            yield row.line, text


def note_texts(
    path: Path, rows: Sequence[Row], skipped: int, values: Sequence[str], split: str, ledger: Ledger
) -> None:
    """The few cells that hold a text are taken as missing, and listed."""
    for place, name in enumerate(values, start=skipped):
        for line, text in texts_among(rows, place):
            ledger.correct(split, str(path), line, NO_NUMBER, f"{name!r} is {text!r}")


# -- rows ---------------------------------------------------------------------------------------------------------


def with_times(
    path: Path, rows: Sequence[Row], parts: int, wanted: str, split: str, ledger: Ledger
) -> tuple[list[Timed], str]:
    """The rows whose time can be read, and the unit of times; the others are skipped."""
    texts = [time_text([as_text(cell) for cell in row.cells[:parts]]) for row in rows]
    form = named_form(path, texts, wanted)
    kept, odd = [], []
    for row, text in zip(rows, texts, strict=True):
        try:
            time = form.read(text)
        except (ValueError, OverflowError):
            odd.append((row.line, text))
            continue
        kept.append(Timed(time, row.line, tuple(number(as_text(cell)) for cell in row.cells[parts:])))
    if len(odd) > SOME * len(rows):
        shown = summarise([f"line {line} has {text!r}" for line, text in odd])
        raise DataError(f"{path}: {len(odd):,} of {len(rows):,} rows have no time that can be read: {shown}. {WAYS}")
    for line, text in odd:
        ledger.skip(split, str(path), line, "no time", repr(text) if text else "it is empty")
    return kept, form.unit


WAYS = "Correct them, name another column with data.time, or say how times are written with data.time_format"


def named_form(path: Path, texts: Sequence[str], wanted: str) -> Form:
    try:
        return form_of(texts, wanted)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def time_text(parts: Sequence[str]) -> str:
    """One text; year, month, day, hour … as ISO 8601 has them."""
    if len(parts) == 1 or not all(part.isdecimal() for part in parts):
        return " ".join(parts)
    date, clock = [part.zfill(2) for part in parts[:3]], [part.zfill(2) for part in parts[3:]]
    date += ["01"] * (3 - len(date))
    return "-".join(date) + (f" {':'.join([*clock, '00'] if len(clock) == 1 else clock)}" if clock else "")


def note_missing(file: str, rows: Sequence[Timed], values: Sequence[str], ledger: Ledger) -> None:
    """Values that are not there are counted for each column."""
    for place, name in enumerate(values):
        lines = [row.line for row in rows if math.isnan(row.values[place])]
        if lines:
            told = f"the first in line {lines[0]}"
            ledger.notes.append(f"{file}: {len(lines):,} of {len(rows):,} values of {name!r} are missing, {told}")


def in_order(file: str, rows: Sequence[Timed], split: str, ledger: Ledger) -> list[Timed]:
    """Sorted by time, of each time the first row."""
    latest = rows[0].time if rows else 0
    for row in rows:
        if row.time < latest:
            ledger.correct(split, file, row.line, "out of order, and sorted by time")
        latest = max(latest, row.time)
    kept: dict[int, Timed] = {}
    for row in rows:
        before = kept.setdefault(row.time, row)
        if before is not row:
            detail = f"line {before.line}{'' if same(row, before) else ', with other values'}"
            ledger.skip(split, file, row.line, "the same time as an earlier row", detail)
    return [kept[time] for time in sorted(kept)]


def same(one: Timed, other: Timed) -> bool:
    return bool(np.array_equal(one.values, other.values, equal_nan=True))


def on_clock(
    path: Path, rows: Sequence[Timed], clock: Clock, values: Sequence[str]
) -> tuple[ReadSeries, list[tuple[int, str]]]:
    """Values at every step of the clock, and the lines of rows that lie between steps, with what that means."""
    times_N = in_unit(np.array([row.time for row in rows], np.int64), clock)
    places_N, rest_N = np.divmod(times_N - clock.first, clock.step)
    steps = int(places_N[-1]) + 1
    between = np.flatnonzero(rest_N)
    if len(between) > SOME * len(rows) or steps > MOST_EMPTY * len(rows) + MOST_EMPTY:
        raise DataError(
            f"{path}: the times follow no regular clock: {len(rows):,} rows, of which {len(between):,} lie between "
            f"steps of {step_name(clock)} (the most frequent), would be {steps:,} steps. Resample the table to even "
            "times first"
        )
    values_NC = np.full((steps, len(values)), np.nan)
    there_N = np.zeros(steps, bool)
    skipped = []
    for row, place, rest in zip(rows, places_N, rest_N, strict=True):
        if rest:
            skipped.append((row.line, f"steps are of {step_name(clock)}"))
        else:
            values_NC[place], there_N[place] = row.values, True
    return ReadSeries(Series(values_NC, tuple(values), clock, str(path)), there_N), skipped


def step_name(clock: Clock) -> str:
    """What lies between two times, in words."""
    if clock.unit != SECONDS:
        what = "month" if clock.unit else ""
        return f"{clock.step} {what}{'s' if what and clock.step > 1 else ''}".strip()
    for size, name in ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        if clock.step % size == 0:
            number = clock.step // size
            return f"{number} {name}{'s' if number > 1 else ''}"
    raise AssertionError("every number of seconds is one of seconds")


def note_gaps(found: ReadSeries, ledger: Ledger) -> None:
    """Steps that have no row, in words."""
    edges = np.flatnonzero(np.diff(found.there_N.astype(np.int8)))
    lengths = edges[1::2] - edges[::2]
    if len(lengths):
        longest = int(lengths.argmax())
        clock = found.series.clock
        ledger.notes.append(
            f"{found.series.origin}: {lengths.sum():,} steps of {step_name(clock)} have no row, in {len(lengths):,} gap"
            f"{'s' if len(lengths) > 1 else ''}, the longest of {lengths[longest]:,} after "
            f"{clock.time_of(int(edges[::2][longest]))}; their values are missing"
        )
