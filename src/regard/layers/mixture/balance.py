"""Balance: what keeps the experts of a mixture equally busy, by a loss or by a bias that moves once a step."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from pydantic import Field
from torch import Tensor, nn

from regard.layers import BalancePart


@dataclass(frozen=True, slots=True)
class Routed:
    """What was decided about positions: their scores, their experts, and the sequence that each is in, of so many."""

    scores_NE: Tensor
    experts_NU: Tensor
    sequences_N: Tensor
    sequences: int


class Balance(nn.Module):
    """Leaves experts as busy as they are; the base of what does not."""

    def preferences(self, scores_NE: Tensor) -> Tensor:
        """By what experts are chosen; their weights stay the scores."""
        return scores_NE

    def penalty(self, routed: Routed) -> Tensor | None:
        """What it adds to the loss, as ``add_penalty`` takes it."""
        return None

    def end_step(self, load_E: Tensor) -> None:
        """How many positions each expert had in the whole step."""


class LossBalance(Balance):
    """α Σ_i f_i P_i for each sequence (DeepSeek-V3, equations 17 to 20; Fedus et al. 2022, equations 4 to 6).

    f_i is the share of the sequence's choices that fell on expert i, times the number of experts, P_i the mean of its
    scores, which sum to 1 at every position. Taken over single sequences, not over a batch as in the Switch
    Transformer, it does not depend on what else stands in the batch. A sequence counts as many times as it has
    positions.
    """

    def __init__(self, weight: float) -> None:
        super().__init__()
        self.weight = weight

    def penalty(self, routed: Routed) -> Tensor | None:
        return self.weight * sequence_imbalance(routed) if self.weight else None


class BiasBalance(LossBalance):
    """A number is added to each expert's score when experts are chosen, not when they are weighed (Wang et al. 2024).

    After a global step it rises by ``rate`` for experts that had less than the mean, and falls for the others,
    however the step was divided. DeepSeek-V3 takes a small loss beside it.
    """

    bias_E: Tensor

    def __init__(self, experts: int, rate: float, weight: float) -> None:
        super().__init__(weight)
        self.rate = rate
        self.register_buffer("bias_E", torch.zeros(experts))

    def preferences(self, scores_NE: Tensor) -> Tensor:
        return scores_NE + self.bias_E

    def end_step(self, load_E: Tensor) -> None:
        self.bias_E += self.rate * (load_E.mean() - load_E).sign().to(self.bias_E)


def sequence_imbalance(routed: Routed) -> Tensor:
    """Σ over sequences of their length times Σ_i f_i P_i, which is 1 where all experts are equally busy."""
    experts, active = routed.scores_NE.shape[1], routed.experts_NU.shape[1]
    shares_NE = routed.scores_NE / (routed.scores_NE.sum(-1, keepdim=True) + 1e-20)
    sums_BE = shares_NE.new_zeros(routed.sequences, experts).index_add(0, routed.sequences_N, shares_NE)
    places_M = (routed.sequences_N[:, None] * experts + routed.experts_NU).flatten()
    chosen_BE = torch.bincount(places_M, minlength=sums_BE.numel()).view_as(sums_BE)
    lengths_B1 = torch.bincount(routed.sequences_N, minlength=routed.sequences)[:, None].clamp(min=1)
    return (chosen_BE * (experts / active) / lengths_B1 * sums_BE).sum()


class NoBalanceConfig(BalancePart):
    """Nothing is done about it."""

    kind: str = "none"

    def build(self, experts: int) -> Balance:
        return Balance()


class LossBalanceConfig(BalancePart):
    """A loss for each sequence."""

    kind: str = "loss"
    weight: float = Field(0.01, ge=0)

    def build(self, experts: int) -> Balance:
        return LossBalance(self.weight)


class BiasBalanceConfig(BalancePart):
    """A bias that moves once a step, and a small loss beside it (0: none)."""

    kind: str = "bias"
    rate: float = Field(0.001, ge=0)
    weight: float = Field(0.0001, ge=0)

    def build(self, experts: int) -> Balance:
        return BiasBalance(experts, self.rate, self.weight)
