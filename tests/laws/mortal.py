"""Trains a recipe in a process of its own, which may be told to die: ``python -m tests.laws.mortal RECIPE OUT``."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import time
from collections.abc import Callable, Mapping
from typing import Any

import regard
from regard.runs.journal import Silent


class Pace(Silent):
    """Makes a step last long enough to be hit from outside."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def stepped(self, step: int, figures: Mapping[str, float]) -> None:
        time.sleep(self.seconds)


def die_before(operation: int, after_step: int) -> Silent:
    """Kills this very process at its n-th move on the disk after a step: in the middle of a checkpoint, mostly."""
    counting = Counting(operation, after_step)
    for module, name in ((os, "fsync"), (os, "replace"), (shutil, "rmtree")):
        setattr(module, name, counting.around(getattr(module, name)))
    return counting


class Counting(Silent):
    """Counts disk operations from a given step on."""

    def __init__(self, left: int, after_step: int) -> None:
        self.left = left
        self.after_step = after_step
        self.counts = False

    def stepped(self, step: int, figures: Mapping[str, float]) -> None:
        self.counts |= step > self.after_step

    def around(self, operation: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*inputs: Any, **named: Any) -> Any:
            if self.counts:
                self.left -= 1
                if self.left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
            return operation(*inputs, **named)

        return counted


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("recipe")
    parser.add_argument("out")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--pause", type=float, default=0.0)
    parser.add_argument("--dies", type=int, nargs=2, metavar=("OPERATION", "STEP"), default=())
    given = parser.parse_args()
    observers: list[Silent] = [Pace(given.pause)]
    if given.dies:
        observers.append(die_before(*given.dies))
    regard.train(given.recipe, given.out, resume=given.resume, observers=observers)


if __name__ == "__main__":
    main()
