"""Reads the answer off at every depth: what a model would say if a layer were its last.

States that were made for the next layer are shown to the final norm and the output head (the "logit lens",
nostalgebraist 2020). What comes out early is a hint of what is settled where, no more: a layer may hold what it knows
in a form that only later layers read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from regard.inspection.figures.alignments import three_digits
from regard.inspection.flow.states import levels
from regard.inspection.probes import probe
from regard.inspection.recording import Record, recorded
from regard.runs.load import Run

LOGITS_AT_ONCE = 20_000_000


@dataclass(frozen=True)
class Depths:
    """At each depth (first axis) and each position (second): the best token, its probability, and how the final answer
    fares there, by its probability and its rank (1: it leads).
    """

    names: tuple[str, ...]
    tokens: tuple[str, ...]  # that are read at the positions
    final: tuple[str, ...]  # answers at the last depth
    best: tuple[tuple[str, ...], ...]
    probability: tuple[tuple[float, ...], ...]
    final_probability: tuple[tuple[float, ...], ...]
    final_rank: tuple[tuple[int, ...], ...]

    def settled(self, position: int) -> int:
        """The first depth from which on the final answer leads."""
        leads = [ranks[position] == 1 for ranks in self.final_rank]
        return next(depth for depth in range(len(leads)) if all(leads[depth:]))

    def sentence(self, position: int) -> str:
        depth, last = self.settled(position), len(self.names) - 1
        early = self.final_probability[0][position]
        where = "only at the last depth" if depth == last else f"from {self.names[depth]} on (depth {depth} of {last})"
        return (
            f"After {self.tokens[position]!r} the answer {self.final[position]!r} leads {where}; its probability goes "
            f"from {three_digits(early)} to {three_digits(self.final_probability[-1][position])}."
        )

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "sentences": [self.sentence(position) for position in range(len(self.tokens))]}


def depths(run: Run, text: str, target: str = "") -> Depths:
    """What the model would answer after each layer, at every position that is asked about."""
    levels(run.model)  # a model that has no depths says so before it is asked
    return depths_of(recorded(run.model, probe(run, text, target)))


@torch.inference_mode()
def depths_of(seen: Record) -> Depths:
    """The same of a pass that was recorded; so many positions at once as the vocabulary allows."""
    found, asked, token = seen.states, seen.probe.asked, seen.probe.choice
    at_once = max(1, LOGITS_AT_ONCE // (len(found) * seen.logits_TW.shape[-1]))
    parts = [_read_off(seen.model, found, list(rows)) for rows in torch.tensor(asked).split(at_once)]
    best_LN, chance_LN, final_LN, rank_LN = (torch.cat(columns, dim=1) for columns in zip(*parts))
    return Depths(
        names=tuple(found),
        tokens=tuple(seen.probe.axis.labels[row] for row in asked),
        final=tuple(map(token, best_LN[-1].tolist())),
        best=tuple(tuple(map(token, row)) for row in best_LN.tolist()),
        probability=tuple(map(tuple, chance_LN.tolist())),
        final_probability=tuple(map(tuple, final_LN.tolist())),
        final_rank=tuple(map(tuple, rank_LN.tolist())),
    )


def _read_off(model: Any, states: Mapping[str, Tensor], rows: list[int]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """At each depth and row: the best token and its probability, the final answer's probability and rank."""
    logits_LNW = torch.stack([model.answer_at(states_BTD[:, rows])[0].float() for states_BTD in states.values()])
    chances_LNW, final_N = logits_LNW.softmax(-1), logits_LNW[-1].argmax(-1)
    best_LN, where_LN1 = chances_LNW.max(-1), final_N.expand(len(states), -1)[..., None]
    rank_LN = 1 + (logits_LNW > logits_LNW.gather(-1, where_LN1)).sum(-1)
    return best_LN.indices, best_LN.values, chances_LNW.gather(-1, where_LN1)[..., 0], rank_LN
