"""The smallest runs that go through the whole loop, and an observer that remembers what it was told."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.runs.folder import RunFolder
from regard.runs.recipe import Recipe
from regard.runs.train import prepare
from regard.training.loop import Loop
from regard.training.machine import Ranks

TREE: dict[str, Any] = {
    "data": {"kind": "toy", "problem": "copy", "train_size": 120, "validation_size": 24, "test_size": 8, "symbols": 8},
    "tokenizer": {"kind": "word", "min_frequency": 1},
    "model": {
        "encoder_layers": 1, "decoder_layers": 1, "width": 16, "heads": 2, "norm": "pre", "dropout": 0.0,
        "feed_forward": {"width": 32},
    },
    "task": {"label_smoothing": 0.0},
    "training": {
        "steps": 6, "batch_tokens": 200, "learning_rate": 5e-3, "log_every": 1, "validate_every": 2,
        "checkpoint_every": 2, "schedule": {"kind": "constant"},
    },
    "decoding": {"kind": "greedy"},
}  # fmt: skip
LANGUAGE_MODEL = (
    "model.kind=tests.laws.families:DecoderOnlyConfig",
    "task.kind=tests.laws.families:LanguageModelConfig",
)


class Remembering:
    """Every event with its details, in order."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def on_phase(self, what: str) -> None:
        """What comes before the first step is told by the command line's own tests."""

    def on_start(self, total_steps: int, step: int) -> None:
        self.events.append(("started", total_steps, step))

    def on_step(self, step: int, figures: Mapping[str, float]) -> None:
        self.events.append(("stepped", step, dict(figures)))

    def on_validation(self, step: int, figures: Mapping[str, float]) -> None:
        self.events.append(("validated", step, dict(figures)))

    def on_checkpoint(self, step: int, folder: Path) -> None:
        self.events.append(("saved", step, folder))

    def on_message(self, message: str) -> None:
        self.events.append(("said", message))

    def on_end(self, step: int) -> None:
        self.events.append(("finished", step))

    def of(self, kind: str) -> list[tuple[Any, ...]]:
        return [details for event, *details in self.events if event == kind]  # type: ignore[misc]

    @property
    def sayings(self) -> list[str]:
        return [message for (message,) in self.of("said")]

    @property
    def losses(self) -> list[float]:
        return [figures["loss"] for _, figures in self.of("stepped")]


def make_loop(folder: Path, *settings: str, ranks: Ranks | None = None) -> tuple[Loop, Remembering]:
    """A loop that stands before its first step."""
    seen = Remembering()
    return prepare(Recipe.of(TREE, settings), RunFolder(folder), ranks or Ranks(), [seen]), seen
