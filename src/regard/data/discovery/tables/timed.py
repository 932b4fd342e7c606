"""Tables with a column of times and columns of numbers: series that go on, to be forecast."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from regard.core.errors import DataError
from regard.data.discovery.discoverer import Discoverer
from regard.data.discovery.encodings import check_text
from regard.data.discovery.files.graph_files import counted
from regard.data.discovery.found import Discovery, Hints, LengthSummary, SeriesFacts, numbered
from regard.data.discovery.given import SPLITS, TRAIN, GivenFiles, SplitFiles, ending, split_table
from regard.data.discovery.tables.columns import Column, is_number, judged, mostly
from regard.data.discovery.tables.header import has_names
from regard.data.discovery.tables.opening import dialect_of, records
from regard.data.ledger import Ledger
from regard.data.modalities.series import calendar
from regard.data.modalities.series.tables import MISSING, PARTS, ReadSeries, read_series, step_name
from regard.data.sources.series import divided
from regard.data.tables import SEPARATORS

FORECASTING = "forecasting"
HEAD = 300  # rows
SHARE = 0.1  # of the time, for validation and for testing
NEITHER = ("text", "short", "picture", "sound")
"""Kinds of columns beside which times are something else than a clock."""


class TimedTables(Discoverer):
    """A table whose rows are steps of time, or one for each of several series."""

    what = "a table with a column of times and columns of numbers"
    tasks: tuple[str, ...] = (FORECASTING,)

    def recognises(self, given: GivenFiles, hints: Hints) -> bool:
        if hints.columns() or not given.files:
            return False
        return all(ending(path) in SEPARATORS for path in given.files) and all(map(is_timed, given.files[:10]))

    def discover(self, given: GivenFiles, hints: Hints) -> Discovery:
        files = SplitFiles.of(given, given.files)
        by_name = files.by_name()
        read: dict[str, list[ReadSeries]] = {}
        ledger = Ledger()
        for split, own in by_name.items():
            for path in own:
                check_text(path)
                read.setdefault(split, []).append(read_series(path, split, ledger))
        shares = {split: SHARE for split in SPLITS[1:] if split not in by_name}
        facts = facts_of(read[TRAIN], files.train, shares)
        time = read[TRAIN][0].series.time
        values = read[TRAIN][0].series.channels
        data = {
            "kind": "series", "time": time[0] if len(time) == 1 else [*time], "values": [*values],
            **split_table({split: [str(path) for path in own] for split, own in by_name.items()}),
            **{f"{split}_share": share for split, share in shares.items()},
        }  # fmt: skip
        told = [f"{path.name}: {numbered(len(one.series), 'step')}" for split, own in by_name.items()
                for path, one in zip(own, read[split], strict=True)]  # fmt: skip
        told += [*facts.sentences(), *ledger.notes, *files.ignored_files(), *given.ignored_files()]
        told += [f"{numbered(number, 'row')} will be skipped: {reason}" for reason, number in counted(ledger).items()]
        reasons = [
            f"{' and '.join(map(repr, time))} {'has' if len(time) == 1 else 'have'} the times, and there are numbers "
            "beside: what comes next is forecast",
            *files.reasons,
            *(f"no file is named for {split}: the last {SHARE:.0%} of the time before the test" if split != "test" else
              f"no file is named for {split}: the last {SHARE:.0%} of the time" for split in shares),
        ]  # fmt: skip
        for split, several in read.items():
            for each in several:
                divided(each, split, shares if split == TRAIN else {}, ledger)
        return Discovery(
            FORECASTING, data, tuple(told), tuple(reasons), facts, examples=dict(ledger.splits),
            skipped=ledger.total("skipped"),
        )


def facts_of(series: Sequence[ReadSeries], paths: Sequence[Path], shares: dict[str, float]) -> SeriesFacts:
    """Of what is left to learn from."""
    clock, channels = series[0].series.clock, series[0].series.channels
    left = 1 - sum(shares.values())
    lengths = [round(left * len(one.series)) for one in series]
    season = next(iter(calendar.seasons(clock, max(lengths))), 0)
    name = paths[0].name if len(paths) == 1 else numbered(len(paths), "table")
    return SeriesFacts(name, sum(lengths), channels, LengthSummary.of(lengths), step_name(clock), season)


def is_timed(path: Path) -> bool:
    """By the first rows: a column of dates, or of years and months; numbers beside it; and no texts."""
    try:
        rows = [cells for _, cells in islice(records(path, dialect_of(path)), HEAD)]
    except DataError:
        return False
    if len(rows) < 3 or {len(row) for row in rows} != {len(rows[0])}:
        return False
    first, *rest = rows
    if not has_names(first, rest)[0]:
        return False
    cells = {name.strip(): [row[place] for row in rest] for place, name in enumerate(first)}
    columns = [judged(name, own) for name, own in cells.items()]
    times = [one.name for one in columns if one.kind == "date"] or parts_of_times(columns)
    numbers = [name for name, own in cells.items() if name not in times and holds_numbers(own)]
    return bool(times) and bool(numbers) and not any(one.kind in NEITHER for one in columns)


def parts_of_times(columns: Sequence[Column]) -> list[str]:
    """Columns called year, month and so on."""
    found = [one.name for one in columns if one.name.lower() in PARTS]
    return found if len(found) > 1 and {"year", "month"} <= {name.lower() for name in found} else []


def holds_numbers(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell.strip().lower() not in MISSING]
    return bool(filled) and mostly(filled, is_number)
