"""Draws named curves in one figure, as inline SVG with linear or logarithmic axes and labels at the lines' ends.

Colour, dash and marker all tell the curves apart, so that none of them is needed. The colours are those of Okabe &
Ito (2008), moved where they would be too faint on one of the page's two grounds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from regard.inspection.figures.alignments import escaped, text_width, three_digits
from regard.inspection.figures.curves import number, ticks

WIDTH, HEIGHT = 720, 320  # wider where a label needs it
LEFT, PLOT, TOP, BOTTOM = 74, 440, 34, 262
RIGHT = LEFT + PLOT
LABEL_SIZE = 21  # what the page makes of the text on a narrow screen; labels must not meet there either
LABEL_GAP = 22
MARKS_SHOWN = 8  # about so many markers a curve: fifty would hide it
POWERS_WANTED = 3  # with fewer powers of ten on an axis, 2 and 5 are ticks too
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Series:
    """A named curve."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Look:
    """A curve's colour on light and on dark ground, its dashes, and its marker as a path around 0, 0."""

    light: str
    dark: str
    dashes: str
    marker: str

    def paint(self, what: str) -> str:
        """The colour as an attribute for old readers and as a style that knows the ground for all others."""
        return f'{what}="{self.light}" style="{what}:{self.light};{what}:light-dark({self.light},{self.dark})"'


LOOKS = (
    Look("#0072b2", "#56b4e9", "", "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0Z"),
    Look("#d55e00", "#e8762b", "7 4", "M-3 -3H3V3H-3Z"),
    Look("#00805d", "#009e73", "2 4", "M0 -4L4 3H-4Z"),
    Look("#a84f80", "#cc79a7", "9 3 2 3", "M0 -4.5L4.5 0L0 4.5L-4.5 0Z"),
    Look("#8a6000", "#e69f00", "12 4", "M0 4L4 -3H-4Z"),
    Look("#6e6e73", "#a0a0a8", "1 3", "M-4 -4H4L-4 4H4Z"),
    Look("#2e8b9e", "#7fd0de", "4 4", "M-4 -2.5H4V2.5H-4Z"),
    Look("#1c1f23", "#e7e6e2", "5 2 1 2 1 2", "M-4 -1H-1V-4H1V-1H4V1H1V4H-1V1H-4Z"),
)


@dataclass(frozen=True)
class Axis:
    """Where a value lies between the axis's ends, 0 to 1, and the ticks between them."""

    low: float
    high: float
    ticks: Sequence[float]
    scale: Callable[[float], float]
    text: Callable[[float], str]

    def place(self, value: float) -> float:
        low, high = self.scale(self.low), self.scale(self.high)
        return (self.scale(value) - low) / (high - low)

    def cut(self, values: Sequence[float]) -> Axis:
        """The same axis from the first value to the last, if two ticks stay; whole numbers have whole ticks."""
        whole = all(value == int(value) for value in values)
        low, high = min(values), max(values)
        kept = [tick for tick in self.ticks if low <= tick <= high and (not whole or tick == int(tick))]
        return replace(self, low=low, high=high, ticks=kept) if len(kept) > 1 else self


def linear_axis(values: Sequence[float]) -> Axis:
    """Round numbers around 0 and all values."""
    low, high = min(0.0, *values), max(0.0, *values)
    largest = max(high, -low) or 1.0
    power = 10.0 ** math.floor(math.log10(largest))  # ticks of numbers near 1 can be trusted to all their digits
    width = ticks(largest / power, 6)[1] * power
    first, last = math.floor(low / width + 1e-9), math.ceil(high / width - 1e-9)
    found = [float(f"{width * i:.10g}") for i in range(first, max(last, first + 1) + 1)]
    return Axis(found[0], found[-1], found, float, number)


def logarithmic_axis(values: Sequence[float]) -> Axis:
    """Powers of ten around all values, or 1, 2, 5 where few of them would be seen."""
    low, high = min(values), max(values)
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    if math.floor(math.log10(high) + 1e-9) - math.ceil(math.log10(low) - 1e-9) + 1 >= POWERS_WANTED:
        stride = math.ceil((last - first) / 6)
        powers = range(stride * (first // stride), stride * -(-last // stride) + 1, stride)
        found = [float(f"1e{power}") for power in powers]
        return Axis(found[0], found[-1], found, math.log10, power_text)
    steps = [float(f"{digit}e{power}") for power in range(first - 1, last + 2) for digit in (1, 2, 5)]
    start = max(i for i, step in enumerate(steps) if step <= low * (1 + 1e-9))
    end = min(i for i, step in enumerate(steps) if step >= high * (1 - 1e-9))
    found = steps[start : max(end, start + 1) + 1]
    return Axis(found[0], found[-1], found, math.log10, power_text)


def power_text(tick: float) -> str:
    """A tick as it is written: 0.01, 500, 10⁻⁶, 2·10⁷."""
    if 1e-3 <= tick < 1e5:
        return number(tick)
    digit, power = f"{tick:.0e}".split("e")
    raised = "10" + str(int(power)).translate(SUPERSCRIPT)
    return raised if digit == "1" else f"{digit}·{raised}"


def drawable(series: Series, *, log_x: bool, log_y: bool) -> Series:
    """What can be drawn of a curve: finite, and positive where the axis is logarithmic."""
    kept = [
        (float(x), float(y))
        for x, y in series.points
        if math.isfinite(x) and math.isfinite(y) and (x > 0 or not log_x) and (y > 0 or not log_y)
    ]
    return Series(series.name, kept)


def spread(wanted: Sequence[float], low: float, high: float, gap: float) -> list[float]:
    """Places as near as possible to the wanted ones, in the same order, at least a gap apart, from low to high."""
    gap = min(gap, (high - low) / max(len(wanted) - 1, 1))
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    places, edge = list(wanted), low
    for i in order:
        places[i] = edge = max(wanted[i], edge)
        edge += gap
    edge = high
    for i in reversed(order):
        places[i] = min(places[i], edge)
        edge = places[i] - gap
    return places


def grid(x_axis: Axis, y_axis: Axis, x_label: str, y_label: str) -> str:
    """Rules and numbers of both axes, and their names."""
    parts = []
    for tick in y_axis.ticks:
        y = BOTTOM - (BOTTOM - TOP) * y_axis.place(tick)
        parts.append(f'<line class="rule" x1="{LEFT}" x2="{RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="loss" x="{LEFT - 8}" y="{y + 4:.1f}">{y_axis.text(tick)}</text>')
    for tick in x_axis.ticks:
        x = LEFT + PLOT * x_axis.place(tick)
        parts.append(f'<text class="step" x="{x:.1f}" y="{BOTTOM + 22}">{x_axis.text(tick)}</text>')
    parts.append(f'<text class="axis" x="0" y="18">{escaped(y_label)}</text>')
    parts.append(f'<text class="axis" x="{RIGHT}" y="{HEIGHT - 8}" text-anchor="end">{escaped(x_label)}</text>')
    return "".join(parts)


def curve(series: Series, look: Look, places: Sequence[tuple[float, float]]) -> str:
    """A line, and at every point a marker that tells its numbers; only some of the markers are seen."""
    dashes = f' stroke-dasharray="{look.dashes}"' if look.dashes else ""
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts = [f'<polyline fill="none" stroke-width="2"{dashes} {look.paint("stroke")} points="{corners}"/>']
    every = math.ceil(len(places) / MARKS_SHOWN)
    for i, ((x, y), (across, up)) in enumerate(zip(places, series.points)):
        seen = "" if i == 0 or (len(places) - 1 - i) % every == 0 else ' opacity="0"'
        parts.append(
            f'<path d="{look.marker}" transform="translate({x:.1f} {y:.1f})"{seen} {look.paint("fill")}>'
            f"<title>{escaped(f'{series.name}: {three_digits(up)} at {number(across)}')}</title></path>"
        )
    return "".join(parts)


def label(name: str, look: Look, end: tuple[float, float], y: float) -> str:
    """The name right of the plot behind its marker, tied to the line's end by a hair where that lies elsewhere."""
    x = RIGHT + 16
    hair = ""
    if abs(y - end[1]) > 2 or x - end[0] > 20:
        hair = (
            f'<line x1="{end[0] + 5:.1f}" y1="{end[1]:.1f}" x2="{x - 5}" y2="{y:.1f}" stroke-opacity=".45"'
            f' {look.paint("stroke")}/>'
        )
    return (
        f'{hair}<path d="{look.marker}" transform="translate({x} {y:.1f})" {look.paint("fill")}/>'
        f'<text class="label" x="{x + 9}" y="{y + 4.5:.1f}">{escaped(name)}</text>'
    )


def caption(title: str, shown: Sequence[Series]) -> str:
    """The figure in words, for those who do not see it."""
    curves = [
        f"{series.name} from {three_digits(series.points[0][1])} at {number(series.points[0][0])}"
        f" to {three_digits(series.points[-1][1])} at {number(series.points[-1][0])}"
        for series in shown
    ]
    return f"{title}: {'; '.join(curves)}"


def line_figure(
    series: Sequence[Series],
    *,
    x_label: str,
    y_label: str,
    title_for_screen_readers: str,
    log_x: bool = False,
    log_y: bool = False,
) -> str:
    """The curves in one drawing; "" if there is nothing to draw. A curve keeps its look when another has no points."""
    # Beyond the last look they begin anew: the names at the lines' ends still tell the curves apart.
    kept = [(drawable(one, log_x=log_x, log_y=log_y), look) for one, look in zip(series, itertools.cycle(LOOKS))]
    shown = [(one, look) for one, look in kept if one.points]
    if not shown:
        return ""
    across = [x for one, _ in shown for x, _ in one.points]
    x_axis = (logarithmic_axis if log_x else linear_axis)(across).cut(across)
    y_axis = (logarithmic_axis if log_y else linear_axis)([y for one, _ in shown for _, y in one.points])
    places = [
        [(LEFT + PLOT * x_axis.place(x), BOTTOM - (BOTTOM - TOP) * y_axis.place(y)) for x, y in one.points]
        for one, _ in shown
    ]
    heights = spread([line[-1][1] for line in places], TOP, BOTTOM, LABEL_GAP)
    width = max(WIDTH, RIGHT + 30 + max(text_width(one.name, LABEL_SIZE) for one, _ in shown))
    described = escaped(caption(title_for_screen_readers, [series for series, _ in shown]))
    return (
        f'<svg class="curve" role="img" aria-label="{described}"'
        f' viewBox="0 0 {width:.0f} {HEIGHT}">'
        + grid(x_axis, y_axis, x_label, y_label)
        + "".join(curve(one, look, line) for (one, look), line in zip(shown, places))
        + "".join(label(one.name, look, line[-1], y) for (one, look), line, y in zip(shown, places, heights))
        + "</svg>"
    )
