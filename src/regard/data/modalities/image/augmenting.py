"""Augmentation: small changes that leave a picture's class as it is, drawn for each example and epoch anew.

Law: a change is a function of the generator alone, which is seeded by seed, epoch and the example's place; every number
is drawn whatever is configured, so that one setting alters the effect of no other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from regard.core.config import Config
from regard.data.modalities.image.opening import Image

Padding = Literal["black", "mirror"]
LUMA = (0.299, 0.587, 0.114)  # how bright red, green and blue are (ITU-R BT.601)
RATIOS = math.log(3 / 4), math.log(4 / 3)  # of a crop's sides
ERASED_AREAS, ERASED_RATIOS = (0.02, 1 / 3), (math.log(0.3), math.log(1 / 0.3))
"""Of what is erased: its share of the picture, and its sides (Zhong et al. 2020)."""


class Box(NamedTuple):
    """A part of a picture, in shares of its height and width."""

    top: float
    left: float
    height: float
    width: float

    def slices(self, rows: int, columns: int) -> tuple[slice, slice]:
        """The pixels in it, one at least."""
        top, left = min(int(self.top * rows), rows - 1), min(int(self.left * columns), columns - 1)
        height, width = max(1, round(self.height * rows)), max(1, round(self.width * columns))
        return slice(top, min(top + height, rows)), slice(left, min(left + width, columns))


@dataclass(frozen=True, slots=True)
class Change:
    """What is done to one picture, in this order: moved by so many pixels, mirrored, a part enlarged to the whole, its
    colours made so much stronger, a part erased."""

    down: int = 0
    right: int = 0
    flipped: bool = False
    part: Box | None = None
    brightness: float = 1.0
    contrast: float = 1.0
    saturation: float = 1.0
    erased: Box | None = None

    @property
    def recolours(self) -> bool:
        return (self.brightness, self.contrast, self.saturation) != (1.0, 1.0, 1.0)


UNCHANGED = Change()


class Augmentation(Config):
    """What may be done to training pictures."""

    shift: int = Field(0, ge=0, le=1000)  # at most so many pixels in each direction: a crop with such a margin
    padding: Padding = "black"  # what the margin shows: nothing, or the picture mirrored at its edge
    flip: bool = False  # every second picture is mirrored, left for right
    crop: float = Field(1.0, gt=0, le=1)  # below 1: a part, this share of its area at least, is enlarged to the whole
    brightness: float = Field(0.0, ge=0, le=1)  # each of these three changes by a factor of 1 ± so much at most
    contrast: float = Field(0.0, ge=0, le=1)
    saturation: float = Field(0.0, ge=0, le=1)
    erase: float = Field(0.0, ge=0, le=1)  # this share of pictures loses a rectangle (Zhong et al. 2020)
    mixup: float = Field(0.0, ge=0)  # α: each picture is blended with another, by Beta(α, α) (Zhang et al. 2018)
    cutmix: float = Field(0.0, ge=0)  # α: each gets a rectangle of another (Yun et al. 2019); with both, one of the two

    def unused(self) -> dict[str, str]:
        return {} if self.shift else {"padding": "shift = 0, so nothing comes in from outside"}

    @property
    def mixes(self) -> bool:
        """Whether a picture is mixed with another, whose class it then has in part."""
        return self.mixup > 0 or self.cutmix > 0

    def draw(self, generator: np.random.Generator) -> Change:
        """A change for one picture."""
        down, right = generator.integers(-self.shift, self.shift, size=2, endpoint=True).tolist()
        mirrored, *more = generator.random(13).tolist()
        area, ratio = 1 - more[0] * (1 - self.crop), math.exp(between(RATIOS, more[1]))
        strengths = (self.brightness, self.contrast, self.saturation)
        bright, contrasted, saturated = (1 + own * (2 * one - 1) for own, one in zip(strengths, more[4:7], strict=True))
        erased = box(between(ERASED_AREAS, more[8]), math.exp(between(ERASED_RATIOS, more[9])), more[10], more[11])
        return Change(
            down, right, self.flip and mirrored < 0.5,
            box(area, ratio, more[2], more[3]) if self.crop < 1 else None,
            bright, contrasted, saturated,
            erased if more[7] < self.erase else None,
        )  # fmt: skip


def between(ends: tuple[float, float], share: float) -> float:
    return ends[0] + (ends[1] - ends[0]) * share


def box(area: float, ratio: float, down: float, right: float) -> Box:
    """A part of so much area, ``ratio`` times as wide as high, as far as that fits; anywhere."""
    height, width = min(1.0, math.sqrt(area / ratio)), min(1.0, math.sqrt(area * ratio))
    return Box(down * (1 - height), right * (1 - width), height, width)


def apply_changes(
    pixels_BCHW: np.ndarray, changes: Sequence[Change], padding: Padding = "black", fill: Sequence[int] = (0,)
) -> np.ndarray:
    """The changed pictures, bytes; what is erased becomes ``fill``, a value for each channel or for all."""
    if all(change == UNCHANGED for change in changes):
        return pixels_BCHW
    down_B, right_B = np.array([(one.down, one.right) for one in changes]).T
    changed_BCHW = shifted(pixels_BCHW, down_B, right_B, padding)
    flipped_B = np.array([one.flipped for one in changes])
    changed_BCHW[flipped_B] = changed_BCHW[flipped_B][..., ::-1]
    rows, columns = changed_BCHW.shape[-2:]
    for pixels_CHW, change in zip(changed_BCHW, changes, strict=True):
        if change.part is not None:
            pixels_CHW[:] = enlarged(pixels_CHW, change.part)
        if change.recolours:
            pixels_CHW[:] = recoloured(pixels_CHW, change)
        if change.erased is not None:
            pixels_CHW[:, *change.erased.slices(rows, columns)] = np.array(fill, np.uint8)[:, None, None]
    return changed_BCHW


def shifted(pixels_BCHW: np.ndarray, down_B: np.ndarray, right_B: np.ndarray, padding: Padding = "black") -> np.ndarray:
    """Each picture moved by its own distance: a window that is cut from a margin around it."""
    margin = int(max(np.abs(down_B).max(), np.abs(right_B).max()))
    rows, columns = pixels_BCHW.shape[-2:]
    edges = (margin, margin)
    around = ((0, 0), (0, 0), edges, edges)
    padded = np.pad(pixels_BCHW, around) if padding == "black" else np.pad(pixels_BCHW, around, mode="symmetric")
    windows = np.lib.stride_tricks.sliding_window_view(padded, (rows, columns), axis=(-2, -1))
    return windows[np.arange(len(pixels_BCHW)), :, margin - down_B, margin - right_B]


def enlarged(pixels_CHW: np.ndarray, part: Box) -> np.ndarray:
    """A part of the picture in the size of the whole."""
    rows, columns = pixels_CHW.shape[1:]
    edges = (
        part.left * columns, part.top * rows,
        min(columns, (part.left + part.width) * columns), min(rows, (part.top + part.height) * rows),
    )  # fmt: skip
    planes = (Image.fromarray(plane_HW) for plane_HW in pixels_CHW)
    return np.stack([np.asarray(one.resize((columns, rows), Image.Resampling.BILINEAR, box=edges)) for one in planes])


def recoloured(pixels_CHW: np.ndarray, change: Change) -> np.ndarray:
    """Brightness is the distance from black, contrast that from the mean light, saturation that from the own light."""
    found = pixels_CHW * np.float32(change.brightness)
    found = blended(found, light_of(found).mean(), change.contrast)
    if change.saturation != 1.0:
        found = blended(found, light_of(found), change.saturation)
    return np.rint(found.clip(0, 255)).astype(np.uint8)


def blended(pixels_CHW: np.ndarray, grey: Any, factor: float) -> np.ndarray:
    return grey + (pixels_CHW - grey) * np.float32(factor)


def light_of(pixels_CHW: np.ndarray) -> np.ndarray:
    """light_1HW: how bright each pixel is."""
    if len(pixels_CHW) == 1:
        return pixels_CHW
    return np.tensordot(np.array(LUMA, np.float32), pixels_CHW, axes=1)[None]
