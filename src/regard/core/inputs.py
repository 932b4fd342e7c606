"""What travels between a modality, a front, a body and a head: inputs, embeddings and states with their lengths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Inputs:
    """One collated side of a batch."""

    values: Tensor  # tokens_BN, arrays_BC… (pictures_BCHW: raw, not yet cut), nodes_BNC
    lengths_B: Tensor  # how many positions of each row are real; for arrays: how many steps along the first axis
    segments_BN: Tensor | None = None
    places_BNA: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Embedded:
    """What a front makes of inputs."""

    x_BND: Tensor
    lengths_B: Tensor
    places_BNA: Tensor | None = None
    segments_BN: Tensor | None = None


@dataclass(frozen=True, slots=True)
class States:
    """What a body makes of inputs; ``penalty`` is what its layers add to the loss."""

    x_BND: Tensor
    lengths_B: Tensor
    penalty: Tensor | None = None
