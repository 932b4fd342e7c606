"""Figures of forecasts: what was read of each channel, the median of what is to come, and its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.core.answers import NumbersAnswer
from regard.inspection.figures.figure import MARKS, PLAIN, Figure, printable

MOST = 12  # panels
WIDTH, HEIGHT = 7.5, 2.2  # inches of a panel
TICKS = 5
PALE = 0.22


def forecast_figure(names: Sequence[str], answers: Sequence[NumbersAnswer]) -> Figure:
    """A panel for each channel of each input, under the input's name."""
    named = [*zip(names, answers, strict=True)]
    panels = [(name, one, place) for name, one in named for place in range(len(one.channels))]
    shown = panels[:MOST]

    def paint(canvas: Any) -> None:
        for axes, (name, one, place) in zip(canvas.subplots(len(shown), 1, squeeze=False).ravel(), shown):
            draw(axes, one, place)
            axes.set_title(printable(f"{name}: {one.channels[place]}", 70), fontsize=9, loc="left", **PLAIN)
        canvas.axes[0].legend(fontsize=8, frameon=False, loc="upper left", ncols=3)

    words = " ".join(caption(name, one, place) for name, one, place in panels)
    left = f" ({len(shown)} of {len(panels)} channels)" if len(panels) > len(shown) else ""
    data = {"forecasts": [{"input": name, **as_data(one)} for name, one in named]}
    return Figure(f"Forecast{left}", words, data, paint, (WIDTH, HEIGHT * len(shown) + 0.5))


def draw(axes: Any, one: NumbersAnswer, place: int) -> None:
    past_N, values_HQ = one.past_NC[:, place], one.values_HCQ[:, place]
    ahead_H = np.arange(len(past_N), len(past_N) + len(values_HQ))
    middle, levels = one.levels.index(0.5), one.levels
    axes.plot(np.arange(len(past_N)), past_N, color="0.25", linewidth=1.1, label="known")
    for low in range(middle):
        high = len(levels) - 1 - low
        label = f"{levels[low]:g} to {levels[high]:g}"
        axes.fill_between(
            ahead_H, values_HQ[:, low], values_HQ[:, high], color=MARKS[0], alpha=PALE, linewidth=0, label=label
        )
    axes.plot(ahead_H, values_HQ[:, middle], color=MARKS[0], linewidth=1.6, label="forecast")
    axes.axvline(len(past_N) - 0.5, color="0.6", linewidth=0.8, linestyle=":")
    times = [*one.past_times, *one.times]
    ticks = np.unique(np.linspace(0, len(times) - 1, TICKS).round().astype(int))
    axes.set_xticks(ticks, labels=[printable(times[tick], 20) for tick in ticks], **PLAIN)
    axes.tick_params(labelsize=8)
    axes.margins(x=0.01)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def caption(name: str, one: NumbersAnswer, place: int) -> str:
    """The forecast in words, for those who do not see it."""
    values_HQ, middle = one.values_HCQ[:, place], one.levels.index(0.5)
    first, last = values_HQ[0, middle], values_HQ[-1, middle]
    edges = f"between {values_HQ[-1, 0]:.4g} and {values_HQ[-1, -1]:.4g} at the end"
    course = f"from {first:.4g} at {one.times[0]} to {last:.4g} at {one.times[-1]}"
    return f"{name}, {one.channels[place]}: {course}, {edges}."


def as_data(one: NumbersAnswer) -> dict[str, Any]:
    """All numbers, as JSON has them."""
    return {
        "times": list(one.times),
        "channels": {
            name: {f"{level:g}": one.values_HCQ[:, place, rank].tolist() for rank, level in enumerate(one.levels)}
            for place, name in enumerate(one.channels)
        },
    }
