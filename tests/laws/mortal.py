"""Trains a recipe in a process of its own, which may be told to die."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import regard
from regard.runs.journal import NullObserver


class Pace(NullObserver):
    """Makes a step last long enough to be hit from outside."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def on_step(self, step: int, figures: Mapping[str, float]) -> None:
        time.sleep(self.seconds)


def die_before(operation: int, after_step: int) -> NullObserver:
    """Kills this very process at its n-th move on the disk after a step: in the middle of a checkpoint, mostly."""
    counting = Counting(operation, after_step)
    for module, name in ((os, "fsync"), (os, "replace"), (shutil, "rmtree")):
        setattr(module, name, counting.around(getattr(module, name)))
    return counting


class Counting(NullObserver):
    """Counts disk operations from a given step on."""

    def __init__(self, left: int, after_step: int) -> None:
        self.left = left
        self.after_step = after_step
        self.counts = False

    def on_step(self, step: int, figures: Mapping[str, float]) -> None:
        self.counts |= step > self.after_step

    def around(self, operation: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*inputs: Any, **named: Any) -> Any:
            if self.counts:
                self.left -= 1
                if self.left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
            return operation(*inputs, **named)

        return counted


def train(recipe: Path, run: Path, pause: float = 0.0, dies: tuple[int, int] | None = None) -> None:
    """Goes on with a run, with a pause after every step; may die at an operation (the first number) after a step."""
    observers: list[NullObserver] = [Pace(pause)]
    if dies:
        observers.append(die_before(*dies))
    regard.train(recipe, run, resume=True, observers=observers)
