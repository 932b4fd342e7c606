"""What heads read of a picture: heat over its patches, and how far from patch to patch they look.

The mean distance of a head is that of Dosovitskiy et al. 2021 (figure 7): from a patch to those that it reads, weighted
by how much, counted in patches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from regard.core.inputs import Axis
from regard.core.probe import Probe
from regard.core.taps import Attention
from regard.inspection.heads.names import HeadAt, every_head
from regard.inspection.heads.statistics import CLEAR, EVEN, RESTING, percent

NEAR = 0.6  # of the distance that an even look has; below, a head stays near


def reader_of(axis: Axis) -> str:
    """Whose attention is drawn where nobody chooses: the class token's, or that of all patches on average."""
    return "the class token" if axis.extra else "all patches on average"


def heat(weights_TS: np.ndarray, axis: Axis) -> np.ndarray:
    """heat_RC: how much of each patch is read by the class token, or by all patches on average."""
    row_S = weights_TS[0] if axis.extra else weights_TS.mean(0)
    return row_S[axis.extra :].reshape(axis.shape)


def distances(shape: Sequence[int]) -> np.ndarray:
    """distance_NN between the patches of a grid, in patches."""
    places_NA = np.indices(tuple(shape)).reshape(len(shape), -1).T
    return np.linalg.norm(places_NA[:, None] - places_NA[None, :], axis=-1)


@dataclass(frozen=True)
class PatchStatistics:
    """Means over all positions of all pictures; ``even_distance`` is that of a head that reads all patches alike."""

    name: str
    head: int
    entropy: float  # bits
    evenness: float  # of the most that it could be; 1: everything read alike
    distance: float  # patches
    same: float  # share of the weight on the patch itself
    class_token: float  # and on the class token
    even_distance: float

    @property
    def sentence(self) -> str:
        return f"Head {self.head} of {self.name} {self._doing}."

    @property
    def _doing(self) -> str:
        far, many = f"{self.distance:.1f} patches away on average", f"about {2**self.entropy:.0f} patches"
        if self.class_token >= RESTING:
            return f"rests: {percent(self.class_token)} of its weight lie on the class token"
        if self.evenness > EVEN:
            return f"reads everything alike ({percent(self.evenness)} of the highest entropy)"
        if self.same >= CLEAR:
            return f"reads the patch itself, with {percent(self.same)} of its weight"
        if self.distance < NEAR * self.even_distance:
            return f"stays near: it reads {many} at once, {far} ({self.even_distance:.1f} would be even)"
        return f"looks across the picture: it reads {many} at once, {far}"

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "sentence": self.sentence}


def measured(weights_TS: np.ndarray, axis: Axis) -> dict[str, float]:
    """The figures of one head on one picture."""
    patches_NN = weights_TS[axis.extra :, axis.extra :]
    read_N = np.maximum(patches_NN.sum(1), 1e-30)
    entropy = float(-(weights_TS * np.log2(np.maximum(weights_TS, 1e-30))).sum(1).mean())
    return {
        "entropy": entropy,
        "evenness": entropy / max(float(np.log2(weights_TS.shape[1])), 1e-30),
        "distance": float(((patches_NN * distances(axis.shape)).sum(1) / read_N).mean()),
        "same": float(np.diagonal(patches_NN).mean()),
        "class_token": float(weights_TS[:, : axis.extra].sum(1).mean()),
    }


class PatchTable:
    """The statistics of all heads, added up picture by picture as their passes are recorded."""

    def __init__(self, model: nn.Module, asked: Sequence[Probe]) -> None:
        self.sums: dict[HeadAt, dict[str, float]] = {place: {} for place in every_head(model)}
        self.pictures, self.even_distance = 0, 0.0

    @torch.inference_mode()
    def add(self, asked: Probe, seen: Mapping[str, Attention]) -> None:
        """What never forms weights has no statistics."""
        self.pictures += 1
        self.even_distance += float(distances(asked.axis.shape).mean())
        for name, attention in seen.items():
            if not attention.mechanism.has_matrix:
                continue
            for head, weights_TS in enumerate(attention.weights[0].cpu().double().numpy()):
                sums = self.sums[name, head]
                for what, value in measured(weights_TS, asked.axis).items():
                    sums[what] = sums.get(what, 0.0) + value

    def statistics(self) -> list[PatchStatistics]:
        return [
            PatchStatistics(
                name=name,
                head=head,
                entropy=sums["entropy"] / self.pictures,
                evenness=sums["evenness"] / self.pictures,
                distance=sums["distance"] / self.pictures,
                same=sums["same"] / self.pictures,
                class_token=sums["class_token"] / self.pictures,
                even_distance=self.even_distance / self.pictures,
            )
            for (name, head), sums in self.sums.items()
            if sums
        ]
