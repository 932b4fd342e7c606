"""Muon: momentum whose direction is orthogonalised, for weight matrices; AdamW for everything else.

torch has a Muon of its own; it orthogonalises one matrix at a time in bfloat16, which many CPUs emulate. Here
matrices of one shape are orthogonalised together in the precision of the weights.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import torch
from pydantic import Field
from torch import Tensor, nn

from regard.training.optimizers import AdamWConfig, Optimizers


def orthogonalise(matrices_NAB: Tensor, iterations: int = 5) -> Tensor:
    """The nearest (semi-)orthogonal matrices, roughly: a quintic Newton–Schulz iteration (Jordan et al. 2024)."""
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = matrices_NAB.shape[-2] > matrices_NAB.shape[-1]
    x = matrices_NAB.mT if tall else matrices_NAB
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(iterations):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if tall else x


class Muon(torch.optim.Optimizer):
    """Steps along the orthogonalised momentum, scaled to the size of an Adam step (Liu et al. 2025, eq. 4)."""

    def __init__(self, matrices: Iterable[nn.Parameter], lr: float, momentum: float, weight_decay: float) -> None:
        super().__init__(matrices, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[nn.Parameter]] = defaultdict(list)
            for parameter in group["params"]:
                if parameter.grad is not None:
                    by_shape[parameter.shape].append(parameter)
            for parameters in by_shape.values():
                self._step_together(parameters, group)

    def _step_together(self, parameters: list[nn.Parameter], group: dict[str, Any]) -> None:
        directions = []
        for parameter in parameters:
            state = self.state[parameter]
            if "momentum" not in state:
                state["momentum"] = torch.zeros_like(parameter)
            gradient: Tensor = parameter.grad  # type: ignore[assignment]
            state["momentum"].lerp_(gradient, 1 - group["momentum"])
            directions.append(gradient.lerp(state["momentum"], group["momentum"]))  # Nesterov's look ahead
        scale = 0.2 * max(parameters[0].shape) ** 0.5
        for parameter, direction in zip(parameters, orthogonalise(torch.stack(directions)), strict=True):
            parameter.mul_(1 - group["lr"] * group["weight_decay"])
            parameter.add_(direction, alpha=-group["lr"] * scale)


class MuonConfig(AdamWConfig):
    """Muon for the matrices inside a model, AdamW for embeddings, norms and biases, at one learning rate."""

    kind: str = "muon"
    momentum: float = Field(0.95, ge=0, lt=1)

    def build(self, model: nn.Module, rate: float) -> Optimizers:
        embeddings = {id(weight) for name, weight in model.named_parameters() if is_embedding(name)}
        trained = [weight for weight in model.parameters() if weight.requires_grad]
        matrices = [weight for weight in trained if weight.dim() == 2 and id(weight) not in embeddings]
        chosen = {id(weight) for weight in matrices}
        others = [weight for weight in trained if id(weight) not in chosen]
        return Optimizers(
            [Muon(matrices, rate, self.momentum, self.weight_decay), self.over(torch.optim.AdamW, others, rate)]
        )


def is_embedding(name: str) -> bool:
    """Tables that are looked up, not multiplied: their rows have nothing to be orthogonal to."""
    return "embedding" in name or name.startswith("head.") or "table_" in name or "bias_" in name
