"""The size of a model: the largest that sees enough data within the time, measured on this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

from regard.core import rules
from regard.runs.automatic.proposal import Decision, Proposal, Size
from regard.runs.budget import FEWEST_STEPS, Deadline, Pace, in_words, measure, too_short
from regard.runs.memory import count_parameters
from regard.runs.recipe import Recipe
from regard.runs.train import Gathered

SHARE = 0.012  # of the budget, for measuring one size
SHORTEST, LONGEST = 1.0, 8.0  # seconds


class MeasuredSize(NamedTuple):
    """A size that was measured."""

    size: Size
    pace: Pace
    steps: int  # that fit in
    parameters: int  # of the layers; tables that are looked up cost nothing
    positions: float  # of one step

    @property
    def seen(self) -> float:
        return self.steps * self.positions

    @property
    def is_enough(self) -> bool:
        """Whether it sees enough for its size."""
        return self.seen >= rules.positions_wanted(self.parameters)


def decide_size(
    proposal: Proposal, gathered: Gathered, deadline: Deadline, settings: Sequence[str], said: Callable[[str], None]
) -> tuple[Proposal, Recipe]:
    """The proposal and its recipe, size and steps decided; ``settings`` of the user's stay as they are."""
    kept: MeasuredSize | None = None
    for size in proposal.sizes:
        said(f"measuring a model of {size.name}")
        found = measure_size(proposal, gathered, size, deadline, settings, kept)
        if kept is not None and not found.is_enough:
            break
        kept = found
        if rules.is_too_large(found.parameters, gathered.extent.positions * proposal.positions_each):
            break
    assert kept is not None, "a proposal has a size at the least"
    if kept.steps < FEWEST_STEPS and not any(one.startswith("training.steps=") for one in settings):
        raise too_short(deadline, kept.pace, kept.steps)
    epochs = kept.seen / max(1, gathered.extent.positions * proposal.positions_each)
    pace, given = kept.pace.seconds_per_step, in_words(deadline.seconds)
    steps, why = kept.steps, f"{epochs:.3g} epochs are what fits into {given}, a step taking {pace:.3g} s"
    if epochs > proposal.epochs:
        steps, epochs = max(FEWEST_STEPS, int(steps * proposal.epochs / epochs)), proposal.epochs
        why = f"{epochs:.0f} epochs; more would overfit"
    why_so_large = f"{kept.size.name}: the largest that sees enough data for its size in this time"
    made = proposal.with_decisions(
        *(Decision(path, value, "" if place else why_so_large) for place, (path, value) in
          enumerate(kept.size.settings.items())),
        *_dropout(proposal, kept, gathered, epochs, settings),
        Decision("training.steps", steps, why),
        *_validations(kept.pace, steps, settings),
    ).with_settings(settings)  # fmt: skip
    recipe = made.recipe(*settings)
    return made, gathered.recipe.model_copy(update={"model": recipe.model, "training": recipe.training})


def _validations(pace: Pace, steps: int, settings: Sequence[str]) -> list[Decision]:
    """How often to validate, where the usual number would take more than a tenth of the time."""
    times = pace.validations_in(steps * pace.seconds_per_step)
    if times == rules.VALIDATIONS or any(one.startswith("training.validate_every=") for one in settings):
        return []
    why = f"{times} times; each takes {in_words(pace.seconds_per_validation)}"
    return [Decision("training.validate_every", rules.validate_every(steps, times), why)]


def _dropout(
    proposal: Proposal, kept: MeasuredSize, gathered: Gathered, epochs: float, settings: Sequence[str]
) -> list[Decision]:
    """How much is dropped, unless the proposal says so already."""
    if any(one.path == "model.dropout" for one in proposal.decisions):
        return []
    parameters = count_parameters(proposal.of_size(kept.size).recipe(*settings).model, gathered.task.ports())
    amount = rules.dropout(epochs, parameters, gathered.extent.positions)
    return [Decision("model.dropout", amount, f"{parameters:,} parameters see each example {epochs:.2g} times")]


def measure_size(
    proposal: Proposal, gathered: Gathered, size: Size, deadline: Deadline, settings: Sequence[str],
    smaller: MeasuredSize | None,
) -> MeasuredSize:
    """What validation costs is measured once: with many examples it takes longer than all steps that are measured."""
    recipe = proposal.of_size(size).with_decisions(Decision("training.steps", 10**6)).recipe(*settings)
    seconds = min(LONGEST, max(SHORTEST, SHARE * deadline.seconds))
    pace = measure(gathered, recipe, seconds, validation=smaller is None)
    if smaller is not None:
        pace = pace.validating_like(smaller.pace)
    training = recipe.training.settled(recipe.model.width, gathered.extent)
    positions, steps = training.batch_tokens * proposal.positions_each, pace.steps_in(deadline.left_to_train(recipe))
    return MeasuredSize(size, pace, steps, layers_of(recipe, gathered), positions)


def layers_of(recipe: Recipe, gathered: Gathered) -> int:
    """The parameters that every position passes through."""
    with torch.device("meta"):
        model = recipe.model.build(gathered.task.ports())
    return sum(weight.numel() for name, weight in model.named_parameters() if "embedding" not in name)
