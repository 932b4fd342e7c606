"""idx files, in which MNIST and its relatives come: a header with the sizes of all axes, then the numbers."""

from __future__ import annotations

import gzip
import math
import zlib
from functools import lru_cache
from pathlib import Path

import numpy as np

from regard.core.errors import DataError
from regard.data.readers import missing_files

TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
"""By the third byte of a file."""
NAMES = (("images-idx3", "labels-idx1"), ("images.idx3", "labels.idx1"), ("images", "labels"))


def is_idx(path: Path) -> bool:
    """By its name: train-images-idx3-ubyte, train-images.idx3-ubyte.gz."""
    return "idx" in path.name.lower()


def labels_beside(images: Path) -> Path:
    """The file of labels that belongs to a file of images, by its name."""
    for image_part, label_part in NAMES:
        if image_part in images.name:
            labels = images.with_name(images.name.replace(image_part, label_part))
            if not labels.is_file():  # one of them may be packed and the other not
                labels = labels.with_suffix("") if labels.suffix == ".gz" else labels.with_name(f"{labels.name}.gz")
            if labels.is_file():
                return labels
            raise missing_files([labels], f"{images} holds pictures only; their labels are expected beside it")
    raise DataError(
        f"{images}: the labels of an idx file are found by its name, which should hold 'images', as in "
        "train-images-idx3-ubyte.gz beside train-labels-idx1-ubyte.gz; rename both"
    )


@lru_cache(maxsize=8)
def read_idx(path: Path) -> np.ndarray:
    """The array of an idx file: mapped from the disk where it is plain, held in memory where it is packed."""
    if not path.is_file():
        raise missing_files([path])
    packed = path.open("rb").read(2) == b"\x1f\x8b"
    try:
        data = np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8) if packed else np.memmap(path, np.uint8, "r")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: the compressed file is truncated or broken ({error}); download it again") from error
    except ValueError:  # an empty file cannot be mapped
        data = np.empty(0, np.uint8)
    return _array(path, data)


def _array(path: Path, data: np.ndarray) -> np.ndarray:
    if len(data) < 4 or data[0] or data[1] or int(data[2]) not in TYPES or len(data) < 4 + 4 * int(data[3]):
        raise DataError(
            f"{path} is not an idx file: it begins with {bytes(data[:4])!r}, but two zeros, a type and a number of "
            "axes are expected; check that it is the right file and that it was downloaded completely"
        )
    kind, axes = np.dtype(TYPES[int(data[2])]), int(data[3])
    begin = 4 + 4 * axes
    shape = tuple(int(size) for size in data[4:begin].view(">u4"))
    expected, found = math.prod(shape) * kind.itemsize, len(data) - begin
    if found != expected:
        raise DataError(
            f"{path}: its header announces {'×'.join(map(str, shape))} values, {expected:,} bytes, but {found:,} bytes "
            "follow; download it again"
        )
    return data[begin:].view(kind).reshape(shape)


def read_idx_images(images: Path) -> np.ndarray:
    """pictures_BHW (or BHWC)."""
    pictures = read_idx(images)
    if pictures.ndim not in (3, 4) or pictures.dtype.itemsize != 1:
        raise DataError(
            f"{images} holds an array of {pictures.ndim} axes of {pictures.dtype.name}, but pictures are bytes with 3 "
            "axes (picture, row, column) or 4 (and channel)"
        )
    if 0 in pictures.shape[1:]:
        raise DataError(f"{images}: its header announces pictures of {pictures.shape[1]} × {pictures.shape[2]} pixels")
    return pictures


def read_idx_pair(images: Path, labels: Path) -> tuple[np.ndarray, np.ndarray]:
    """pictures_BHW (or BHWC) and labels_B that belong to one another."""
    pictures, classes = read_idx_images(images), read_idx(labels)
    if classes.ndim != 1 or classes.dtype.kind not in "ui":
        raise DataError(
            f"{labels} holds an array of {classes.ndim} axes of {classes.dtype.name}, but labels are a list of integers"
        )
    if len(pictures) != len(classes):
        raise DataError(
            f"{images} holds {len(pictures):,} pictures, but {labels} {len(classes):,} labels; "
            "check that the two files belong together and were downloaded completely"
        )
    return pictures, classes
