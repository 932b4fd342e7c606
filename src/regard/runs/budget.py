"""A time budget becomes a number of steps, by a short measurement on this machine; the steps are what is kept."""

from __future__ import annotations

import re
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

from regard.core.errors import OptionError
from regard.runs.folder import RunFolder
from regard.runs.recipe import Recipe
from regard.runs.train import prepare
from regard.training import machine

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
WARM_UP = 3  # the first steps pay for memory that later ones find ready
LONGEST = 20.0  # seconds of measuring
MOST_STEPS = 40


@dataclass(frozen=True, slots=True)
class Budget:
    """How long each training may take: seconds, or steps (the other is 0)."""

    seconds: float = 0.0
    steps: int = 0

    @classmethod
    def parse(cls, text: str) -> Budget:
        """``90s``, ``10m``, ``1.5h``, or ``2000 steps``."""
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|m|h|steps?)\s*", text)
        if not found or float(found[1]) <= 0:
            raise OptionError(f"a budget is a time or steps, as 90s, 10m, 1.5h or 2000steps; found {text!r}")
        amount, unit = float(found[1]), found[2]
        if unit in UNITS:
            return cls(seconds=amount * UNITS[unit])
        if amount != int(amount):
            raise OptionError(f"a number of steps is whole; found {text!r}")
        return cls(steps=int(amount))


@dataclass(frozen=True, slots=True)
class Pace:
    """What was measured: how long a step of this recipe takes here."""

    seconds_per_step: float
    measured_steps: int

    def steps_in(self, seconds: float) -> int:
        return max(1, int(seconds / self.seconds_per_step))


def with_steps(recipe: Recipe, steps: int, *settings: str) -> Recipe:
    """The recipe with this many steps, and with a warm-up that takes a fifth of them at most."""
    warmup = recipe.training.schedule.warmup
    fitting = [f"training.schedule.warmup={max(1, steps // 5)}"] if warmup > steps // 5 else []
    return Recipe.of(recipe, [f"training.steps={steps}", *fitting, *settings])


def measure_pace(recipe: Recipe, longest: float = LONGEST) -> Pace:
    """Trains for some seconds in a folder that is thrown away. The mean counts, since batches differ in length."""
    machine.keep_freed_memory()
    machine.set_threads(recipe.training.threads)
    durations: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        loop = prepare(recipe, RunFolder(Path(folder)), machine.Ranks(), [])
        for number, batch in enumerate(loop.batches()):
            before = loop.progress.seconds
            loop.step(batch)
            if number >= WARM_UP:
                durations.append(loop.progress.seconds - before)
            if len(durations) >= MOST_STEPS or (len(durations) >= WARM_UP and sum(durations) > longest):
                break
    return Pace(statistics.fmean(durations or [1.0]), len(durations))
