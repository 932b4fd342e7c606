"""Routing: which experts a position is sent to, with which weights, and the way there and back in sorted order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

Scores = Literal["softmax", "sigmoid"]


@dataclass(frozen=True, slots=True)
class Rules:
    """How experts are chosen: so many ``active`` of all, in ``active_groups`` of ``groups`` groups.

    A group counts as much as its ``group_best`` best experts together. Weights are ``scores``, which sum to 1 over the
    chosen experts where they are normalised, times ``scale``.
    """

    active: int
    scores: Scores = "softmax"
    normalised: bool = True
    scale: float = 1.0
    groups: int = 1
    active_groups: int = 1
    group_best: int = 1

    def scores_of(self, logits_NE: Tensor) -> Tensor:
        return logits_NE.sigmoid() if self.scores == "sigmoid" else logits_NE.softmax(-1)

    def chosen(self, preferences_NE: Tensor) -> Tensor:
        """experts_NU: the numbers of the most preferred experts in the most preferred groups."""
        if self.active_groups < self.groups:
            grouped_NGC = preferences_NE.unflatten(-1, (self.groups, -1))
            best_NG = grouped_NGC.topk(self.group_best, dim=-1).values.sum(-1)
            open_NG = torch.zeros_like(best_NG, dtype=torch.bool)
            open_NG = open_NG.scatter(-1, best_NG.topk(self.active_groups, dim=-1).indices, True)
            preferences_NE = grouped_NGC.masked_fill(~open_NG[..., None], -torch.inf).flatten(-2)
        return preferences_NE.topk(self.active, dim=-1).indices

    def weights(self, scores_NE: Tensor, experts_NU: Tensor) -> Tensor:
        """weights_NU of the chosen experts."""
        weights_NU = scores_NE.gather(-1, experts_NU)
        if self.normalised:
            weights_NU = weights_NU / (weights_NU.sum(-1, keepdim=True) + 1e-20)
        return weights_NU * self.scale


@dataclass(frozen=True, slots=True)
class Route:
    """The way of all positions to their experts and back: one row for each position and each of its experts.

    ``order_M`` lists them expert by expert, as numbers in experts_NU read row by row; ``inverse_M`` says where each of
    those went.
    """

    order_M: Tensor
    inverse_M: Tensor
    counts: tuple[int, ...]
    active: int

    @classmethod
    def of(cls, experts_NU: Tensor, experts: int) -> Route:
        flat_M = experts_NU.flatten()
        order_M = flat_M.argsort(stable=True)
        inverse_M = torch.empty_like(order_M)
        inverse_M[order_M] = torch.arange(len(order_M), device=order_M.device)
        counts = torch.bincount(flat_M, minlength=experts).tolist()
        return cls(order_M, inverse_M, tuple(counts), experts_NU.shape[1])

    def there(self, x_ND: Tensor) -> Tensor:
        """x_MD, expert by expert."""
        return _There.apply(x_ND, self)

    def back(self, y_MD: Tensor, weights_NU: Tensor) -> Tensor:
        """y_ND: of each position the answers of its experts, weighted and added."""
        return _Back.apply(y_MD, weights_NU, self)


class _There(torch.autograd.Function):
    """A position is copied for each of its experts; their gradients are added in the order of the experts chosen."""

    @staticmethod
    def forward(ctx: Any, x_ND: Tensor, route: Route) -> Tensor:
        ctx.route = route
        return x_ND.index_select(0, route.order_M // route.active)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dx_MD: Tensor) -> tuple[Tensor, None]:
        route = ctx.route
        return dx_MD.index_select(0, route.inverse_M).unflatten(0, (-1, route.active)).sum(1), None


class _Back(torch.autograd.Function):
    """y = Σ w_u y_u; dy_u = w_u dy and dw_u = y_u · dy."""

    @staticmethod
    def forward(ctx: Any, y_MD: Tensor, weights_NU: Tensor, route: Route) -> Tensor:
        ctx.save_for_backward(y_MD, weights_NU)
        ctx.route = route
        y_NUD = y_MD.index_select(0, route.inverse_M).unflatten(0, (-1, route.active))
        return y_NUD.mul_(weights_NU.to(y_MD.dtype)[..., None]).sum(1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy_ND: Tensor) -> tuple[Tensor, Tensor, None]:
        y_MD, weights_NU = ctx.saved_tensors
        route = ctx.route
        dy_MD = dy_ND.index_select(0, route.order_M // route.active)
        dweights_M = torch.linalg.vecdot(y_MD, dy_MD).to(weights_NU.dtype)
        dy_MD = dy_MD.mul_(weights_NU.flatten()[route.order_M].to(dy_MD.dtype)[:, None])
        return dy_MD, dweights_M[route.inverse_M].view_as(weights_NU), None
