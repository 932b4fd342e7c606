"""What a measurement of attention says: a table, plots, a page and JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from regard.core.files import write_json, write_text
from regard.inspection.attention_costs.measuring import FITTED_FROM, Measured, Point, Shape
from regard.inspection.attention_costs.subjects import FULL, Pass
from regard.inspection.figures.lines import Series, line_figure
from regard.inspection.reports.page import Section, page_of, table_of

TITLES: dict[Pass, str] = {
    "forward": "Forward",
    "both": "Forward and backward",
    "step": "One step of decoding",
}
PAGE, JSON = "attention.html", "attention.json"


@dataclass(frozen=True)
class AttentionReport:
    """Mechanisms side by side, on one machine."""

    shape: Shape
    found: Sequence[Measured]
    machine: dict[str, Any]

    @property
    def full(self) -> Measured:
        return next(one for one in self.found if one.name == FULL)

    def table(self, wanted: Pass) -> list[list[str]]:
        """One pass: times by length, how they grow, memory, and how many times faster than full attention."""
        lengths = self.shape.lengths
        head = ["mechanism", *(f"{length:,}" for length in lengths), "time ~", "memory ~", "memory", "faster", "error"]
        return [head, *(self._row(one, wanted) for one in self.found)]

    def _row(self, one: Measured, wanted: Pass) -> list[str]:
        points = [one.at(wanted, length) for length in self.shape.lengths]
        times = ["–" if point is None else seconds_told(point.seconds) for point in points]
        last = next((point for point in reversed(points) if point is not None), None)
        held = "–" if last is None else bytes_told(last.remembered if wanted == "step" else last.peak)
        faster = self.faster(one, wanted)
        error = one.errors.get(last.length) if last is not None else None
        return [
            one.name if one.causal else f"{one.name} (both sides)",
            *times,
            power_told(one.exponent(wanted)),
            power_told(one.exponent(wanted, "peak")) if wanted != "step" else "–",
            held if last is None else f"{held} at {last.length:,}",
            "–" if faster is None else f"{faster[1]:.1f}× at {faster[0]:,}",
            "–" if error is None else f"{error:.2g}",
        ]

    def faster(self, one: Measured, wanted: Pass) -> tuple[int, float] | None:
        """How many times faster than full attention, at the longest length that both were measured at."""
        if one is self.full:
            return None
        for length in reversed(self.shape.lengths):
            own, full = one.at(wanted, length), self.full.at(wanted, length)
            if own is not None and full is not None:
                return length, full.seconds / own.seconds
        return None

    def notes(self) -> list[str]:
        """Why something was not measured."""
        return [
            f"{one.name}, {TITLES[wanted].lower()}: {reason}"
            for one in self.found
            for wanted, reason in one.reasons.items()
        ]

    def as_dict(self) -> dict[str, Any]:
        mechanisms = []
        for one in self.found:
            faster = {wanted: self.faster(one, wanted) for wanted in self.shape.passes}
            told = {wanted: {"length": own[0], "times": own[1]} for wanted, own in faster.items() if own is not None}
            mechanisms.append({**one.as_dict(), "faster_than_full": told})
        return {"shape": asdict(self.shape), "machine": self.machine, "mechanisms": mechanisms}

    def write(self, folder: Path) -> Path:
        """Page and JSON; the page's path."""
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / JSON, self.as_dict())
        write_text(folder / PAGE, self.page())
        return folder / PAGE

    def page(self) -> str:
        shape = self.shape
        lead = (
            f"{shape.heads} heads of {shape.width}, queries and keys of standard deviation {shape.spread:g}, causal "
            f"unless it says otherwise. ~ is the fitted power of n, from n = {FITTED_FROM:,} on where there is enough."
        )
        sections = []
        for wanted in shape.passes:
            sections.append(Section(TITLES[wanted], table_of(self.table(wanted)), ""))
            sections.append(self._figure(wanted, "seconds", lambda point: point.seconds))
            if wanted == "step":
                sections.append(self._figure(wanted, "bytes remembered", lambda point: point.remembered))
            else:
                sections.append(self._figure(wanted, "bytes at the peak", lambda point: point.peak))
        errors = [Series(one.name, sorted(one.errors.items())) for one in self.found]
        sections.append(
            Section(
                "Error against full attention",
                line_figure(
                    errors, x_label="n", y_label="error", title_for_screen_readers="Error", log_x=True, log_y=True
                ),
                "‖out − full‖ / ‖full‖ of random inputs, over 128 queries. A mechanism that reads fewer keys is not "
                "wrong by so much: a model trained with it knows no other.",
            )
        )
        sections.append(Section("Not measured", "", "; ".join(self.notes())))
        return page_of("What attention costs", lead, sections, {key: str(value) for key, value in self.machine.items()})

    def _figure(self, wanted: Pass, what: str, cost: Callable[[Point], float]) -> Section:
        series = [
            Series(one.name, [(point.length, cost(point)) for point in one.points.get(wanted, ())])
            for one in self.found
        ]
        title = f"{TITLES[wanted]}: {what} against n"
        drawing = line_figure(
            series, x_label="n", y_label=what, title_for_screen_readers=title, log_x=True, log_y=True
        )
        return Section(title, drawing, "Both axes are logarithmic, so that a power of n is a straight line.")


def seconds_told(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.1f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs"


def bytes_told(size: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError("the last unit takes all")


def power_told(exponent: float) -> str:
    return f"n^{exponent:.2f}" if math.isfinite(exponent) else "–"
