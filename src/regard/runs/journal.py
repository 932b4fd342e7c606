"""Records a training: metrics.jsonl line by line, and TensorBoard on request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from regard.core.errors import RunError
from regard.core.files import parse_json, write_text
from regard.core.packages import optional
from regard.runs.folder import RunFolder


class NullObserver:
    """An observer that does nothing; others say only what they care about."""

    def on_phase(self, what: str) -> None: ...

    def on_start(self, total_steps: int, step: int) -> None: ...

    def on_step(self, step: int, figures: Mapping[str, float]) -> None: ...

    def on_validation(self, step: int, figures: Mapping[str, float]) -> None: ...

    def on_checkpoint(self, step: int, folder: Path) -> None: ...

    def on_message(self, message: str) -> None: ...

    def on_end(self, step: int) -> None: ...


class MetricsFile(NullObserver):
    """Writes ``metrics.jsonl``: training figures every few steps, validation figures, and what was said.

    After a resume the lines beyond the checkpoint are cut off, so that every step stands there once.
    """

    def __init__(self, path: Path, every: int) -> None:
        self.path = path
        self.every = every

    def on_start(self, total_steps: int, step: int) -> None:
        kept = [line for line in self._lines() if line.get("step", 0) <= step]
        write_text(self.path, "".join(json.dumps(line) + "\n" for line in kept))

    def _lines(self) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        lines = []
        for text in self.path.read_text(encoding="utf-8").splitlines():
            try:
                lines.append(parse_json(text))
            except json.JSONDecodeError:
                continue  # the line that a kill cut in two
        return lines

    def on_step(self, step: int, figures: Mapping[str, float]) -> None:
        if step % self.every == 0:
            self._write({"step": step, "split": "train", **figures})

    def on_validation(self, step: int, figures: Mapping[str, float]) -> None:
        self._write({"step": step, "split": "validation", **figures})

    def on_message(self, message: str) -> None:
        self._write({"note": message})

    def _write(self, line: Mapping[str, Any]) -> None:
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            from regard.training import checkpoints  # which needs torch, and whoever only observes does not

            raise RunError(
                f"{self.path} could not be written: {error}. "
                + checkpoints.after_free_space(RunFolder(self.path.parent).checkpoints)
            ) from error


class TensorBoard(NullObserver):
    """The same figures as TensorBoard events, below ``tensorboard/`` in the run folder."""

    def __init__(self, folder: Path, every: int) -> None:
        tensorboard = optional(
            "torch.utils.tensorboard",
            "training.tensorboard needs the tensorboard package: pip install 'regard[tensorboard]'",
        )
        self.open = partial(tensorboard.SummaryWriter, str(folder))
        self.every = every

    def on_start(self, total_steps: int, step: int) -> None:
        """After a resume the events beyond the checkpoint are hidden, so that every step is shown once."""
        self.writer = self.open(purge_step=step + 1) if step else self.open()

    def on_step(self, step: int, figures: Mapping[str, float]) -> None:
        if step % self.every == 0:
            self._add("train", step, figures)

    def on_validation(self, step: int, figures: Mapping[str, float]) -> None:
        self._add("validation", step, figures)

    def on_end(self, step: int) -> None:
        self.writer.close()

    def _add(self, split: str, step: int, figures: Mapping[str, float]) -> None:
        for name, value in figures.items():
            self.writer.add_scalar(f"{split}/{name}", value, step)
