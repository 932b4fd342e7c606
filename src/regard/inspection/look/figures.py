"""The same things as figures for paper: each chosen head, the depths, the heads by their entropy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from regard.inspection.depths import depths_of
from regard.inspection.figure import Figure, matplotlib
from regard.inspection.head_figures import depths_figure, statistics_figure, weights_figure
from regard.inspection.head_statistics import HeadStatistics
from regard.inspection.look.heads import Wanted, layers_of
from regard.inspection.reading import reading_of
from regard.inspection.recording import Record

Drawing = tuple[str, Callable[[], Figure]]
"""The name of a file, and what draws it."""


class Drawings:
    """Figures of passes as they are shown to it, in order; each input's own come under its number."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted, self.inputs = wanted, 0
        self.made: list[Drawing] = []
        matplotlib()  # if it is missing, that is said before anything is done

    def __call__(self, seen: Record) -> None:
        self.inputs += 1
        self.made += text_drawings(seen, self.wanted, f"text-{self.inputs}")

    def finished(self, table: Sequence[HeadStatistics]) -> list[Drawing]:
        """With all heads by their entropy first."""
        return [("entropy", partial(statistics_figure, table, "entropy")), *self.made]


def text_drawings(seen: Record, wanted: Wanted, prefix: str) -> list[Drawing]:
    """The chosen heads on one text, and the answer by depth."""
    numbers = layers_of(seen.model)
    shown = {name: one for name, one in seen.attention.items() if one.mechanism.has_matrix}
    found: list[Drawing] = [
        (f"{prefix}-{head.name}-{head.head}", partial(weights_figure, head))
        for head in reading_of(seen.model, seen.probe, shown).heads
        if wanted.takes(numbers[head.name], head.head)
    ]
    if seen.states:
        found.append((f"{prefix}-depths", partial(depths_figure, depths_of(seen))))
    return found
