"""From a file to pixels: any mode becomes grey or colour, any size the one that the model reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from regard.core.errors import DataError
from regard.data.modalities.image.idx import read_idx
from regard.data.modalities.image.pictures import Picture

try:
    from PIL import Image, ImageOps, UnidentifiedImageError
except ImportError as error:
    raise DataError('pictures are read with Pillow, which is not installed; pip install "regard[images]"') from error

Resize: TypeAlias = Literal["crop", "stretch"]
Raw: TypeAlias = "Picture | np.ndarray | Image.Image"
"""A picture by reference, rows × columns (× channels) of bytes, or Pillow's own."""
MODES = {1: "L", 3: "RGB"}
GREY_MODES = ("1", "L", "F")
ORIENTATION = 0x0112  # the number of EXIF's tag
SIXTEEN_BITS = 257  # 65535 / 255
UNREADABLE = (UnidentifiedImageError, OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError)
"""What Pillow raises at files that are broken, each format in its own way."""


class Frame(NamedTuple):
    """What every picture is brought to."""

    channels: int
    rows: int
    columns: int
    resize: Resize = "crop"


def read_batch(raws: Sequence[Raw], frame: Frame) -> np.ndarray:
    """pixels_BCHW, bytes; those of one idx file are gathered at once where they have the size already."""
    first = raws[0]
    if isinstance(first, Picture) and first.index >= 0:
        stored = read_idx(Path(first.path))
        if stored.shape[1:] == (frame.rows, frame.columns) and frame.channels == 1:
            places = [raw.index for raw in raws if isinstance(raw, Picture) and raw.path == first.path]
            if len(places) == len(raws):
                return stored[places][:, None]
    return np.stack([read_pixels(raw, frame) for raw in raws])


def read_pixels(raw: Raw, frame: Frame) -> np.ndarray:
    """pixels_CHW, bytes, of one picture."""
    if isinstance(raw, Picture) and raw.index < 0:
        with opened(raw.path) as image:
            return framed(image, frame)
    array = read_idx(Path(raw.path))[raw.index] if isinstance(raw, Picture) else raw
    return framed(from_array(array) if isinstance(array, np.ndarray) else array, frame)


def picture_size(raw: Raw) -> tuple[int, int]:
    """Its rows and columns, as it is stored."""
    if isinstance(raw, np.ndarray):
        return raw.shape[0], raw.shape[1]
    if isinstance(raw, Picture) and raw.index >= 0:
        stored = read_idx(Path(raw.path))
        return stored.shape[1], stored.shape[2]
    if isinstance(raw, Picture):
        with opened(raw.path) as image:
            return picture_size(image)
    width, height = upright(raw).size
    return height, width


@contextmanager
def opened(path: str) -> Iterator[Image.Image]:
    """A picture's file; what goes wrong inside is told in words."""
    try:
        with Image.open(path) as image:
            yield image
    except FileNotFoundError:
        raise DataError(f"no file {path}; check the path") from None
    except UNREADABLE as error:
        raise DataError(f"{path} is not a readable picture: {reason(error)}; replace the file, or remove it") from error


def reason(error: BaseException) -> str:
    """What Pillow says, without the name of a buffer that nobody knows."""
    if isinstance(error, UnidentifiedImageError):
        return "no known format"
    return str(error) or type(error).__name__


def framed(image: Image.Image, frame: Frame) -> np.ndarray:
    """pixels_CHW of an open picture: upright, in the frame's mode and size."""
    if image.format == "JPEG":  # decoded at a half, a quarter or an eighth of its size where that is enough
        image.draft(None, (2 * frame.columns, 2 * frame.rows))
    image = in_mode(upright(image), MODES[frame.channels])
    size = (frame.columns, frame.rows)
    if image.size != size:
        box = centre(image.size, size) if frame.resize == "crop" else None
        image = image.resize(size, Image.Resampling.BILINEAR, box=box)
    pixels = np.asarray(image)
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


def centre(size: tuple[int, int], wanted: tuple[int, int]) -> tuple[float, float, float, float]:
    """The largest box in the middle of a picture that has the proportions which are wanted."""
    width, height = size
    scale = min(width / wanted[0], height / wanted[1])
    left, top = (width - scale * wanted[0]) / 2, (height - scale * wanted[1]) / 2
    return left, top, width - left, height - top


def from_array(array: np.ndarray[Any, Any]) -> Image.Image:
    if array.dtype != np.uint8 or array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (1, 2, 3, 4)):
        raise DataError(
            f"an array of shape {array.shape} of {array.dtype} is not a picture; bytes of rows × columns are expected, "
            "with 1 to 4 channels as a last axis or without"
        )
    return Image.fromarray(array[..., 0] if array.ndim == 3 and array.shape[2] == 1 else array)
