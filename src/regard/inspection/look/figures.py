"""Figures of a page as files: each chosen head, the depths, the heads by their entropy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from regard.inspection.figures.figure import Figure, matplotlib
from regard.inspection.figures.heads import depths_figure, statistics_figure, weights_figure
from regard.inspection.figures.patches import Heat, distance_figure, heats_figure
from regard.inspection.flow.depths import depths_of
from regard.inspection.heads.patches import PatchStatistics, heat, reader_of
from regard.inspection.heads.reading import reading_of
from regard.inspection.heads.rollout import rolled_out, stack_of
from regard.inspection.heads.statistics import HeadStatistics
from regard.inspection.look.heads import Wanted, layers_of
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
        if seen.probe.axis.shape:
            self.made += picture_drawings(seen, self.wanted, f"picture-{self.inputs}")
        else:
            self.made += text_drawings(seen, self.wanted, f"text-{self.inputs}")

    def finished(self, table: Sequence[HeadStatistics | PatchStatistics]) -> list[Drawing]:
        """With all heads by their entropy first, over pictures by how far they look."""
        texts = [one for one in table if isinstance(one, HeadStatistics)]
        pictures = [one for one in table if isinstance(one, PatchStatistics)]
        first: list[Drawing] = [("entropy", partial(statistics_figure, texts, "entropy"))] if texts else []
        return first + ([("distance", partial(distance_figure, pictures))] if pictures else []) + self.made


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


def picture_drawings(seen: Record, wanted: Wanted, prefix: str) -> list[Drawing]:
    """Over one picture: all chosen heads together and each by itself, and the layers rolled out."""
    numbers, axis, pixels_HWC = layers_of(seen.model), seen.probe.axis, seen.probe.pixels_HWC
    assert pixels_HWC is not None
    heads: dict[str, Heat] = {}
    for name, attention in seen.attention.items():
        if attention.mechanism.has_matrix:
            for head, weights_TS in enumerate(attention.weights[0].float().cpu().numpy()):
                if wanted.takes(numbers[name], head):
                    heads[f"{name}-{head}"] = Heat(f"{name}, head {head}", heat(weights_TS, axis))
    means = {name: seen.attention[name].weights[0].mean(0).cpu().double() for name in stack_of(seen.model)}
    rolled = [
        Heat(f"up to {name}", heat(after_TS.numpy(), axis))
        for name, after_TS in zip(means, rolled_out(list(means.values())), strict=True)
    ]
    said = seen.probe.answers(seen.logits_TW)[:1]
    words = f"{Path(seen.probe.text).name}: {', '.join(f'{one.text} ({one.probability:.0%})' for one in said)}"
    draw = partial(heats_figure, pixels_HWC, words)
    return [
        (f"{prefix}-heads", partial(draw, f"What every head reads for {reader_of(axis)}", list(heads.values()))),
        (f"{prefix}-rollout", partial(draw, f"Attention rollout for {reader_of(axis)}", rolled)),
        *((f"{prefix}-{name}", partial(draw, one.name, [one])) for name, one in heads.items()),
    ]
