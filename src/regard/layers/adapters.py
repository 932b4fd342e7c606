"""LoRA: instead of a matrix, a low-rank change to it is trained (Hu et al. 2022)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.utils import parametrize

from regard.core.config import Config
from regard.core.errors import OptionError
from regard.layers.headed import Headed

UNCHANGED, CHANGE_A, CHANGE_B = (f".parametrizations.weight.{own}" for own in ("original", "0.a_RD", "0.b_DR"))
"""How torch names a matrix with a change on it."""


LARGEST_RANK = 4096  # changes of a higher one are larger than the matrices


class AdapterConfig(Config):
    """W + (α / rank) B A for every linear layer whose name matches; rank 0: no adapters, all weights are trained."""

    rank: int = Field(0, ge=0, le=LARGEST_RANK)
    alpha: float = Field(16.0, gt=0)
    targets: tuple[str, ...] = ("*.project", "*.project_query", "*.project_memory", "*.output")
    merge: bool = True  # at the end of training W takes the change in, and the run is one like any other

    def unused(self) -> dict[str, str]:
        if self.rank:
            return {}
        return dict.fromkeys(("alpha", "targets", "merge"), "with rank = 0 there are no adapters (rank = 8 makes some)")


class LowRankChange(nn.Module):
    """W ↦ W + (α / r) B A. A starts at random and B at 0: at first nothing changes."""

    def __init__(self, weight: Tensor, rank: int, alpha: float) -> None:
        super().__init__()
        rows, columns = weight.shape
        self.a_RD = nn.Parameter(torch.randn(rank, columns, device=weight.device) * columns**-0.5)
        self.b_DR = nn.Parameter(torch.zeros(rows, rank, device=weight.device))
        self.scale = alpha / rank

    def forward(self, weight: Tensor) -> Tensor:
        return torch.addmm(weight, self.b_DR, self.a_RD, alpha=self.scale)


def add_adapters(model: nn.Module, config: AdapterConfig) -> list[str]:
    """Hangs a change on every matching layer of the body and freezes all else in it; returns the layers' names."""
    if not config.rank:
        return []
    body = model.body if isinstance(model, Headed) else model
    linear = {name: module for name, module in body.named_modules() if isinstance(module, nn.Linear)}
    chosen = [name for name in linear if matches(name, config.targets)]
    if not chosen:
        raise OptionError(
            f"no linear layer is called {' or '.join(config.targets)}; there are: {', '.join(linear) or 'none'}"
        )
    for parameter in body.parameters():
        parameter.requires_grad_(False)
    for name in chosen:
        layer = linear[name]
        parametrize.register_parametrization(layer, "weight", LowRankChange(layer.weight, config.rank, config.alpha))
    return chosen


def merge_adapters(model: nn.Module) -> int:
    """Every changed matrix becomes an ordinary one that holds the change; returns how many there were."""
    changed = [module for module in model.modules() if parametrize.is_parametrized(module, "weight")]
    for module in changed:
        parametrize.remove_parametrizations(module, "weight", leave_parametrized=True)
    return len(changed)


def merged_weights(weights: Mapping[str, Tensor], alpha: float) -> dict[str, Tensor]:
    """Weights from a file, every change taken into its matrix under the matrix's plain name."""
    plain = dict(weights)
    for name in weights:
        if name.endswith(UNCHANGED):
            layer = name.removesuffix(UNCHANGED)
            weight_DE, a_RE, b_DR = (plain.pop(layer + part) for part in (UNCHANGED, CHANGE_A, CHANGE_B))
            plain[f"{layer}.weight"] = torch.addmm(weight_DE, b_DR, a_RE, alpha=alpha / len(a_RE))
    return plain


def matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
