"""Performer: softmax attention approximated by random features, at linear cost."""

from __future__ import annotations

import math

import torch
from pydantic import Field
from torch import Tensor, nn

from regard.attention import AttentionContext, MechanismPart
from regard.attention.mechanisms.linear import LinearAttention
from regard.core.seams import Mechanism

LARGEST = 60.0  # exponents stay below: two such features and a long sum still fit into float32


class RandomFeatures(nn.Module):
    """f(x) = exp(Wx − |x|²/2)/√m of x = key / d_k^¼, so that E f(q)·f(k) = exp(q·k/√d_k): FAVOR+.

    Choromanski et al. 2021, lemma 1 (positive features) and section 2.4 (orthogonal rows, whose lengths are those of
    Gaussian vectors). A factor that all features of a query share cancels out, so that its largest exponent is set to
    0; of the keys nothing is subtracted that depends on them, since other keys, later ones too, would then have a say.
    """

    directions_RK: Tensor

    def __init__(self, width: int, features: int) -> None:
        super().__init__()
        self.register_buffer("directions_RK", orthogonal_rows(features, width))

    @property
    def limit(self) -> float:
        """What is subtracted from all exponents of keys, so that none overflows: 0 for heads of usual width."""
        longest = float(self.directions_RK.square().sum(-1).max())
        return max(0.0, longest / 2 - LARGEST)

    def redraw(self, generator: torch.Generator | None = None) -> None:
        """Other random directions; what was learned with the old ones still holds on the average."""
        features, width = self.directions_RK.shape
        self.directions_RK.copy_(orthogonal_rows(features, width, generator))

    def queries(self, q_BHTK: Tensor) -> Tensor:
        exponents_BHTR = self._projected(q_BHTK)
        return torch.exp(exponents_BHTR - exponents_BHTR.detach().amax(-1, keepdim=True))

    def keys(self, k_BHSK: Tensor) -> Tensor:
        half_BHS1 = k_BHSK.square().sum(-1, keepdim=True) / (2 * math.sqrt(k_BHSK.shape[-1]))
        return torch.exp(self._projected(k_BHSK) - half_BHS1 - self.limit)

    def _projected(self, x_BHTK: Tensor) -> Tensor:
        return (x_BHTK * x_BHTK.shape[-1] ** -0.25) @ self.directions_RK.to(x_BHTK.dtype).mT


def orthogonal_rows(rows: int, width: int, generator: torch.Generator | None = None) -> Tensor:
    """rows_RK in blocks of orthogonal ones, as long as Gaussian vectors are."""
    blocks = []
    for _ in range(-(-rows // width)):
        square_KK, upper_KK = torch.linalg.qr(torch.randn(width, width, generator=generator))
        blocks.append(square_KK * upper_KK.diagonal().sign())  # without the signs, not every rotation is as likely
    lengths_R1 = torch.randn(rows, width, generator=generator).norm(dim=-1, keepdim=True)
    return torch.cat([block_KK.mT for block_KK in blocks])[:rows] * lengths_R1


@torch.no_grad()
def redraw_features(model: nn.Module, generator: torch.Generator | None = None) -> int:
    """Draws new random features in every Performer layer of a model; how many there were."""
    found = [module for module in model.modules() if isinstance(module, RandomFeatures)]
    for module in found:
        module.redraw(generator)
    return len(found)


class PerformerConfig(MechanismPart):
    """Linear attention over so many random features of each query and key.

    The error of an answer falls with 1/√features, and grows quickly with the length of queries and keys; a model that
    is trained with it learns to keep those short. Features are drawn once and kept with the weights
    (``redraw_features`` draws others); the original redraws during training.
    """

    kind: str = "performer"
    features: int = Field(128, ge=1)

    def build(self, context: AttentionContext) -> Mechanism:
        return LinearAttention(RandomFeatures(context.query_width, self.features))
