"""Numbers for a page: weights in 16 bits that keep three digits at every size, pictures in bytes, vectors as they are.

A weight of 1e-9 is told apart from one of 2e-9, so the steps are even in the logarithm: code c ≥ 2 stands for
exp(start + step · (c − 2)), between a head's smallest and largest weight. Code 0 is exactly 0, code 1 all below FLOOR.
"""

from __future__ import annotations

import base64
import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from torch import Tensor

FLOOR = 1e-20  # from here to 1 the steps are 7e-4 apart, so that none is further than 3.5e-4 from its weight
CODES = 65536
FIRST = 2  # the code of the smallest weight that is told
PICTURE = 44  # squares of a thumbnail, to either side


@dataclass(frozen=True)
class Packed:
    """Codes of a matrix, row by row; of a triangle only what lies on and below the diagonal."""

    codes: np.ndarray
    start: float
    step: float

    @property
    def scale(self) -> dict[str, float]:
        return {"start": self.start, "step": self.step}

    @property
    def text(self) -> str:
        return written(self.codes.astype("<u2"))

    def values(self) -> np.ndarray:
        """What a page shows for them; what is below FLOOR becomes half of it."""
        found = np.exp(self.start + self.step * (self.codes.astype(np.float64) - FIRST))
        return np.where(self.codes == 0, 0.0, np.where(self.codes == 1, FLOOR / 2, found))


def packed(weights_TS: np.ndarray, *, triangle: bool) -> Packed:
    """Weights as codes, each within 3.5e-4 of its size."""
    kept = weights_TS[np.tril_indices(len(weights_TS))] if triangle else weights_TS.reshape(-1)
    kept = kept.astype(np.float64)
    told = kept[kept >= FLOOR]
    low, high = (float(told.min()), float(told.max())) if len(told) else (1.0, 1.0)
    step = max(math.log(high / low) / (CODES - 1 - FIRST), 1e-12)
    codes = np.round((np.log(np.maximum(kept, FLOOR)) - math.log(low)) / step) + FIRST
    codes = np.where(kept <= 0, 0, np.where(kept < FLOOR, 1, np.clip(codes, FIRST, CODES - 1)))
    return Packed(codes.astype(np.uint16), math.log(low), step)


@dataclass(frozen=True)
class Picture:
    """A head made small: a byte a square, the root of its greatest weight against the greatest of all."""

    rows: int
    columns: int
    bytes: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def pictured(weights_TS: np.ndarray) -> Picture:
    """The greatest weight of each square: thin lines would vanish from an average."""
    for axis in (0, 1):
        size = weights_TS.shape[axis]
        edges = np.unique(np.linspace(0, size, min(size, PICTURE), endpoint=False).astype(int))
        weights_TS = np.maximum.reduceat(weights_TS, edges, axis=axis)
    shades = np.round(255 * np.sqrt(weights_TS / max(float(weights_TS.max()), FLOOR)))
    rows, columns = weights_TS.shape
    return Picture(rows, columns, written(shades.astype(np.uint8)))


def written(numbers: np.ndarray) -> str:
    """The bytes of an array as letters."""
    return base64.b64encode(np.ascontiguousarray(numbers).tobytes()).decode("ascii")


def written_floats(*tensors: Tensor) -> str:
    """Tensors one after another, in 32 bits."""
    return written(np.concatenate([one.detach().float().cpu().numpy().reshape(-1) for one in tensors]).astype("<f4"))


def three(value: float) -> float:
    """A number that is only shown, with four digits: shorter in the page."""
    return float(f"{value:.4g}")
