"""A time budget becomes a number of steps, by a short measurement on this machine; the recipe keeps the steps."""

from __future__ import annotations

import re
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from torch import Tensor

from regard.core import rules
from regard.core.auto import AUTO, is_auto
from regard.core.errors import OptionError
from regard.core.seams.capabilities import Stateful
from regard.runs.folder import RunFolder
from regard.runs.recipe import Recipe
from regard.runs.train import Decide, Gathered, gather, new_loop
from regard.training import machine
from regard.training.observers import Observers

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
WARM_UP = 3  # the first steps pay for memory that later ones find ready
LONGEST = 20.0  # seconds of measuring
SHARE = 0.05  # of a budget, at the most
MOST_STEPS = 40
FEWEST_STEPS = 100  # fewer teach nothing
PAGE_SHARE, LONGEST_PAGE = 0.1, 20.0  # of a budget, and seconds: for the page about what a language model has learned


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
    """What was measured: how long a step of this recipe takes here, and how long it takes to validate and to save."""

    seconds_per_step: float
    measured_steps: int
    seconds_per_validation: float = 0.0

    def validations_in(self, seconds: float) -> int:
        return rules.validations_in(seconds, self.seconds_per_validation)

    def steps_in(self, seconds: float) -> int:
        """How many steps fit in, with the validations between them and one at the end."""
        left = seconds - (self.validations_in(seconds) + 1) * self.seconds_per_validation
        return max(1, int(left / self.seconds_per_step))

    def validating_like(self, other: Pace) -> Pace:
        """The same with validations that another model measured, longer or shorter by as much as a step is."""
        cost = other.seconds_per_validation * self.seconds_per_step / other.seconds_per_step
        return replace(self, seconds_per_validation=cost)


@dataclass(frozen=True, slots=True)
class Deadline:
    """When everything is to be over: reading, measuring, training and validating, from when the command began."""

    seconds: float
    began: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        return self.seconds - (time.monotonic() - self.began)

    def left_to_train(self, recipe: Recipe) -> float:
        """Without what is written after training."""
        page = min(PAGE_SHARE * self.seconds, LONGEST_PAGE) if recipe.task.explains_itself else 0.0
        return max(0.0, self.left - page)


def with_steps(recipe: Recipe, steps: int, *settings: str, validations: int = rules.VALIDATIONS) -> Recipe:
    """The recipe with this many steps and, unless it says when, validations; its warm-up takes a fifth of the steps at
    the most."""
    warmup, most = recipe.training.schedule.warmup, max(1, steps // 5)
    fitting = [f"training.schedule.warmup={most}"] if warmup > most else []
    if is_auto(recipe.training.validate_every) and validations < rules.VALIDATIONS:
        fitting.append(f"training.validate_every={rules.validate_every(steps, validations)}")
    return Recipe.of(recipe, [f"training.steps={steps}", *fitting, *settings])


def without_steps(recipe: Recipe) -> Recipe:
    """The recipe whose steps are still to be decided."""
    return Recipe.of(recipe, [f'training.steps="{AUTO}"'])


def within(deadline: Deadline, said: Callable[[str], None]) -> Decide:
    """Decides the steps of a recipe once its data is there."""

    def decide(gathered: Gathered) -> Recipe:
        said("measuring how long a step takes")
        pace = measure(gathered, gathered.recipe, min(LONGEST, SHARE * deadline.seconds))
        return paced(gathered, gathered.recipe, pace, deadline, said)

    return decide


def paced(
    gathered: Gathered, recipe: Recipe, pace: Pace, deadline: Deadline, said: Callable[[str], None]
) -> Recipe:
    """The recipe with as many steps as are left; what is hopeless is refused, what was decided is said."""
    seconds = deadline.left_to_train(recipe)
    steps = pace.steps_in(seconds)
    batch = recipe.training.settled(recipe.model.width, gathered.extent).batch_tokens
    epochs = steps * batch / max(1, gathered.extent.positions)
    if steps < FEWEST_STEPS:
        raise too_short(deadline, pace, steps)
    said(
        f"a step takes {pace.seconds_per_step:.3g} s: {steps:,} steps, {epochs:.3g} epochs, in "
        f"{in_words(deadline.seconds)}"
    )
    return with_steps(recipe, steps, validations=pace.validations_in(seconds))


def too_short(deadline: Deadline, pace: Pace, steps: int) -> OptionError:
    """Said before training, not after it."""
    needed = deadline.seconds - deadline.left + FEWEST_STEPS * pace.seconds_per_step
    needed += 3 * pace.seconds_per_validation  # two between, one at the end
    return OptionError(
        f"a budget of {in_words(deadline.seconds)} leaves {steps} steps of {pace.seconds_per_step:.2f} s, too few to "
        f"learn anything; give {in_words(1.2 * needed)} or more, a smaller model (--set model.width=…), or smaller "
        "steps (--set training.batch_tokens=…)"
    )


def in_words(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f}s"
    return f"{seconds / 60:.3g}m" if seconds < 7200 else f"{seconds / 3600:.3g}h"


def measure_pace(recipe: Recipe, longest: float = LONGEST) -> Pace:
    """Trains for some seconds in a folder that is thrown away."""
    machine.tune_allocator()
    machine.set_threads(recipe.training.threads)
    with tempfile.TemporaryDirectory() as folder:
        gathered = gather(recipe, RunFolder(Path(folder)), machine.Ranks(), Observers())
        return measure(gathered, recipe, longest, validation=False)


def measure(gathered: Gathered, recipe: Recipe, longest: float, *, validation: bool = True) -> Pace:
    """How fast a recipe trains on data that is there already. The mean counts, since batches differ in length."""
    durations: list[float] = []
    kept = state_of(gathered)
    with tempfile.TemporaryDirectory() as folder:
        recipe = recipe.model_copy(update={"task": gathered.recipe.task})
        loop = new_loop(gathered._replace(recipe=recipe), RunFolder(Path(folder)), machine.Ranks(), Observers())
        for number, batch in enumerate(loop.batches()):
            before = loop.progress.seconds
            loop.step(batch)
            if number >= WARM_UP:
                durations.append(loop.progress.seconds - before)
            if len(durations) >= MOST_STEPS or (len(durations) >= WARM_UP and sum(durations) > longest):
                break
        validating = 0.0
        if validation:
            began = time.perf_counter()
            loop.validate()  # with the sample that a language model writes, and the best weights
            loop.save()
            validating = time.perf_counter() - began
    if isinstance(gathered.task, Stateful):
        gathered.task.load_state_dict(kept)
    return Pace(statistics.fmean(durations or [1.0]), len(durations), validating)


def state_of(gathered: Gathered) -> Mapping[str, Tensor]:
    """What the task keeps from step to step, so that measuring leaves it as it was."""
    return dict(gathered.task.state_dict()) if isinstance(gathered.task, Stateful) else {}
