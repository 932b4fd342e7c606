"""Curves in one figure: every one can be told apart, read without eyes, and found where its numbers say."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from regard.inspection.figures.lines import (
    BOTTOM,
    LABEL_GAP,
    LEFT,
    LOOKS,
    RIGHT,
    TOP,
    Series,
    line_figure,
    linear_axis,
    logarithmic_axis,
    spread,
)
from regard.inspection.figures.page_style import STYLE

FALLING = Series("falls", [(x, 10.0**-x) for x in range(1, 6)])
LEVEL = Series("stays <level>", [(1, 0.1), (5, 0.1)])


def drawn(*series: Series, log_x: bool = False, log_y: bool = False) -> ElementTree.Element:
    figure = line_figure(
        series, x_label="distance", y_label="norm", title_for_screen_readers="Norms", log_x=log_x, log_y=log_y
    )
    return ElementTree.fromstring(figure)


def corners(line: ElementTree.Element) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in line.attrib["points"].split())]


def labels(figure: ElementTree.Element) -> list[ElementTree.Element]:
    return [text for text in figure.iter("text") if text.get("class") == "label"]


def test_every_curve_has_a_line_a_label_and_a_tooltip_at_each_point() -> None:
    figure = drawn(FALLING, LEVEL, log_y=True)
    assert len(list(figure.iter("polyline"))) == 2
    assert [text.text for text in labels(figure)] == ["falls", "stays <level>"]
    titles = [title.text for title in figure.iter("title")]
    assert titles[0] == "falls: 0.100 at 1"
    assert len(titles) == 7
    assert figure.attrib["role"] == "img"
    assert figure.attrib["aria-label"] == (
        "Norms: falls from 0.100 at 1 to 1.00e-05 at 5; stays <level> from 0.100 at 1 to 0.100 at 5"
    )


def test_a_power_law_is_a_straight_line_on_logarithmic_axes_from_corner_to_corner() -> None:
    (line,) = drawn(Series("square", [(10.0**e, 10.0 ** (2 * e)) for e in range(4)]), log_x=True, log_y=True).iter(
        "polyline"
    )
    thirds = [(LEFT + (RIGHT - LEFT) * e / 3, BOTTOM - (BOTTOM - TOP) * e / 3) for e in range(4)]
    assert corners(line) == [pytest.approx(place, abs=0.1) for place in thirds]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 0.0, -1.0])
def test_what_has_no_place_is_left_out(bad: float) -> None:
    (line,) = drawn(Series("gap", [(1, 1.0), (2, bad), (3, 10.0)]), log_y=True).iter("polyline")
    assert len(corners(line)) == 2


def test_zero_and_less_have_a_place_on_a_linear_axis() -> None:
    (line,) = drawn(Series("through", [(0, -2.0), (1, 0.0), (2, 2.0)])).iter("polyline")
    assert [y for _, y in corners(line)] == pytest.approx([BOTTOM, (TOP + BOTTOM) / 2, TOP])


def test_a_curve_without_points_is_no_curve_and_keeps_its_look() -> None:
    figure = drawn(Series("gone", [(1, 0.0)]), FALLING, log_y=True)
    (line,) = figure.iter("polyline")
    assert line.attrib["stroke"] == LOOKS[1].light
    assert line_figure([], x_label="x", y_label="y", title_for_screen_readers="nothing") == ""


def test_labels_of_lines_that_end_together_stand_apart() -> None:
    figure = drawn(*(Series(f"curve {i}", [(1, 1.0), (2, 2.0)]) for i in range(6)))
    heights = sorted(float(text.attrib["y"]) for text in labels(figure))
    assert len(heights) == 6
    assert min(high - low for low, high in pairwise(heights)) >= LABEL_GAP - 0.2


def test_labels_stay_where_there_is_room_and_never_leave_the_plot() -> None:
    assert spread([100, 40, 200], 0, 300, 22) == [100, 40, 200]
    assert spread([298, 300, 299], 0, 300, 20) == [260, 300, 280]
    assert spread([0, 0, 0], 0, 30, 20) == [0, 15, 30]


def test_looks_differ_in_colour_dashes_and_marker() -> None:
    for part in ("light", "dark", "dashes", "marker"):
        assert len({getattr(look, part) for look in LOOKS}) == len(LOOKS)


def luminance(colour: str) -> float:
    """Relative luminance of sRGB (WCAG 2.1)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_colour_stands_out_from_the_page_by_day_and_by_night() -> None:
    day, night = re.findall(r"--paper: (#\w{6})", STYLE)
    for look in LOOKS:
        for colour, paper in ((look.light, day), (look.dark, night)):
            dark, light = sorted((luminance(colour), luminance(paper)))
            assert (light + 0.05) / (dark + 0.05) >= 3, f"{colour} on {paper}"


@pytest.mark.parametrize(
    "values, ticks",
    [
        ([1, 50], [0, 10, 20, 30, 40, 50]),
        ([-3, 10], [-4, -2, 0, 2, 4, 6, 8, 10]),
        ([0, 0], [0, 0.2]),
        ([3e-12], [0, 5e-13, 1e-12, 1.5e-12, 2e-12, 2.5e-12, 3e-12]),
    ],
)
def test_linear_ticks_are_round_and_hold_all_values(values: list[float], ticks: list[float]) -> None:
    assert linear_axis(values).ticks == pytest.approx(ticks)


@pytest.mark.parametrize(
    "values, texts",
    [
        ([0.003, 7], ["0.001", "0.01", "0.1", "1", "10"]),
        ([2e-15, 0.5], ["10⁻¹⁵", "10⁻¹²", "10⁻⁹", "10⁻⁶", "0.001", "1"]),
        ([0.3, 0.6], ["0.2", "0.5", "1"]),
        ([32, 1024], ["20", "50", "100", "200", "500", "1,000", "2,000"]),
        ([5, 5], ["5", "10"]),
        ([3e-7], ["2·10⁻⁷", "5·10⁻⁷"]),
    ],
)
def test_logarithmic_ticks_are_powers_of_ten_or_1_2_5_where_those_are_few(
    values: list[float], texts: list[str]
) -> None:
    axis = logarithmic_axis(values)
    assert [axis.text(tick) for tick in axis.ticks] == texts


def test_the_horizontal_axis_ends_with_the_data_and_counts_in_whole_numbers() -> None:
    figure = drawn(Series("layers", [(1, 1.0), (2, 1.0), (3, 1.0)]))
    assert [text.text for text in figure.iter("text") if text.get("class") == "step"] == ["1", "2", "3"]


def test_more_curves_than_looks_are_drawn_and_named() -> None:
    names = [f"curve {i}" for i in range(len(LOOKS) + 2)]
    drawn = line_figure(
        [Series(name, [(1, i), (2, i + 1)]) for i, name in enumerate(names)],
        x_label="x", y_label="y", title_for_screen_readers="many",
    )  # fmt: skip
    assert drawn.count("<polyline") == len(names)
    assert all(f">{name}</text>" in drawn for name in names)
