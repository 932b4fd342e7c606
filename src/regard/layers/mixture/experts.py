"""A mixture of experts: many gated networks, of which every position is sent to a few."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Self

import torch
from pydantic import Field, SerializeAsAny, model_validator
from torch import Tensor, nn

from regard.core import rules
from regard.core.auto import AUTO, Auto, decided
from regard.core.penalties import add_penalty, is_collecting, is_counting
from regard.layers import BALANCES, BalancePart, FeedForwardPart
from regard.layers.dropout import Dropout
from regard.layers.feed_forward import ACTIVATIONS, Activation, GatedFeedForward, GatedFeedForwardConfig, HiddenPart
from regard.layers.mixture.balance import Balance, Routed
from regard.layers.mixture.grouped_products import grouped_linear
from regard.layers.mixture.routing import Route, Rules, Scores

MOST_LISTED = 64  # experts of a layer whose loads are written one by one


class Experts(nn.Module):
    """y = Σ over the chosen experts of w_i FFN_i(x), and the shared experts' answer (Shazeer et al. 2017; DeepSeekMoE,
    Dai et al. 2024; groups and sigmoid scores: DeepSeek-V3, section 2.1.2).

    Every position gets all the experts that it chooses: nothing is dropped, however many choose the same. The scores
    are computed in single precision. ``inner`` holds W₁ and W₃ of all experts on one another, ``outer`` their W₂; both
    are layers for their weights alone, which are multiplied in groups. The shared experts are one network as wide as
    all of them.
    """

    reads_lengths = True

    def __init__(
        self,
        width: int,
        hidden_width: int,
        experts: int,
        routing: Rules,
        balance: Balance,
        activation: Callable[[Tensor], Tensor],
        dropout: float = 0.0,
        shared: int = 0,
    ) -> None:
        super().__init__()
        self.experts, self.hidden_width, self.rules = experts, hidden_width, routing
        self.router = nn.Linear(width, experts, bias=False)
        self.inner = nn.Linear(width, experts * 2 * hidden_width, bias=False)
        self.activation = activation
        self.dropout = Dropout(dropout)
        self.outer = nn.Linear(hidden_width, experts * width, bias=False)
        self.shared = GatedFeedForward(width, shared * hidden_width, activation, dropout) if shared else None
        self.balance = balance
        halves = self.inner.weight.split(hidden_width)
        for weight in (self.router.weight, *halves, *self.outer.weight.chunk(experts)):
            nn.init.xavier_uniform_(weight)
        self._start_counting()

    def forward(self, x_BTD: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        """Of each row the first ``lengths_B`` positions are there: the others get no expert and answer 0."""
        return self._by_all(x_BTD) if torch.compiler.is_exporting() else self._sorted(x_BTD, lengths_B)

    def _sorted(self, x_BTD: Tensor, lengths_B: Tensor | None) -> Tensor:
        flat_ND = x_BTD.flatten(0, -2)
        sequences_N = torch.arange(len(x_BTD), device=x_BTD.device).repeat_interleave(x_BTD.shape[1])
        there_BT = there(lengths_B, x_BTD.shape[1])
        if there_BT is not None:
            real_N = there_BT.flatten().nonzero()[:, 0]
            flat_ND, sequences_N = flat_ND.index_select(0, real_N), sequences_N[real_N]
        scores_NE = self._scores(flat_ND)
        experts_NU = self.rules.chosen(self.balance.preferences(scores_NE.detach()))
        route = Route.of(experts_NU, self.experts)
        if is_collecting():
            add_penalty(self.balance.penalty(Routed(scores_NE, experts_NU, sequences_N, len(x_BTD))))
            if self.training and is_counting():
                self._count(scores_NE.detach(), route)
        answers_MD = self._answers(route.there(flat_ND), route)
        y_ND = route.back(answers_MD, self.rules.weights(scores_NE, experts_NU))
        if there_BT is not None:
            y_ND = y_ND.new_zeros(there_BT.numel(), y_ND.shape[-1]).index_copy(0, real_N, y_ND)
        return self._with_shared(y_ND.view_as(x_BTD), x_BTD, there_BT)

    def _with_shared(self, y_BTD: Tensor, x_BTD: Tensor, there_BT: Tensor | None) -> Tensor:
        if self.shared is None:
            return y_BTD
        shared_BTD = self.shared(x_BTD)
        return y_BTD + (shared_BTD if there_BT is None else shared_BTD.masked_fill(~there_BT[..., None], 0.0))

    def _scores(self, x_ND: Tensor) -> Tensor:
        with torch.autocast(x_ND.device.type, enabled=False):
            return self.rules.scores_of(self.router(x_ND.to(self.router.weight.dtype)).float())

    def _answers(self, x_MD: Tensor, route: Route) -> Tensor:
        """answers_MD of rows that stand expert by expert."""
        inner_MF = grouped_linear(x_MD, self.inner.weight.unflatten(0, (self.experts, -1)), route.counts)
        gate_MF, open_MF = inner_MF.chunk(2, dim=-1)
        hidden_MF = self.dropout(self.activation(gate_MF) * open_MF)
        return grouped_linear(hidden_MF, self.outer.weight.unflatten(0, (self.experts, -1)), route.counts)

    def _by_all(self, x_BTD: Tensor) -> Tensor:
        """The same number by every expert at every position: a graph that serves any data cannot sort."""
        flat_ND = x_BTD.flatten(0, -2)
        scores_NE = self._scores(flat_ND)
        weights_NE = self.weights_of(scores_NE)
        gate_NEF, open_NEF = self.inner(flat_ND).unflatten(-1, (self.experts, 2, -1)).unbind(-2)
        hidden_NEF = self.activation(gate_NEF) * open_NEF * weights_NE[..., None].to(flat_ND.dtype)
        outer_EDF = self.outer.weight.unflatten(0, (self.experts, -1))
        y_ND = hidden_NEF.flatten(1) @ outer_EDF.transpose(1, 2).flatten(0, 1)
        return self._with_shared(y_ND.view_as(x_BTD), x_BTD, None)

    def weights_of(self, scores_NE: Tensor) -> Tensor:
        """weights_NE, 0 for experts that are not chosen."""
        experts_NU = self.rules.chosen(self.balance.preferences(scores_NE))
        return torch.zeros_like(scores_NE).scatter(-1, experts_NU, self.rules.weights(scores_NE, experts_NU))

    # -- what a step counts ---------------------------------------------------------------------------------

    def _start_counting(self) -> None:
        self._load, self._entropy, self._positions = [0] * self.experts, 0.0, 0

    def _count(self, scores_NE: Tensor, route: Route) -> None:
        self._load = [before + count for before, count in zip(self._load, route.counts, strict=True)]
        self._entropy += float(entropy(scores_NE / (scores_NE.sum(-1, keepdim=True) + 1e-20)).sum())
        self._positions += len(scores_NE)

    def step_counts(self) -> dict[str, float]:
        load = {f"load.{expert}": float(count) for expert, count in enumerate(self._load)}
        return {**load, "entropy": self._entropy, "positions": float(self._positions)}

    def end_step(self, counts: Mapping[str, float]) -> dict[str, float]:
        """Shares of the load, 1 being an equal share, and entropies, 1 being the highest."""
        self._start_counting()
        load_E = torch.tensor([counts[f"load.{expert}"] for expert in range(self.experts)], dtype=torch.float64)
        if not counts["positions"]:
            return {}
        self.balance.end_step(load_E)
        shares_E, highest = load_E / load_E.mean(), math.log(max(self.experts, 2))
        found = {
            "load_lowest": float(shares_E.min()),
            "load_highest": float(shares_E.max()),
            "load_entropy": float(entropy(load_E / load_E.sum())) / highest,
            "router_entropy": counts["entropy"] / counts["positions"] / highest,
        }
        if self.experts <= MOST_LISTED:
            found |= {f"load.{expert}": share for expert, share in enumerate(shares_E.tolist())}
        return found

    # -- what initialisation and optimisers ask -------------------------------------------------------------

    def residual_outputs(self) -> tuple[nn.Linear, ...]:
        return (self.outer,)  # the shared network says its own

    def stacked_matrices(self) -> dict[Tensor, tuple[int, ...]]:
        width = self.outer.out_features // self.experts
        return {
            self.inner.weight: (self.hidden_width,) * (2 * self.experts),
            self.outer.weight: (width,) * self.experts,
        }


def there(lengths_B: Tensor | None, positions: int) -> Tensor | None:
    """there_BT, or None where all positions are."""
    if lengths_B is None or bool((lengths_B >= positions).all()):
        return None
    return torch.arange(positions, device=lengths_B.device) < lengths_B[:, None]


def entropy(shares: Tensor) -> Tensor:
    """−Σ p log p over the last axis."""
    return torch.special.entr(shares).sum(-1)


class ExpertsConfig(HiddenPart):
    """``active`` of ``experts`` gated networks for every position, each ``width`` wide, and ``shared`` ones for all.

    By default as Mixtral (Jiang et al. 2024): softmax, weights that sum to 1. The first ``dense`` layers of a stack
    have one network for all positions, ``dense_width`` wide.
    """

    network: ClassVar[type[nn.Module]] = Experts
    hands_over: ClassVar[bool] = True

    kind: str = "experts"
    experts: int = Field(8, ge=1)
    active: int = Field(2, ge=1)  # experts of a position
    activation: Activation = "silu"
    scores: Scores = "softmax"
    normalised: bool = True  # whether the weights of a position's experts sum to 1
    scale: float = Field(1.0, gt=0)  # of these weights, after that
    groups: int = Field(1, ge=1)  # of experts, equally large
    active_groups: int = Field(1, ge=1)  # groups in which the experts of one position may be
    group_best: int = Field(1, ge=1)  # so many of a group's best scores, added, are the group's
    shared: int = Field(0, ge=0)  # experts of every position, beside the active ones
    dense: int = Field(0, ge=0)  # first layers without experts
    dense_width: Annotated[int, Auto(ge=1)] = AUTO
    balance: Annotated[SerializeAsAny[BalancePart], BALANCES] = Field(default_factory=BALANCES.make)

    def unused(self) -> Mapping[str, str]:
        found = {} if self.dense else {"dense_width": "with dense = 0 every layer has experts"}
        if self.active_groups == self.groups:
            found["group_best"] = "every group is active, so that none of them is chosen"
        return found

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.active > self.experts:
            raise ValueError(f"{self.active} active experts of {self.experts} are too many; lower active")
        if self.experts % self.groups:
            raise ValueError(f"{self.experts} experts do not divide into {self.groups} groups; change one of them")
        size = self.experts // self.groups
        if self.active_groups > self.groups:
            raise ValueError(f"{self.active_groups} active groups of {self.groups} are too many; lower active_groups")
        if self.active > self.active_groups * size:
            raise ValueError(
                f"{self.active_groups} groups of {size} experts have no {self.active} active ones; raise active_groups"
            )
        if self.group_best > size:
            raise ValueError(f"group_best = {self.group_best}, but a group has {size} experts; lower it")
        return self

    def usual_width(self, model_width: int) -> int:
        """All active experts together are as wide as one network would be."""
        return max(1, rules.gated_hidden_width(model_width) // (self.active + self.shared))

    def settled(self, model_width: int) -> Self:
        dense = decided(self.dense_width, lambda: rules.gated_hidden_width(model_width))
        return super().settled(model_width).model_copy(update={"dense_width": dense})

    def at_layer(self, layer: int) -> FeedForwardPart:
        if layer >= self.dense:
            return self
        return GatedFeedForwardConfig(kind="gated", width=self.dense_width, activation=self.activation)

    def routing(self) -> Rules:
        return Rules(
            self.active, self.scores, self.normalised, self.scale, self.groups, self.active_groups, self.group_best
        )

    def build(self, model_width: int, dropout: float) -> nn.Module:
        width, balance = self.settled(model_width).width, self.balance.build(self.experts)
        activation: Any = ACTIVATIONS[self.activation]
        return Experts(model_width, width, self.experts, self.routing(), balance, activation, dropout, self.shared)
