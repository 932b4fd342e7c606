"""One run of every kind of task, trained for a step when it is first asked for: what holds of it holds of any."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

import numpy as np
from PIL import Image

import regard

SMALL = (
    "training.steps=1", "training.threads=1", "model.width=8", "data.train_size=60", "data.validation_size=5",
    "data.test_size=7",
)  # fmt: skip


class Kind(NamedTuple):
    """A run folder, and what it can be asked."""

    run: Path
    text: str


RECIPES = {
    "translation": ("small-world", "the cat sleeps"),
    "parsing": ("parse-small-world", "the cat sleeps"),
    "language model": ("gpt-small-world", "the cat"),
    "masked language model": ("bert-small-world", "the [MASK] sleeps"),
    "classification": ("mood", "the happy cat sleeps"),
    "tagging": ("tags", "the cat sleeps"),
    "question answering": ("questions", "who sleeps\tthe cat sleeps"),
    "embedding": ("embed-small-world", "the cat sleeps"),
}
KINDS = (*RECIPES, "pictures")


@cache
def kind(name: str) -> Kind:
    folder = Path(mkdtemp()) / "run"
    if name == "pictures":
        return pictures(folder)
    recipe, text = RECIPES[name]
    more = [] if "language model" in name else ["data.compositional_size=3"]
    regard.train(recipe, folder, [*SMALL, *more])
    return Kind(folder, text)


def pictures(folder: Path) -> Kind:
    """Two classes of pictures that are all noise."""
    generator = np.random.default_rng(1)
    for number in range(8):
        path = folder.parent / "data" / f"class-{number % 2}" / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(generator.integers(0, 255, (4, 4, 3), dtype=np.uint8)).save(path)
    recipe = {
        "data": {"kind": "pictures", "train": str(folder.parent / "data"), "validation": str(folder.parent / "data")},
        "input": {"kind": "image"},
        "model": {"kind": "vit", "layers": 1, "width": 8, "heads": 2, "front": {"kind": "patches", "size": 2}},
        "task": {"kind": "classification"},
        "training": {"steps": 1, "batch_tokens": 8, "threads": 1},
    }
    regard.train(recipe, folder)
    return Kind(folder, str(path))
