"""Yardstick: what a simple method reaches on the same examples, to judge a model's scores by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Yardstick:
    """The figures of a simple method, under the names that the task's ``score`` gives them, and what it was fitted on
    ("27,000 texts", "20,000 of 300,000 pictures")."""

    figures: Mapping[str, float]
    fitted_on: str

    def as_dict(self) -> dict[str, float | str]:
        return {**self.figures, "fitted_on": self.fitted_on}


FALLING = ("loss", "perplexity", "bits_per_character", "error_rate", "absolute_error", "scaled_error")
"""How names of figures end of which less is better."""


def verdict(scores: Mapping[str, Any], yardsticks: Mapping[str, Yardstick]) -> str:
    """One sentence where a simple method is as good as the model or better; nothing where the model is ahead.

    They are compared in the figure that leads the scores (``leading``), else in the yardstick's first.
    """
    behind: list[tuple[float, str]] = []
    for name, yardstick in yardsticks.items():
        figure = next((one for one in scores.get("leading", ()) if one in yardstick.figures), "")
        figure = figure or next(iter(yardstick.figures), "")
        if figure in scores and yardstick.figures[figure] == yardstick.figures[figure]:
            own, other = float(scores[figure]), yardstick.figures[figure]
            ahead = (own - other) if not figure.endswith(FALLING) else (other - own)
            told = f"{figure.replace('_', ' ')} {own:.4f} against {other:.4f}"
            behind += [(ahead, f"{name!r}: {told}")] if ahead <= 0 else []
    if not behind:
        return ""
    ahead, told = min(behind)
    return f"The model is {'below' if ahead < 0 else 'no better than'} the simple method {told}."
