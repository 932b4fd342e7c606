"""What every head reads while a run's model works on one text: exact weights, with the tokens of both axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import nn

from regard.core.errors import OptionError
from regard.core.probe import Probe
from regard.core.taps import Attention, record
from regard.inspection.heads.names import Kind, check_has_attention, kind_of
from regard.inspection.probes import axes, probe
from regard.runs.load import Run

Weights = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class HeadReading:
    """weights_TS of one head: a row for each token that looks, a column for each that is looked at.

    ``predicts`` is, beside each row, what is expected to follow (in an encoder alone: to stand) there; "" where
    nothing is. In attention over the source, row t reads what it needs for its prediction, not for its own token.
    """

    name: str
    head: int
    kind: Kind
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    predicts: tuple[str, ...]
    weights_TS: Weights

    @property
    def labels(self) -> tuple[str, ...]:
        """What stands beside the rows of a drawing: over the source the word that is being chosen."""
        return self.predicts if self.kind == "cross" else self.rows

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Reading:
    """One text and what all chosen heads read of it."""

    source: tuple[str, ...]
    tokens: tuple[str, ...]
    predicts: tuple[str, ...]
    heads: tuple[HeadReading, ...]

    def head(self, name: str, head: int) -> HeadReading:
        """The weights of one head, by the name of its attention."""
        for one in self.heads:
            if (one.name, one.head) == (name, head):
                return one
        there = ", ".join(f"{one.name} {one.head}" for one in self.heads)
        raise OptionError(f"no head {head} of {name!r} was read; available: {there}")

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and words, for JSON."""
        return asdict(self)


def read(
    run: Run,
    text: str,
    target: str = "",
    *,
    pattern: str = "*",
    heads: Sequence[int] | None = None,
    rows: Sequence[int] | None = None,
) -> Reading:
    """What the heads read; a translator is forced to the target, or to its own answer.

    Of long texts choose ``heads`` and ``rows`` (positions of those who look): nothing else is kept.
    """
    check_has_attention(run.model)
    return read_probe(run, probe(run, text, target), pattern=pattern, heads=heads, rows=rows)


@torch.inference_mode()
def read_probe(
    run: Run,
    asked: Probe,
    *,
    pattern: str = "*",
    heads: Sequence[int] | None = None,
    rows: Sequence[int] | None = None,
) -> Reading:
    """The same for an input that was made ready before."""
    with record(run.model.eval(), pattern, heads, rows) as seen:
        asked.run(run.model)
    return reading_of(run.model, asked, seen, heads)


@torch.inference_mode()
def reading_of(
    model: nn.Module, asked: Probe, seen: Mapping[str, Attention], heads: Sequence[int] | None = None
) -> Reading:
    """The same of a pass that was recorded."""
    predicts = asked.predicts or ("",) * len(asked.axis.labels)
    found = []
    for name, attention in seen.items():
        kind = kind_of(model, name)
        looking, looked_at = (axis.labels for axis in axes(asked, kind))
        following = ("",) * len(looking) if kind == "encoder" else predicts
        kept = range(len(looking)) if attention.rows is None else attention.rows
        beside = tuple(looking[row] for row in kept), looked_at, tuple(following[row] for row in kept)
        weights_HTS = attention.weights[0].float().cpu()
        for place, weights_TS in enumerate(weights_HTS):
            number = place if heads is None else heads[place]
            found.append(HeadReading(name, number, kind, *beside, tuple(map(tuple, weights_TS.tolist()))))
    return Reading(asked.source_axis.labels, asked.axis.labels, predicts, tuple(found))
