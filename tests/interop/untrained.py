"""Runs whose weights are random but loud, so that every part of a model has a say: saved as any run, in no time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from regard.core.config import parse
from regard.core.errors import OptionError
from regard.core.files import write_text
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.interop.exporting import export
from regard.interop.huggingface.importing import import_folder
from regard.runs.folder import RunFolder
from regard.runs.load import Run, load
from regard.runs.recipe import Recipe
from regard.runs.train import build_model
from regard.training import checkpoints

SOURCES = ("der Hund schläft im Garten", "die Katze sieht den Hund", "ein Vogel singt", "Hund")
TARGETS = ("the dog sleeps in the garden", "the cat sees the dog", "a bird sings", "dog")
TRANSLATOR = {
    "data": {"kind": "toy"}, "tokenizer": {"kind": "character"},
    "model": {"width": 24, "heads": 2, "encoder_layers": 2, "decoder_layers": 3, "feed_forward": {"width": 40}},
}  # fmt: skip
WRITER = {
    "data": {"kind": "text", "train": "none.txt"}, "tokenizer": {"kind": "character"},
    "task": {"kind": "language-model", "max_length": 48, "sample": 0},
}  # fmt: skip


def translator(folder: Path, model: dict[str, Any] | None = None, **tables: Any) -> Run:
    tree = {**TRANSLATOR, "model": {**TRANSLATOR["model"], **(model or {})}}
    for name, table in tables.items():
        tree[name] = {**tree.get(name, {}), **table}
    return saved(tree, folder)


def writer(folder: Path, model: dict[str, Any], **tables: Any) -> Run:
    small = {"kind": "gpt", "layers": 2, "width": 24, "heads": 4}
    return saved({**WRITER, "model": {**small, **model}, **tables}, folder)


def saved(tree: dict[str, Any], folder: Path, seed: int = 1) -> Run:
    """A run folder with recipe, tokenizers and weights, loaded as any other."""
    recipe = parse(Recipe, tree)
    config: Any = recipe.tokenizer
    both = config.train([*SOURCES, *TARGETS])
    vocabularies = Vocabularies(both, both) if config.joint else Vocabularies(
        config.train(SOURCES), config.train(TARGETS)
    )  # fmt: skip
    return kept(folder, recipe, vocabularies, lambda model: shake(model, seed))


def kept(folder: Path, recipe: Recipe, vocabularies: Vocabularies, change: Callable[[nn.Module], None]) -> Run:
    """The run folder of a new model whose weights were changed."""
    folder.mkdir(parents=True, exist_ok=True)
    vocabularies.save(folder)
    write_text(folder / "recipe.toml", recipe.to_toml())
    model = build_model(recipe, vocabularies.ports())
    change(model)
    checkpoints.save_tensors(RunFolder(folder).weights, checkpoints.weights_of(model))
    return load(folder, device="cpu")


Exported = tuple[Run, Path]


def exported(run: Run, folder: Path) -> Exported:
    """The run of a folder, and the folder that it is exported to for ``transformers``."""
    return run, Path(export(folder, "huggingface", folder / "out" / "exported").folder)


def refusal(folder: Path) -> str:
    """Why the run in this folder cannot be written for ``transformers``."""
    with pytest.raises(OptionError) as caught:
        export(folder / "run", "huggingface", folder / "exported")
    return str(caught.value)


def there_and_back(run: Run, folder: Path, out: Path) -> Run:
    """The run that the export of another one becomes: no bit of a weight is another."""
    found = import_folder(folder, out)
    assert found.weights_sha256 == checkpoints.weights_hash(checkpoints.weights_of(run.model))
    assert found.notes == ()
    return load(out)


@torch.no_grad()
def nudge(model: nn.Module, size: float) -> None:
    """A random weight everywhere, as training would leave it; the same for weights of one shape."""
    for weight in model.parameters():
        weight.add_(torch.randn(weight.shape, generator=torch.Generator().manual_seed(7)) * size)


@torch.no_grad()
def shake(model: nn.Module, seed: int) -> None:
    """Norms, biases and positions that differ from what they are born as."""
    generator = torch.Generator().manual_seed(seed)
    for name, weight in model.named_parameters():
        loud = 0.3 if weight.dim() == 1 else 1.5 * weight.shape[-1] ** -0.5
        noise = loud * torch.randn(weight.shape, generator=generator)
        weight.copy_(1 + noise if name.endswith("norm.weight") else noise)
