"""A picture run that has learned something: three shapes, each in its colour, small enough to be trained in seconds."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
from PIL import Image

from regard.runs.load import Run, load
from regard.runs.train import train

LABELS = ("circle", "cross", "square")
COLOURS = ((220, 70, 50), (60, 150, 90), (60, 100, 210))


def shape(kind: str, size: int, generator: np.random.Generator) -> np.ndarray:
    """pixels_HWC of one shape in its colour, somewhere on a noisy ground."""
    pixels_HWC = generator.normal(225, 8, (size, size, 3))
    radius = size * generator.uniform(0.2, 0.28)
    row, column = generator.uniform(radius, size - radius, 2)
    rows, columns = np.mgrid[:size, :size] + 0.5
    up, across = np.abs(rows - row), np.abs(columns - column)
    inside = {
        "circle": up**2 + across**2 < radius**2,
        "square": np.maximum(up, across) < 0.85 * radius,
        "cross": (np.minimum(up, across) < radius / 3) & (np.maximum(up, across) < radius),
    }[kind]
    pixels_HWC[inside] = COLOURS[LABELS.index(kind)] + generator.normal(0, 6, (int(inside.sum()), 3))
    return pixels_HWC.clip(0, 255).astype(np.uint8)


def drawn(folder: Path, count: int, size: int = 12, seed: int = 1) -> list[Path]:
    """So many PNG files, the kinds in turn, in a folder for each."""
    generator = np.random.default_rng(seed)
    found = []
    for number in range(count):
        label = LABELS[number % 3]
        path = folder / label / f"{label}-{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(shape(label, size, generator)).save(path)
        found.append(path)
    return found


def trained(
    folder: Path, steps: int = 40, *, size: int = 12, count: int = 90, patch: int = 3, class_token: bool = True,
    **model: Any,
) -> Run:  # fmt: skip
    """A run over pictures that are drawn for it."""
    drawn(folder / "train", count, size)
    drawn(folder / "validation", 9, size, seed=3)
    front = {"kind": "patches", "size": patch, "class_token": class_token}
    recipe = {
        "data": {"kind": "pictures", "train": str(folder / "train"), "validation": str(folder / "validation")},
        "input": {"kind": "image"},
        "model": {"kind": "vit", "layers": 2, "width": 24, "heads": 3, "front": front, **model},
        "task": {"kind": "classification", "dropout": 0.0, "pooling": "first" if class_token else "mean"},
        "training": {"steps": steps, "batch_tokens": 30, "learning_rate": 3e-3, "validate_every": steps, "threads": 1},
    }
    train(recipe, folder / "run")
    return load(folder / "run", device="cpu")


@cache
def pictures() -> tuple[Path, ...]:
    """Files of three pictures that training has not seen."""
    return tuple(drawn(Path(mkdtemp()) / "given", 3, seed=2))


@cache
def picture_run(class_token: bool = True) -> Run:
    """Trained once."""
    return trained(Path(mkdtemp()), class_token=class_token)
