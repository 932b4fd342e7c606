"""Draws the learning curve: training and validation loss over steps, as inline SVG with axes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regard.inspection.figures.alignments import escaped, three_digits

Curve = Sequence[tuple[int, float]]

WIDTH, HEIGHT = 640, 320
LEFT, RIGHT, TOP, BOTTOM = 52, 604, 34, 262


def finite(curve: Curve) -> list[tuple[int, float]]:
    return [(step, loss) for step, loss in curve if math.isfinite(loss)]


def ticks(high: float, about: int) -> list[float]:
    """Round numbers from 0 to the first that reaches `high`, about so many."""
    raw = high / about
    power = 10.0 ** math.floor(math.log10(raw))
    width = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * 0.999)
    return [round(width * i, 10) for i in range(math.ceil(high / width - 1e-9) + 1)]


def number(tick: float) -> str:
    return format(tick, ",.10g")


def summary(name: str, curve: Curve) -> str:
    """The curve in words, for those who do not see it."""
    if not curve:
        return f"no {name} loss"
    (first, start), (last, end) = curve[0], curve[-1]
    return f"{name} loss from {three_digits(start)} at step {first} to {three_digits(end)} at step {last}"


def axes(steps: Sequence[float], losses: Sequence[float], last_step: float) -> str:
    """Horizontal rules at the losses, marks at the steps, and the names of both."""
    parts = []
    for tick in losses:
        y = BOTTOM - (BOTTOM - TOP) * tick / losses[-1]
        parts.append(f'<line class="rule" x1="{LEFT}" x2="{RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="loss" x="{LEFT - 8}" y="{y + 4:.1f}">{number(tick)}</text>')
    for tick in steps:
        if tick <= last_step and tick == int(tick):
            x = LEFT + (RIGHT - LEFT) * tick / last_step
            parts.append(f'<text class="step" x="{x:.1f}" y="{BOTTOM + 22}">{number(tick)}</text>')
    parts.append(f'<text class="axis" x="{LEFT - 8}" y="14" text-anchor="end">loss</text>')
    parts.append(f'<text class="axis" x="{RIGHT}" y="{HEIGHT - 8}" text-anchor="end">step</text>')
    return "".join(parts)


def curve_figure(curve: Curve, validation_curve: Curve) -> str:
    """Both curves in one drawing; "" if there is nothing to draw."""
    training, validation = finite(curve), finite(validation_curve)
    if not training and not validation:
        return ""
    last_step = max(1, *(step for step, _ in training + validation))
    losses = ticks(max(1e-9, *(loss for _, loss in training + validation)), 5)

    def point(step: int, loss: float) -> tuple[float, float]:
        height = max(loss, 0.0) / losses[-1]
        return LEFT + (RIGHT - LEFT) * step / last_step, BOTTOM - (BOTTOM - TOP) * height

    def line(name: str, points: Curve) -> str:
        return f'<polyline class="{name}" points="{" ".join("{:.1f},{:.1f}".format(*point(*p)) for p in points)}"/>'

    dots = "".join(
        '<circle cx="{:.1f}" cy="{:.1f}" r="3.5">'.format(*point(step, loss))
        + f"<title>validation, step {step:,}: {three_digits(loss)}</title></circle>"
        for step, loss in validation
    )
    label = f"Learning curve: {summary('training', training)}; {summary('validation', validation)}"
    return (
        f'<svg class="curve" role="img" aria-label="{escaped(label)}" viewBox="0 0 {WIDTH} {HEIGHT}">'
        + axes(ticks(last_step, 5), losses, last_step)
        + line("training", training)
        + line("validation", validation)
        + f"{dots}</svg>"
    )
