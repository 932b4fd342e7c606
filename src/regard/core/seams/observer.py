"""Observer: receives the events of a training; progress bars and log files are observers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol


class Observer(Protocol):
    """Is told what happens in training; draws bars, writes files, decides to stop."""

    def on_phase(self, what: str) -> None:
        """What is done now, before the first step; each may take a while."""
        ...

    def on_start(self, total_steps: int, step: int) -> None: ...

    def on_step(self, step: int, figures: Mapping[str, float]) -> None: ...

    def on_validation(self, step: int, figures: Mapping[str, float]) -> None: ...

    def on_checkpoint(self, step: int, folder: Path) -> None: ...

    def on_message(self, message: str) -> None:
        """A sentence for the user that is not an error (a checkpoint skipped, an early stop)."""
        ...

    def on_end(self, step: int) -> None: ...
