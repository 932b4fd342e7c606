"""Opening picture files with Pillow: errors are reported in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from regard.core.errors import DataError

try:
    from PIL import Image, ImageOps, UnidentifiedImageError
except ImportError as error:
    raise DataError('pictures are read with Pillow, which is not installed; pip install "regard[images]"') from error

__all__ = ["UNREADABLE", "Image", "ImageOps", "opened", "reason"]

UNREADABLE = (UnidentifiedImageError, OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError)
"""What Pillow raises at files that are broken, each format in its own way."""


@contextmanager
def opened(path: str) -> Iterator[Image.Image]:
    """A picture's file; errors are reported in plain words."""
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
