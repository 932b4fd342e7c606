"""A run of every family, untrained but loud, for those who look inside."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from regard.core.config import parse
from regard.data.corpus import Corpus
from regard.data.ledger import Ledger
from regard.runs.folder import RunFolder
from regard.runs.load import Run, load
from regard.runs.recipe import Recipe
from regard.runs.train import build_task, headed
from regard.training import checkpoints
from tests.interop.untrained import TRANSLATOR, WRITER, saved

_RECURRENT: dict[str, Any] = {"width": 16, "embedding": {"kind": "learned", "width": 12}}
TRANSLATORS: dict[str, dict[str, Any]] = {
    "transformer": {"width": 24, "heads": 2, "encoder_layers": 2, "decoder_layers": 2, "feed_forward": {"width": 40}},
    "bahdanau": {"kind": "bahdanau", **_RECURRENT},
    "luong": {"kind": "luong", **_RECURRENT},
    "luong-predictive": {
        "kind": "luong", **_RECURRENT, "feeding": "none",
        "attention": {"kind": "general", "reach": {"kind": "predictive", "window": 4}},
    },
    "convolution": {"kind": "convolution", **_RECURRENT, "encoder_layers": 1, "decoder_layers": 2},
    "fixed-context": {"kind": "fixed-context", **_RECURRENT},
}  # fmt: skip
WRITERS: dict[str, dict[str, Any]] = {
    "gpt": {"kind": "gpt", "layers": 2, "width": 24, "heads": 4, "position": {"kind": "learned", "max_length": 48}},
    "llama": {"kind": "llama", "layers": 2, "width": 24, "heads": 4, "groups": 2, "feed_forward": {"width": 20}},
    "recurrent": {"kind": "recurrent", **_RECURRENT},
}
MASKED = {
    "data": {"kind": "text", "train": "none.txt"}, "tokenizer": {"kind": "wordpiece", "vocabulary": 200},
    "model": {
        "kind": "bert", "layers": 2, "width": 24, "heads": 3, "position": {"kind": "learned", "max_length": 20},
        "feed_forward": {"width": 30},
    },
    "task": {"kind": "masked-language-model", "max_length": 20},
}  # fmt: skip
CLASSIFIER = {
    "data": {"kind": "world-moods"}, "tokenizer": {"kind": "wordpiece", "vocabulary": 200},
    "model": {"kind": "bert", "layers": 2, "width": 24, "heads": 3, "feed_forward": {"width": 30}},
    "task": {"kind": "classification", "labels": ["glad", "sad"], "max_length": 24},
}  # fmt: skip
TAGGER = {
    **CLASSIFIER, "data": {"kind": "world-tags"},
    "task": {"kind": "tagging", "labels": ["N", "V", "D"], "max_length": 24},
}  # fmt: skip
FAMILIES = [*TRANSLATORS, *WRITERS, "bert"]
ATTENTIVE = [name for name in FAMILIES if name not in ("fixed-context", "recurrent")]
TEXT, OTHER = "der Hund singt", "ein Hund sieht"


@cache
def loud(family: str) -> Run:
    """Made once; whoever changes it makes another with ``made``."""
    with TemporaryDirectory() as folder:
        return made(family, Path(folder))


def made(family: str, folder: Path) -> Run:
    if family == "bert":
        return saved(MASKED, folder)
    if family in WRITERS:
        return saved({**WRITER, "model": WRITERS[family]}, folder)
    return saved({**TRANSLATOR, "model": TRANSLATORS[family], "decoding": {"kind": "greedy", "max_length": 9}}, folder)


def headed_run(folder: Path, settings: dict[str, Any] = CLASSIFIER) -> Any:
    """A run folder whose tokenizer is a masked language model's; the head is untrained."""
    plain = saved({**MASKED, "model": CLASSIFIER["model"]}, folder)
    recipe = parse(Recipe, settings)
    (folder / "recipe.toml").write_text(recipe.to_toml(), encoding="utf-8")
    torch.manual_seed(5)
    model = headed(recipe, build_task(recipe, Corpus({}, Ledger()), plain.modalities))
    checkpoints.save_tensors(RunFolder(folder).weights, checkpoints.weights_of(model))
    return load(folder, device="cpu")
