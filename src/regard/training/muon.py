"""Muon: momentum whose direction is orthogonalised, for weight matrices; AdamW for everything else.

torch has a Muon of its own; it orthogonalises one matrix at a time in bfloat16, which many CPUs emulate. Here
matrices of one shape are orthogonalised together, in narrow numbers only where training multiplies in them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from pydantic import Field
from torch import Tensor, nn

from regard.core import rules
from regard.core.precision import narrow_type, repeated_products
from regard.core.seams.modules import StacksMatrices
from regard.training.optimizers import AdamWConfig, Optimizers

POLYNOMIALS = ((7.7110, -22.1138, 16.2487), (3.2153, -2.4112, 0.5013), (2.2183, -1.5940, 0.4107))
"""a, b, c of σ ← aσ + bσ³ + cσ⁵, one after the other: singular values from 0.02 to 1 become 1 ± 0.1.

One polynomial for every iteration (Jordan et al. 2024) takes more of them; that each should be the best for where the
one before it leaves the values was shown by Amsel et al. (2025), and so these were computed.
"""


def orthogonalise(matrices_NAB: Tensor) -> Tensor:
    """The nearest (semi-)orthogonal matrices, nearly: X ← (aI + bXXᵀ + c(XXᵀ)²) X, a few times.

    ‖(XXᵀ)²‖^¼ = (Σ σ⁸)^⅛ is a much closer bound of the largest singular value than ‖X‖ = (Σ σ²)^½, by which X would
    have to be divided without it, and that product is there already when the first polynomial is made.
    """
    tall = matrices_NAB.shape[-2] > matrices_NAB.shape[-1]
    x = matrices_NAB.mT if tall else matrices_NAB
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)  # so that small gradients have an eighth power
    narrow = narrow_type(x.device.type)
    with torch.autocast(x.device.type, enabled=False):
        if x.shape[-1] >= 2 * x.shape[-2]:
            x = iterate_on_gram(x)
        else:
            x = iterate_directly(x.to(narrow or x.dtype)).to(x.dtype)
    return x.mT if tall else x


def iterate_directly(x_NAB: Tensor) -> Tensor:
    """X itself is multiplied by each polynomial: three products a time.

    Narrow ones serve: from σ = 0.03 on the values become 1 ± 0.25, and the whole is some 3 % off.
    """
    gram = x_NAB @ x_NAB.mT
    square = gram @ gram
    bound = square.norm(dim=(-2, -1), keepdim=True).sqrt() + 1e-7  # of σ²
    x_NAB = x_NAB / bound.sqrt()
    a, b, c = POLYNOMIALS[0]
    x_NAB = torch.baddbmm(x_NAB, square.mul_(c / bound.square()).add_(gram.div_(bound), alpha=b), x_NAB, beta=a)
    for a, b, c in POLYNOMIALS[1:]:
        gram = x_NAB @ x_NAB.mT
        x_NAB = torch.baddbmm(x_NAB, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x_NAB, beta=a)
    return x_NAB


def iterate_on_gram(x_NAB: Tensor) -> Tensor:
    """The factors are gathered from G = XXᵀ alone, which is small where a matrix is wide, and X is multiplied once.

    G has squares of singular values, which narrow numbers could not tell apart.
    """
    gram = x_NAB @ x_NAB.mT
    square = gram @ gram
    bound = square.norm(dim=(-2, -1), keepdim=True).sqrt() + 1e-7  # of σ²
    gram.div_(bound)
    a, b, c = POLYNOMIALS[0]
    factors = factor = add_diagonal(square.mul_(c / bound.square()).add_(gram, alpha=b), a)
    for a, b, c in POLYNOMIALS[1:]:  # each factor is aI + bG + cG², made in the room of G² or in one pass
        gram = factor @ gram @ factor
        factor = add_diagonal(torch.baddbmm(gram, gram, gram, beta=b, alpha=c), a)
        factors = factor @ factors
    return factors.div_(bound.sqrt()) @ x_NAB


def add_diagonal(matrices_NAA: Tensor, number: float) -> Tensor:
    """M ← M + number · I, in place."""
    matrices_NAA.diagonal(dim1=-2, dim2=-1).add_(number)
    return matrices_NAA


class Muon(torch.optim.Optimizer):
    """Steps along the orthogonalised momentum, scaled to the size of an Adam step (Liu et al. 2025, eq. 4).

    ``stacked`` tells of how many rows the matrices are that stand on one another in a parameter (W_q, W_k, W_v):
    each is orthogonalised by itself, for together they would share one set of directions.
    """

    def __init__(
        self,
        matrices: Iterable[nn.Parameter],
        lr: float,
        momentum: float,
        weight_decay: float,
        stacked: Mapping[Tensor, Sequence[int]] = MappingProxyType({}),
    ) -> None:
        super().__init__(matrices, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})
        self.stacked = stacked

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[tuple[Tensor, Tensor]]] = defaultdict(list)
            for parameter in group["params"]:
                if parameter.grad is not None:
                    rows = self.stacked.get(parameter, len(parameter))
                    direction = self._direction(parameter, parameter.grad, group["momentum"])
                    for matrix, own in zip(parameter.split(rows), direction.split(rows), strict=True):
                        by_shape[matrix.shape].append((matrix, own))
            for shape, pairs in by_shape.items():
                size = 0.2 * max(shape) ** 0.5
                matrices, directions = zip(*pairs, strict=True)
                torch._foreach_mul_(matrices, 1 - group["lr"] * group["weight_decay"])
                with repeated_products():
                    steps = orthogonalise(torch.stack(directions)).unbind()
                torch._foreach_add_(matrices, steps, alpha=-group["lr"] * size)

    def _direction(self, parameter: nn.Parameter, gradient: Tensor, momentum: float) -> Tensor:
        state = self.state[parameter]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(parameter)
        state["momentum"].lerp_(gradient, 1 - momentum)
        return gradient.lerp(state["momentum"], momentum)  # Nesterov's look ahead


class MuonConfig(AdamWConfig):
    """Muon for the matrices inside a model, AdamW for embeddings, norms and biases, at ``others`` times its rate."""

    kind: str = "muon"
    momentum: float = Field(0.95, ge=0, lt=1)
    others: float = Field(1.0, gt=0)

    def learning_rate(self, width: int) -> float:
        return rules.muon_rate(width)

    def build(self, model: nn.Module, rate: float) -> Optimizers:
        embeddings = {id(weight) for name, weight in model.named_parameters() if is_embedding(name)}
        trained = [weight for weight in model.parameters() if weight.requires_grad]
        matrices = [weight for weight in trained if weight.dim() == 2 and id(weight) not in embeddings]
        chosen = {id(weight) for weight in matrices}
        others = [weight for weight in trained if id(weight) not in chosen]
        members: list[torch.optim.Optimizer] = []  # adapters leave nothing for AdamW, norms alone nothing for Muon
        if matrices:
            members.append(Muon(matrices, rate, self.momentum, self.weight_decay, stacked_parameters(model)))
        if others:
            members.append(self.over(torch.optim.AdamW, others, rate * self.others))
        return Optimizers(members)


def stacked_parameters(model: nn.Module) -> dict[Tensor, tuple[int, ...]]:
    """The parameters in which a module says that several matrices stand on one another, with their rows."""
    found: dict[Tensor, tuple[int, ...]] = {}
    for module in model.modules():
        if isinstance(module, StacksMatrices):
            found.update(module.stacked_matrices())
    return found


def is_embedding(name: str) -> bool:
    """Tables that are looked up, not multiplied: their rows have nothing to be orthogonal to."""
    return "embedding" in name or "segments" in name or name.startswith("head.") or "table_" in name or "bias_" in name
