"""Augmentation: small changes that leave a picture's class as it is, drawn for each example and epoch anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from regard.core.config import Config


@dataclass(frozen=True, slots=True)
class Change:
    """What is done to one picture: so many pixels down and to the right, and left for right."""

    down: int = 0
    right: int = 0
    flipped: bool = False


UNCHANGED = Change()


class Augmentation(Config):
    """What may be done to training pictures."""

    shift: int = Field(0, ge=0)  # up to so many pixels in each direction; what comes in from outside is black
    flip: bool = False  # every second picture is mirrored, left for right

    def draw(self, generator: np.random.Generator) -> Change:
        """A change for one picture. Every draw is made whatever is configured, so that one setting alters no other."""
        down, right = generator.integers(-self.shift, self.shift, size=2, endpoint=True).tolist()
        return Change(down, right, self.flip and bool(generator.random() < 0.5))


def apply_changes(pixels_BCHW: np.ndarray, changes: Sequence[Change]) -> np.ndarray:
    """The changed pictures, all of a batch at once."""
    if all(change == UNCHANGED for change in changes):
        return pixels_BCHW
    down_B, right_B = np.array([(one.down, one.right) for one in changes]).T
    moved = shifted(pixels_BCHW, down_B, right_B)
    flipped_B = np.array([one.flipped for one in changes])
    moved[flipped_B] = moved[flipped_B][..., ::-1]
    return moved


def shifted(pixels_BCHW: np.ndarray, down_B: np.ndarray, right_B: np.ndarray) -> np.ndarray:
    """Each picture moved by its own distance: a window that is cut from a black margin around it."""
    margin = int(max(np.abs(down_B).max(), np.abs(right_B).max()))
    rows, columns = pixels_BCHW.shape[-2:]
    edges = (margin, margin)
    padded = np.pad(pixels_BCHW, ((0, 0), (0, 0), edges, edges))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (rows, columns), axis=(-2, -1))
    return windows[np.arange(len(pixels_BCHW)), :, margin - down_B, margin - right_B]
