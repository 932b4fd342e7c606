"""Mixing: two training pictures in one, blended or one with a rectangle of the other, and the share of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Mixture(NamedTuple):
    """How much of a picture stays, and, where it is not blended, the rectangle that the other one takes."""

    share: float
    rows: slice | None = None
    columns: slice = slice(None)


def draw_mixture(generator: np.random.Generator, mixup: float, cutmix: float, shape: Sequence[int]) -> Mixture:
    """By mixup (Zhang et al. 2018) or CutMix (Yun et al. 2019), half of the time each where both are configured.

    A rectangle has its middle anywhere, so that it may reach over the edge: the share is what is left in truth.
    """
    coin = generator.random()
    if mixup > 0 and (cutmix == 0 or coin < 0.5):
        return Mixture(float(generator.beta(mixup, mixup)))
    side = float(np.sqrt(1 - generator.beta(cutmix, cutmix)))
    edges = []
    for length, middle in zip(shape, generator.random(2), strict=True):
        half, place = side * length / 2, middle * length
        edges.append(slice(max(0, round(place - half)), min(length, round(place + half))))
    taken = (edges[0].stop - edges[0].start) * (edges[1].stop - edges[1].start)
    return Mixture(1 - taken / (shape[0] * shape[1]), *edges)


def mix(values_CHW: np.ndarray, other_CHW: np.ndarray, mixture: Mixture) -> None:
    """The first picture becomes the mixture."""
    if mixture.rows is None:
        values_CHW *= mixture.share
        values_CHW += (1 - mixture.share) * other_CHW
    else:
        where = (slice(None), mixture.rows, mixture.columns)
        values_CHW[where] = other_CHW[where]
