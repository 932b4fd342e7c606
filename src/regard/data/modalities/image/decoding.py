"""From a file to pixels: any mode becomes grey or colour, any size the one that the model reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from regard.core.errors import DataError
from regard.data.modalities.image.idx import read_idx
from regard.data.modalities.image.lines import read_lined
from regard.data.modalities.image.opening import Image, ImageOps, opened
from regard.data.modalities.image.pictures import Lines, Picture
from regard.data.modalities.image.resizing import Frame, fitted

Raw: TypeAlias = "Picture | np.ndarray | Image.Image"
"""A picture by reference, rows × columns (× channels) of bytes, or Pillow's own."""
MODES = {1: "L", 3: "RGB"}
GREY_MODES = ("1", "L", "F")
ORIENTATION = 0x0112  # the number of EXIF's tag
SIXTEEN_BITS = 257  # 65535 / 255


def read_batch(raws: Sequence[Raw], frame: Frame) -> np.ndarray:
    """pixels_BCHW, bytes; those of one file of many are gathered at once where they have the frame's form already."""
    pixels_BCHW = np.empty((len(raws), frame.channels, frame.rows, frame.columns), np.uint8)
    by_file: dict[tuple[str, Lines | None], list[int]] = {}
    for place, raw in enumerate(raws):
        if isinstance(raw, Picture) and raw.index >= 0:
            by_file.setdefault((raw.path, raw.lines), []).append(place)
        else:
            pixels_BCHW[place] = read_pixels(raw, frame)
    for places in by_file.values():
        own = [raw for raw in map(raws.__getitem__, places) if isinstance(raw, Picture)]
        stored = stored_pictures(own[0])
        if in_frame(stored, frame):
            gathered = stored[[raw.index for raw in own]].reshape(len(own), frame.rows, frame.columns, frame.channels)
            pixels_BCHW[places] = gathered.transpose(0, 3, 1, 2)
        else:
            pixels_BCHW[places] = [read_pixels(raw, frame) for raw in own]
    return pixels_BCHW


def stored_pictures(picture: Picture) -> np.ndarray:
    """pictures_BHW (or BHWC) of the file that holds this one among many."""
    if picture.lines is None:
        return read_idx(Path(picture.path))
    return read_lined(Path(picture.path), picture.lines)


def in_frame(stored: np.ndarray, frame: Frame) -> bool:
    """Whether these pictures have the frame's size and channels, so that nothing is to be done to them."""
    channels = stored.shape[3] if stored.ndim == 4 else 1
    as_wanted = (*stored.shape[1:3], channels) == (frame.rows, frame.columns, frame.channels)
    return as_wanted and stored.dtype.itemsize == 1 and not frame.resized


def read_pixels(raw: Raw, frame: Frame) -> np.ndarray:
    """pixels_CHW, bytes, of one picture."""
    if isinstance(raw, Picture) and raw.index < 0:
        with opened(raw.path) as image:
            return framed(image, frame)
    array = stored_pictures(raw)[raw.index] if isinstance(raw, Picture) else raw
    return framed(from_array(array) if isinstance(array, np.ndarray) else array, frame)


def picture_size(raw: Raw) -> tuple[int, int]:
    """Its rows and columns, as it is stored."""
    if isinstance(raw, np.ndarray):
        return raw.shape[0], raw.shape[1]
    if isinstance(raw, Picture) and raw.index >= 0:
        stored = stored_pictures(raw)
        return stored.shape[1], stored.shape[2]
    if isinstance(raw, Picture):
        with opened(raw.path) as image:
            return picture_size(image)
    width, height = upright(raw).size
    return height, width


def framed(image: Image.Image, frame: Frame) -> np.ndarray:
    """pixels_CHW of an open picture: upright, in the frame's mode and size."""
    if image.format == "JPEG" and frame.decode == "fast":  # at a half, a quarter or an eighth, where that is enough
        image.draft(None, (2 * frame.columns, 2 * frame.rows))
    image = in_mode(upright(image), MODES[frame.channels])
    pixels = np.asarray(fitted(image, frame))
    return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)


def upright(image: Image.Image) -> Image.Image:
    """As it should be seen: cameras note how they were held beside the pixels."""
    return image if image.getexif().get(ORIENTATION, 1) == 1 else ImageOps.exif_transpose(image)


def in_mode(image: Image.Image, mode: str) -> Image.Image:
    """Grey or colour. What is transparent lies on white; of 16 bits a pixel the upper ones are kept."""
    if image.mode == mode:
        return image
    if image.mode.startswith("I"):  # Pillow would cut everything above 255 off
        image = Image.fromarray((np.asarray(image).clip(0, 65535) // SIXTEEN_BITS).astype(np.uint8))
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    if image.mode not in GREY_MODES:  # from some, Pillow knows no other way
        image = image.convert("RGB")
    return image.convert(mode)


def from_array(array: np.ndarray[Any, Any]) -> Image.Image:
    if array.dtype != np.uint8 or array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (1, 2, 3, 4)):
        raise DataError(
            f"an array of shape {array.shape} of {array.dtype} is not a picture; bytes of rows × columns are expected, "
            "with 1 to 4 channels as a last axis or without"
        )
    return Image.fromarray(array[..., 0] if array.ndim == 3 and array.shape[2] == 1 else array)
