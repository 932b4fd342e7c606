"""Tables of values over time: how times are written, and gaps, doubles, disorder and text where numbers should be."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from regard.core.errors import DataError
from regard.data.ledger import Ledger
from regard.data.modalities.series.series import Clock, Series
from regard.data.modalities.series.tables import ReadSeries, SeriesColumns, read_series

HOUR = 3600


def table(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def hours(count: int, first: str = "time,load", **changed: str) -> str:
    """Lines of a table: 5 at 00:00, 6 at 01:00 …; a changed line replaces the one of its hour."""
    usual = [f"2024-03-{1 + hour // 24:02} {hour % 24:02}:00,{5 + hour}" for hour in range(count)]
    lines = [changed.get(f"h{hour}", line) for hour, line in enumerate(usual)]
    return "\n".join([first, *lines]) + "\n"


def read(path: Path, **columns: tuple[str, ...] | str) -> tuple[ReadSeries, Ledger]:
    ledger = Ledger()
    found = read_series(path, "train", ledger, SeriesColumns(**columns))  # type: ignore[arg-type]
    ledger.check()
    return found, ledger


def values(found: ReadSeries) -> list[float]:
    return found.series.values_NC[:, 0].tolist()


def test_a_table_is_a_series_with_a_clock(tmp_path: Path) -> None:
    found, ledger = read(table(tmp_path / "load.csv", hours(30)))
    assert found.series.channels == ("load",)
    assert found.series.clock == Clock(1_709_251_200, HOUR, "s")
    assert values(found) == list(range(5, 35))
    assert found.series.clock.time_of(25) == "2024-03-02 01:00"
    assert (ledger.total("read"), ledger.total("kept"), ledger.notes) == (30, 30, [])


def test_packed_tables_are_read_alike(tmp_path: Path) -> None:
    (tmp_path / "load.csv.gz").write_bytes(gzip.compress(hours(30).encode()))
    found, _ = read(tmp_path / "load.csv.gz")
    assert values(found) == list(range(5, 35))


def test_a_gap_is_missing_values_and_a_note(tmp_path: Path) -> None:
    text = "\n".join(line for line in hours(12).split("\n") if " 04:00" not in line and " 05:00" not in line)
    found, ledger = read(table(tmp_path / "load.csv", text))
    assert len(found.series) == 12
    assert np.flatnonzero(np.isnan(found.series.values_NC[:, 0])).tolist() == [4, 5]
    assert found.there_N.sum() == ledger.total("kept") == 10
    (note,) = ledger.notes
    assert "2 steps of 1 hour have no row, in 1 gap, the longest of 2 after 2024-03-01 03:00" in note


@pytest.mark.parametrize("written", ["", "NA", "nan", "?", "null", "-"])
def test_missing_values_are_counted_with_their_first_line(written: str, tmp_path: Path) -> None:
    found, ledger = read(table(tmp_path / "load.csv", hours(30, h7=f"2024-03-01 07:00,{written}")))
    assert np.flatnonzero(np.isnan(found.series.values_NC[:, 0])).tolist() == [7]
    assert ledger.notes == [f"{tmp_path / 'load.csv'}: 1 of 30 values of 'load' are missing, the first in line 9"]


def test_a_single_text_among_numbers_is_missing_and_listed(tmp_path: Path) -> None:
    found, ledger = read(table(tmp_path / "load.csv", hours(30, h7="2024-03-01 07:00,broken")))
    assert np.isnan(values(found)[7])
    (one,) = ledger.exceptions
    assert (one.what, one.line, one.reason, one.detail) == (
        "corrected", 9, "a value that is not a number, taken as missing", "'load' is 'broken'",
    )  # fmt: skip


def test_a_column_of_texts_is_refused_with_its_lines(tmp_path: Path) -> None:
    wind = {f"h{hour}": f"2024-03-01 {hour:02}:00,NW" for hour in range(0, 20, 5)}
    path = table(tmp_path / "load.csv", hours(20, **wind))
    with pytest.raises(DataError, match=r"'load' has 4 values that are not numbers \(line 2 has 'NW'; line 7 has"):
        read(path, values=("load",))
    with pytest.raises(DataError, match=r"no column of numbers beside time \(but load\)"):
        read(path)


def test_disorder_is_sorted_and_listed(tmp_path: Path) -> None:
    found, ledger = read(table(tmp_path / "load.csv", hours(
        30, h4="2024-03-01 08:00,13", h8="2024-03-01 04:00,9")))  # fmt: skip
    assert values(found) == list(range(5, 35))
    assert {one.line: one.reason for one in ledger.exceptions} == dict.fromkeys(
        range(7, 11), "out of order, and sorted by time"
    )


def test_the_first_row_of_a_time_counts(tmp_path: Path) -> None:
    text = hours(30) + "2024-03-01 02:00,99\n2024-03-01 03:00,8\n"
    found, ledger = read(table(tmp_path / "load.csv", text))
    assert values(found) == list(range(5, 35))
    skipped = [(one.line, one.reason, one.detail) for one in ledger.exceptions if one.what == "skipped"]
    assert skipped == [
        (32, "the same time as an earlier row", "line 4, with other values"),
        (33, "the same time as an earlier row", "line 5"),
    ]
    assert (ledger.total("read"), ledger.total("kept"), ledger.total("skipped")) == (32, 30, 2)


def test_rows_without_a_time_are_skipped_or_refused(tmp_path: Path) -> None:
    found, ledger = read(table(tmp_path / "load.csv", hours(30, h7="someday,12")))
    assert np.isnan(values(found)[7])
    assert [(one.line, one.reason, one.detail) for one in ledger.exceptions] == [(9, "no time", "'someday'")]
    many = {f"h{hour}": f"someday,{hour}" for hour in (1, 2, 3)}
    with pytest.raises(DataError, match="3 of 30 rows have no time that can be read: line 3 has 'someday'; line 4 has"):
        read(table(tmp_path / "load.csv", hours(30, **many)))


def test_times_without_a_clock_are_refused(tmp_path: Path) -> None:
    rows = [f"2024-03-01 00:{minute:02},1" for minute in (0, 1, 3, 7, 8, 21, 34, 50)]
    with pytest.raises(DataError, match=r"the times follow no regular clock: 8 rows.*Resample the table to even times"):
        read(table(tmp_path / "load.csv", "\n".join(["time,load", *rows])))


def test_a_row_between_two_steps_is_skipped(tmp_path: Path) -> None:
    found, ledger = read(table(tmp_path / "load.csv", hours(30) + "2024-03-01 02:17,99\n"))
    assert values(found) == list(range(5, 35))
    assert [(one.line, one.what) for one in ledger.exceptions] == [(32, "corrected"), (32, "skipped")]


@pytest.mark.parametrize(
    "times, step, unit",
    [
        (["2024-01-31T00:00", "2024-01-31T06:00", "2024-01-31T12:00"], 6 * HOUR, "s"),
        (["2024-01-31T00:00:00+01:00", "2024-01-31T00:00:07+01:00", "2024-01-31T00:00:14+01:00"], 7, "s"),
        (["01/31/2024", "02/01/2024", "02/02/2024"], 24 * HOUR, "s"),
        (["31.01.2024 10:00", "31.01.2024 10:10", "31.01.2024 10:20"], 600, "s"),
        (["20240131", "20240201", "20240202"], 24 * HOUR, "s"),
        (["2023-11-01", "2023-12-01", "2024-01-01", "2024-02-01"], 1, "M"),
        (["2001", "2002", "2003"], 1, ""),
        (["3", "6", "9"], 3, ""),
    ],
)
def test_times_are_read_as_they_are_usually_written(times: list[str], step: int, unit: str, tmp_path: Path) -> None:
    text = "\n".join(["when,load", *(f"{time},{place}.5" for place, time in enumerate(times))])
    found, _ = read(table(tmp_path / "load.csv", text), time=("when",))
    assert (found.series.clock.step, found.series.clock.unit) == (step, unit)
    assert values(found) == [place + 0.5 for place in range(len(times))]


def test_a_form_of_times_can_be_named(tmp_path: Path) -> None:
    text = "when,load\n" + "\n".join(f"{day:02}/03/2024,{day}" for day in range(1, 13))
    usual, _ = read(table(tmp_path / "load.csv", text), time=("when",))
    assert usual.series.clock.unit == "M"  # months come first where nothing else is said
    named, _ = read(tmp_path / "load.csv", time=("when",), time_format="%d/%m/%Y")
    assert named.series.clock.step == 24 * HOUR


def test_year_month_day_and_hour_make_a_time_together(tmp_path: Path) -> None:
    rows = [f"{2010},{1},{1 + hour // 24},{hour % 24},{hour}.25" for hour in range(30)]
    found, _ = read(table(tmp_path / "pm.csv", "\n".join(["year,month,day,hour,pm", *rows])))
    assert found.series.channels == ("pm",)
    assert found.series.time == ("year", "month", "day", "hour")
    assert found.series.clock.step == HOUR
    assert found.series.clock.time_of(29) == "2010-01-02 05:00"


def test_a_column_that_counts_rows_is_no_channel(tmp_path: Path) -> None:
    rows = [f"{hour + 1},2024-03-01 {hour:02}:00,{hour**2}" for hour in range(20)]
    found, _ = read(table(tmp_path / "load.csv", "\n".join(["No,time,load", *rows])))
    assert found.series.channels == ("load",)


def test_a_table_without_times_or_rows_says_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no column has times; its first line names a, b\. Say which has: --set"):
        read(table(tmp_path / "x.csv", "a,b\n1,2\n3,4\n"))
    with pytest.raises(DataError, match="has no rows below its first line"):
        read(table(tmp_path / "y.csv", "time,load\n"), time=("time",), values=("load",))
    with pytest.raises(DataError, match=r"are written in no known way; say how, as in --set data\.time_format"):
        read(table(tmp_path / "z.csv", "time,load\nsoon,1\nlater,2\n"), values=("load",))


@settings(max_examples=40, deadline=None)
@given(
    rows=some.lists(
        some.tuples(some.integers(0, 40), some.sampled_from(["1", "-2.5", "", "NA", "oops", "1e400"])),
        min_size=1, max_size=40,
    )
)
def test_whatever_is_in_a_table_is_kept_skipped_or_refused(rows: list[tuple[int, str]]) -> None:
    """The ledger adds up, each step has the first value of its time, or an error says what is wrong."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = table(Path(folder) / "x.csv", "\n".join(["time,load", *(f"{time},{cell}" for time, cell in rows)]))
        try:
            found, ledger = read(path, time=("time",), values=("load",))
        except DataError as error:
            refused = str(error)
        else:
            refused = ""
    if refused:
        assert refused.startswith(str(path))
        return
    assert ledger.total("read") == len(rows) == ledger.total("kept") + ledger.total("skipped")
    first = dict(reversed(rows))
    series: Series = found.series
    for place in range(len(series)):
        cell = first.get(series.clock.first + place * series.clock.step, "")
        expected = float(cell) if cell in ("1", "-2.5") else np.nan
        assert np.array_equal(series.values_NC[place, 0], expected, equal_nan=True)
