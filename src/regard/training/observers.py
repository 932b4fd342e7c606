"""Several observers of a training as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from regard.core.seams import Observer


class Observers:
    """Passes each event on to all of them, in order."""

    def __init__(self, observers: Iterable[Observer] = ()) -> None:
        self.all = tuple(observers)

    def on_phase(self, what: str) -> None:
        for observer in self.all:
            observer.on_phase(what)

    def on_start(self, total_steps: int, step: int) -> None:
        for observer in self.all:
            observer.on_start(total_steps, step)

    def on_step(self, step: int, figures: Mapping[str, float]) -> None:
        for observer in self.all:
            observer.on_step(step, figures)

    def on_validation(self, step: int, figures: Mapping[str, float]) -> None:
        for observer in self.all:
            observer.on_validation(step, figures)

    def on_checkpoint(self, step: int, folder: Path) -> None:
        for observer in self.all:
            observer.on_checkpoint(step, folder)

    def on_message(self, message: str) -> None:
        for observer in self.all:
            observer.on_message(message)

    def on_end(self, step: int) -> None:
        for observer in self.all:
            observer.on_end(step)
