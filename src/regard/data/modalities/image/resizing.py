"""Resizing: which part of a picture is read, by way of which size, and how pixels are weighed on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from PIL.Image import Image

Resize: TypeAlias = Literal["crop", "stretch"]
Resample: TypeAlias = Literal["nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"]
FILTERS: dict[Resample, int] = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5}
"""Pillow's numbers, which are also those of other people's files."""


def both_sides(size: int | tuple[int, ...]) -> tuple[int, ...]:
    """Rows and columns, of a setting that may be one number for both."""
    return (size, size) if isinstance(size, int) else size


def rows_and_columns(size: int | tuple[int, ...], what: str, example: str) -> tuple[int, ...]:
    """The same where they are a size; both 0: still to be measured."""
    sides = both_sides(size)
    if len(sides) != 2 or min(sides) < 0 or (0 in sides and size != 0):
        raise ValueError(f"size = {size!r} is not {what}; give rows and columns, as in {example}")
    return sides


class Frame(NamedTuple):
    """What every picture is brought to.

    ``resized`` is the size before the middle is cut out: (the shorter side,) where proportions stay, (rows, columns)
    where they are lost; (): the part that is wanted is cut out first, or everything is stretched.
    """

    channels: int
    rows: int
    columns: int
    resize: Resize = "crop"
    resized: tuple[int, ...] = ()
    resample: Resample = "bilinear"
    decode: Literal["fast", "exact"] = "fast"


def fitted(image: Image, frame: Frame) -> Image:
    """An open picture in the frame's size."""
    size = (frame.columns, frame.rows)
    if frame.resized:
        return middle(image.resize(size_before(image.size, frame.resized), FILTERS[frame.resample]), size)
    if image.size == size:
        return image
    box = centre(image.size, size) if frame.resize == "crop" else None
    return image.resize(size, FILTERS[frame.resample], box=box)


def size_before(size: tuple[int, int], resized: tuple[int, ...]) -> tuple[int, int]:
    """Width and height before the middle is cut out."""
    if len(resized) == 2:
        return resized[1], resized[0]
    (shorter,) = resized
    width, height = size
    if width <= height:
        return shorter, int(shorter * height / width)
    return int(shorter * width / height), shorter


def middle(image: Image, size: tuple[int, int]) -> Image:
    left, top = (image.width - size[0]) // 2, (image.height - size[1]) // 2
    return image.crop((left, top, left + size[0], top + size[1]))


def centre(size: tuple[int, int], wanted: tuple[int, int]) -> tuple[float, float, float, float]:
    """The largest box in the middle of a picture that has the proportions which are wanted."""
    width, height = size
    scale = min(width / wanted[0], height / wanted[1])
    left, top = (width - scale * wanted[0]) / 2, (height - scale * wanted[1]) / 2
    return left, top, width - left, height - top
