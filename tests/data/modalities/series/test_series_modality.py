"""The series modality: normalising by window or channel, flat and empty windows, the calendar, what may be typed."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.core.config import parse
from regard.core.errors import DataError, InputError, OptionError, RunError
from regard.data import TokenizerPart
from regard.data.modalities.series import calendar
from regard.data.modalities.series.modality import SeriesModality
from regard.data.modalities.series.part import SeriesPart
from regard.data.modalities.series.series import Clock, LabelledSeries, Series, SeriesSplit, Window

HOUR, DAY = 3600, 86_400
MONDAY = 1_709_510_400  # 2024-03-04 00:00


def fitted(*series: Series, **settings: Any) -> SeriesModality:
    return parse(SeriesPart, settings).measured([LabelledSeries(one, "a") for one in series])


def of(*values: float, clock: Clock = Clock()) -> Series:  # noqa: B008
    return Series(np.array(values, np.float64)[:, None], clock=clock)


def test_a_window_is_brought_to_mean_0_and_spread_1() -> None:
    modality = fitted(of(0, 0, 10, 10))
    (item,) = modality.encode([of(3, 5, 7)])
    np.testing.assert_allclose(item.values_EN[0], np.array([-1, 0, 1]) * np.sqrt(3 / 2), rtol=1e-6)
    assert item.mean_C.tolist() == [5.0]
    restored = item.values_EN[0] * item.spread_C[0] + item.mean_C[0]
    np.testing.assert_allclose(restored, [3, 5, 7], rtol=1e-6)


def test_by_channel_all_are_measured_alike() -> None:
    modality = fitted(of(0, 0, 10, 10), normalise="channel")
    assert modality.encode([of(5, 15)])[0].values_EN[0].tolist() == [0.0, 2.0]


@pytest.mark.parametrize("values, mean, spread", [((7, 7, 7), 7, 0.25), ((np.nan, np.nan), 5, 5), ((np.nan, 9), 9, 5)])
def test_flat_and_empty_windows_have_the_spread_of_training(values: Any, mean: float, spread: float) -> None:
    (item,) = fitted(of(0, 0, 10, 10)).encode([of(*values)])
    assert (item.mean_C[0], item.spread_C[0]) == pytest.approx((mean, spread))
    assert np.isfinite(item.values_EN).all()


def test_training_without_any_change_divides_nothing() -> None:
    modality = fitted(of(4, 4, 4))
    assert modality.learned.std == (1.0,)


def test_series_too_long_and_empty_are_named_with_the_remedy() -> None:
    modality = fitted(of(1, 2, 3), of(2, 3))
    assert modality.port().shape == (3,)
    told = r"input 2 \(a series has 4 steps\), input 3 \(a series has 0 steps\); 1 to input.length = 3 .* set it to 4"
    with pytest.raises(InputError, match=told):
        modality.encode([of(1, 2), of(1, 2, 3, 4), of()])
    assert fitted(of(1, 2, 3), length=5).port().shape == (5,)


def test_series_that_are_not_alike_are_refused() -> None:
    with pytest.raises(DataError, match="has value in steps of 1, but a series has steps of 2; make them alike"):
        fitted(of(1, 2), of(1, 2, clock=Clock(0, 2)))
    empty = Series(np.array([[1.0, np.nan], [2.0, np.nan]]), ("load", "price"))
    with pytest.raises(DataError, match=r"no training series has a value of price; leave it out of data\.values"):
        fitted(empty)


def test_the_calendar_is_that_of_the_times() -> None:
    found = calendar.features(Clock(MONDAY, 6 * HOUR, "s"), 0, 8, ("day", "week"))
    assert found.shape == (12, 8)
    np.testing.assert_allclose(found[0, :4], [0, 1, 0, -1], atol=1e-6)  # sine of the day: midnight, 6, noon, 18
    np.testing.assert_allclose(found[1, :4], [1, 0, -1, 0], atol=1e-6)
    np.testing.assert_allclose(found[6:, 0], [0, 1] * 3, atol=1e-6)  # a week begins on Monday
    days = calendar.features(Clock(MONDAY, DAY, "s"), 0, 14, ("week",))
    np.testing.assert_allclose(days[:, :7], days[:, 7:], atol=1e-5)
    assert len({tuple(day.round(3)) for day in days[:, :7].T}) == 7


@pytest.mark.parametrize(
    "clock, steps, names, seasons",
    [
        (Clock(0, HOUR, "s"), 24 * 20, ("day", "week"), (24, 168)),
        (Clock(0, HOUR, "s"), 24 * 3, ("day",), (24,)),
        (Clock(0, HOUR, "s"), 24 * 800, ("day", "week", "year"), (24, 168)),
        (Clock(0, DAY, "s"), 100, ("week",), (7,)),
        (Clock(0, 1, "M"), 30, ("year",), (12,)),
        (Clock(0, 7 * HOUR, "s"), 500, ("day", "week"), (24,)),
        (Clock(0, 1), 1000, (), ()),
    ],
)
def test_what_of_the_calendar_is_worth_reading(clock: Clock, steps: int, names: Any, seasons: Any) -> None:
    assert calendar.usual(clock, steps) == names
    assert calendar.seasons(clock, steps) == seasons


def test_times_go_on_beyond_the_last_value() -> None:
    clock = Clock(MONDAY, DAY, "s")
    modality = parse(SeriesPart, {"calendar": ["week"]}).measured([SeriesSplit(of(*range(20), clock=clock), 0, 20)])
    whole = modality.encoded(Window(of(*range(20), clock=clock), 0, 10, 5))
    early = modality.encoded(Window(of(*range(10), clock=clock), 0, 10, 5))
    assert np.array_equal(whole.values_EN, early.values_EN)
    assert modality.axis(early).labels[-1] == "2024-03-18"


def test_values_can_be_typed_and_tables_named(tmp_path: Path) -> None:
    clock = Clock(MONDAY, HOUR, "s")
    modality = fitted(of(1, 2, 3, clock=clock))
    assert modality.parse("1 2.5 -3e1").values_NC[:, 0].tolist() == [1, 2.5, -30]
    table = tmp_path / "x.csv"
    rows = [f"{datetime(2024, 3, 4) + timedelta(hours=hour)},{hour}" for hour in range(3)]
    table.write_text("\n".join(["when,value", *rows]))
    assert modality.parse(str(table)).values_NC[:, 0].tolist() == [0, 1, 2]
    with pytest.raises(OptionError, match=r"task\.max_length and task\.keep have no effect on series"):
        modality.limited(7, "start")


def test_a_broken_file_of_what_was_learned_is_named(tmp_path: Path) -> None:
    (tmp_path / "series.json").write_text('{"channels": ["a"]}')
    with pytest.raises(RunError, match=r"series\.json should hold channels, mean, std, masked"):
        SeriesPart().load(tmp_path, TokenizerPart())


def test_a_drawing_has_a_line_for_each_channel_and_gaps_where_nothing_is_known() -> None:
    values_NC = np.array([[0.0, 5], [1, np.nan], [2, np.nan], [np.nan, 5], [4, 4]])
    modality = fitted(Series(values_NC, ("load", "price")))
    pixels_HWC = modality.pixels(modality.encode([Series(values_NC, ("load", "price"))])[0])
    assert pixels_HWC.shape == (128, 5 * 153, 3)
    inked = (pixels_HWC != 255).any(axis=2).any(axis=0)
    assert inked[90:300].all()  # the first channel goes up
    assert not inked[400:520].any()  # neither is known from the third step to the fourth
