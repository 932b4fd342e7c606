"""A picture run that has learned something: three shapes in three colours, small enough to be trained in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import torch
from PIL import Image

from regard.core.config import parse
from regard.core.files import write_text
from regard.data.corpus import Corpus
from regard.data.ledger import Ledger
from regard.data.modalities.both import Modalities
from regard.data.modalities.image.modality import ImagePart
from regard.data.modalities.image.pictures import LabelledPicture, Picture
from regard.runs.folder import RunFolder
from regard.runs.load import Run, load
from regard.runs.recipe import Recipe
from regard.runs.train import headed
from regard.training import checkpoints

LABELS = ("circle", "cross", "square")
COLOURS = ((220, 70, 50), (60, 150, 90), (60, 100, 210))
VIT = {"kind": "vit", "layers": 2, "width": 24, "heads": 3, "front": {"kind": "patches", "size": 3}}


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


def drawn(folder: Path, count: int, size: int = 12, seed: int = 1) -> list[LabelledPicture]:
    """So many PNG files, the kinds in turn."""
    generator = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for number in range(count):
        label = LABELS[number % 3]
        path = folder / f"{label}-{number}.png"
        Image.fromarray(shape(label, size, generator)).save(path)
        found.append(LabelledPicture(Picture(str(path)), label))
    return found


def trained(
    folder: Path, examples: Sequence[LabelledPicture], steps: int = 60, model: dict[str, Any] | None = None, **task: Any
) -> Run:
    """A run folder as training leaves it."""
    settings = {
        "data": {"kind": "toy"}, "input": {"kind": "image"}, "model": {**VIT, **(model or {})}, "seed": 3,
        "task": {"kind": "classification", "labels": LABELS, "dropout": 0.0, **task},
    }  # fmt: skip
    recipe = parse(Recipe, settings)
    assert isinstance(recipe.input, ImagePart)
    modalities = Modalities(recipe.input.measured([one.raw for one in examples]))
    learning: Any = recipe.task.build(Corpus({"train": tuple(examples)}, Ledger()), modalities, 1)
    network = headed(recipe, learning).train()
    optimizer = torch.optim.AdamW(network.parameters(), 3e-3)
    order = np.random.default_rng(1)
    items = list(learning.examples("train", 0))
    for _ in range(steps):
        chosen = order.choice(len(items), min(32, len(items)), replace=False)
        loss = learning.sums(network, learning.collate([items[place] for place in chosen])).sums["loss"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "recipe.toml", recipe.to_toml())
    modalities.save(folder)
    checkpoints.save_tensors(RunFolder(folder).weights, checkpoints.weights_of(network))
    return load(folder, device="cpu")


@cache
def pictures() -> tuple[Path, ...]:
    """Files of three pictures that training has not seen."""
    return tuple(Path(one.raw.path) for one in drawn(Path(mkdtemp()) / "given", 3, seed=2))


@cache
def picture_run(class_token: bool = True) -> Run:
    """Trained once."""
    folder = Path(mkdtemp())
    front = {"kind": "patches", "size": 3, "class_token": class_token}
    pooling = "first" if class_token else "mean"
    return trained(folder / "run", drawn(folder / "data", 90), model={"front": front}, pooling=pooling)
