"""Measures where each family breaks: copy and recall over ever longer sequences, one small model for each length."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from regard.inspection.figures.lines import Series, line_figure
from regard.runs.folder import RunFolder
from regard.runs.train import train

LENGTHS = (10, 20, 50, 100, 200, 500)
BROKEN = 0.9  # token accuracies below this count as broken
Problem = Literal["copy", "middle", "recall"]
"""All of a sequence; its middle, far from both ends; or what followed the symbol in question, hard to find out."""
WIDTH = 64


def _recurrent(kind: str, cell: str) -> dict[str, Any]:
    embedding = {"kind": "learned", "width": WIDTH}
    return {"kind": kind, "width": WIDTH, "dropout": 0.0, "cell": {"kind": cell}, "embedding": embedding}


FAMILIES: dict[str, dict[str, Any]] = {
    "RNN": _recurrent("fixed-context", "rnn"),
    "GRU": _recurrent("fixed-context", "gru"),
    "LSTM": _recurrent("fixed-context", "lstm"),
    "Bahdanau": _recurrent("bahdanau", "gru"),
    "convolution": {
        "kind": "convolution", "width": WIDTH, "dropout": 0.0, "encoder_layers": 2, "decoder_layers": 2,
        "embedding": {"kind": "learned", "width": WIDTH},
    },
    "Transformer": {
        "kind": "transformer", "width": WIDTH, "heads": 4, "dropout": 0.0, "encoder_layers": 2, "decoder_layers": 2,
        "norm": "pre", "position": {"kind": "rotary"}, "feed_forward": {"kind": "plain", "width": 2 * WIDTH},
    },
}  # fmt: skip


@dataclass(frozen=True)
class LongSequences:
    """Token accuracy on unseen sequences, by family, at each length."""

    problem: str
    steps: int
    lengths: tuple[int, ...]
    accuracies: Mapping[str, tuple[float, ...]]

    def breaks_at(self, family: str) -> int | None:
        """The first length at which the accuracy is below nine in ten; None: at none of them."""
        found = zip(self.lengths, self.accuracies[family], strict=True)
        return next((length for length, accuracy in found if accuracy < BROKEN), None)

    @property
    def sentence(self) -> str:
        words = []
        for family in self.accuracies:
            broken = self.breaks_at(family)
            words.append(f"{family} holds to {self.lengths[-1]}" if broken is None else f"{family} breaks at {broken}")
        return (
            f"{self.problem.capitalize()} after {self.steps:,} steps: {', '.join(words)} "
            f"(a token accuracy below {BROKEN:.0%} is a break)."
        )

    def as_dict(self) -> dict[str, Any]:
        breaks = {family: self.breaks_at(family) for family in self.accuracies}
        return {**asdict(self), "breaks_at": breaks, "sentence": self.sentence}

    def figure(self) -> str:
        series = [
            Series(family, list(zip(self.lengths, found, strict=True))) for family, found in self.accuracies.items()
        ]
        title = f"Token accuracy against length, {self.problem}"
        return line_figure(
            series, x_label="length", y_label="token accuracy", title_for_screen_readers=title, log_x=True
        )


def long_sequences(
    problem: Problem = "copy",
    lengths: Sequence[int] = LENGTHS,
    families: Mapping[str, Mapping[str, Any]] = FAMILIES,
    *,
    steps: int = 300,
    batch_tokens: int = 2048,
    examples: int = 4000,
    seed: int = 1,
    report: Callable[[str], None] = lambda text: None,
) -> LongSequences:
    """Trains every family at every length, each from nothing and with the same number of steps."""
    accuracies: dict[str, tuple[float, ...]] = {}
    for family, model in families.items():
        found = []
        for length in lengths:
            report(f"{family}: {problem} of {length} symbols")
            found.append(accuracy(recipe(problem, length, model, steps, batch_tokens, examples, seed)))
        accuracies[family] = tuple(found)
    return LongSequences(problem, steps, tuple(lengths), accuracies)


def recipe(
    problem: Problem, length: int, model: Mapping[str, Any], steps: int, batch_tokens: int, examples: int, seed: int
) -> dict[str, Any]:
    """Sequences of one length, so that accuracy at a length is that length's own."""
    symbols = 2 * length if problem == "recall" else 20  # a recall needs symbols that occur once
    data = {
        "kind": "toy", "problem": problem, "symbols": symbols, "min_length": length, "max_length": length,
        "train_size": examples, "validation_size": 100, "test_size": 0,
    }  # fmt: skip
    training = {
        "steps": steps, "batch_tokens": max(batch_tokens, 2 * length), "learning_rate": 4e-3, "validate_every": steps,
        "checkpoint_every": steps, "optimizer": {"kind": "muon"},
        "schedule": {"kind": "cosine", "warmup": max(1, steps // 10)},
    }  # fmt: skip
    return {
        "name": f"{problem}-{length}", "seed": seed, "data": data, "model": dict(model), "training": training,
        "tokenizer": {"kind": "word", "min_frequency": 1},
        "task": {"kind": "translation", "label_smoothing": 0.0, "max_length": 2 * length + 2},
    }  # fmt: skip


def accuracy(described: Mapping[str, Any]) -> float:
    """The token accuracy that the last validation of a training found; the run itself is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        train(described, path)
        lines = [json.loads(text) for text in RunFolder(path).metrics.read_text(encoding="utf-8").splitlines()]
    return [line["token_accuracy"] for line in lines if line.get("split") == "validation"][-1]
