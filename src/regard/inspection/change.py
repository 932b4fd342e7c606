"""The effect of an edit: how far distributions move, what the loss becomes, which answers change."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from regard.core.probe import UNKNOWN, Probe
from regard.inspection.figures.alignments import three_digits
from regard.inspection.probes import logits_of
from regard.runs.load import Run


@dataclass(frozen=True)
class Change:
    """Means over the positions that were asked about.

    ``moved`` is the total variation between the answers before and after, from 0 (the same) to 1 (nothing in common);
    losses are nats for each expected token, and where none is expected for what was answered before.
    """

    moved: float
    loss_before: float
    loss_after: float
    said_before: tuple[str, ...]
    said_after: tuple[str, ...]

    @property
    def others(self) -> int:
        """How many most probable tokens are others now."""
        return sum(before != after for before, after in zip(self.said_before, self.said_after))

    @property
    def sentence(self) -> str:
        if not self.others:
            words = f"none of {len(self.said_before)} answers changes"
        else:
            first = next((b, a) for b, a in zip(self.said_before, self.said_after) if b != a)
            words = f"{self.others} of {len(self.said_before)} answers change, first {first[0]!r} → {first[1]!r}"
        return (
            f"The answers move by {three_digits(self.moved)} of their probability, the loss goes from "
            f"{three_digits(self.loss_before)} to {three_digits(self.loss_after)}, and {words}."
        )

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "others": self.others, "sentence": self.sentence}


def change(run: Run, asked: Probe, edit: AbstractContextManager[Any]) -> Change:
    """Asks twice, the second time inside the edit, as in ``change(run, asked, without_heads(run.model, heads))``."""
    before_TW = logits_of(run.model, asked)
    with edit:
        after_TW = logits_of(run.model, asked)
    return difference(asked, before_TW, after_TW)


def difference(asked: Probe, before_TW: Tensor, after_TW: Tensor) -> Change:
    """The same between answers that were already given."""
    rows = torch.tensor(asked.asked, device=before_TW.device)
    before_NW, after_NW = before_TW[rows], after_TW[rows]
    best_N = before_NW.argmax(-1)
    expected_N = torch.tensor(asked.expected, device=rows.device)[rows]
    wanted_N = torch.where(expected_N == UNKNOWN, best_N, expected_N)
    return Change(
        moved=float(total_variation(before_NW, after_NW).mean()),
        loss_before=float(functional.cross_entropy(before_NW, wanted_N)),
        loss_after=float(functional.cross_entropy(after_NW, wanted_N)),
        said_before=tuple(map(asked.choice, best_N.tolist())),
        said_after=tuple(map(asked.choice, after_NW.argmax(-1).tolist())),
    )


def total_variation(one_NW: Tensor, other_NW: Tensor) -> Tensor:
    """Half the sum of absolute differences of the two distributions, by row of logits."""
    return (one_NW.softmax(-1) - other_NW.softmax(-1)).abs().sum(-1) / 2
