"""Settings of a training: how long, how large its steps, what is kept; and the values that follow from the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SerializeAsAny

from regard.core import rules
from regard.core.auto import AUTO, Auto, decided, is_auto
from regard.core.batch import Examples
from regard.core.config import Config
from regard.training import OPTIMIZERS, SCHEDULES, OptimizerPart, SchedulePart

MOST_THREADS = 1024
"""With tens of thousands the system gives a process no more, and it ends at once."""


@dataclass(frozen=True, slots=True)
class Extent:
    """How much there is to learn from: the examples of an epoch, and their positions on their longer side."""

    examples: int
    positions: int

    @classmethod
    def of(cls, examples: Examples) -> Extent:
        lengths_NA = examples.lengths_NA
        return cls(len(examples), int(lengths_NA.max(axis=1).sum()) if len(lengths_NA) else 0)


class TrainingConfig(Config):
    """How long, how large the steps, what is kept."""

    steps: Annotated[int, Auto(ge=1)] = AUTO
    batch_tokens: Annotated[int, Auto(ge=1)] = AUTO  # the global step: rows × longest, on either side
    accumulate: int = Field(1, ge=1)  # the step is computed in this many parts
    learning_rate: Annotated[float, Auto(gt=0)] = AUTO
    layer_decay: float = Field(1.0, gt=0, le=1)  # below 1: each layer moves so much more slowly than the one above
    clip: float = Field(1.0, ge=0)  # largest norm of the gradient; 0: never clipped
    dropout_warmup: int = Field(0, ge=0)  # steps in which dropout grows from nothing (Morerio et al. 2017)
    precision: Literal["float32", "bfloat16", "auto"] = "float32"  # of products; auto: bfloat16 where it is fast
    recompute: bool = False  # activation checkpointing: less memory, a third more work
    compile: bool = False
    threads: int = Field(0, ge=0, le=MOST_THREADS)
    validate_every: Annotated[int, Auto(ge=1)] = AUTO
    checkpoint_every: Annotated[int, Auto(ge=1)] = AUTO
    log_every: int = Field(10, ge=1)
    keep: int = Field(3, ge=1)  # checkpoints kept
    final: Literal["last", "best", "average"] = "last"  # which weights the run ends with
    average: int = Field(5, ge=1)  # checkpoints averaged at the end
    patience: int = Field(0, ge=0)  # validations without a better loss before an early stop; 0: never
    tensorboard: bool = False
    optimizer: Annotated[SerializeAsAny[OptimizerPart], OPTIMIZERS] = Field(default_factory=OPTIMIZERS.make)
    schedule: Annotated[SerializeAsAny[SchedulePart], SCHEDULES] = Field(default_factory=SCHEDULES.make)

    def unused(self) -> dict[str, str]:
        if self.final == "average":
            return {}
        return {"average": f'final = "{self.final}" averages nothing (final = "average" does)'}

    def settled(self, width: int, extent: Extent) -> Self:
        """The same for a model of this width and so much data, nothing left to be decided."""
        batch = decided(self.batch_tokens, lambda: rules.batch_tokens(extent.examples, extent.positions))
        steps = decided(self.steps, lambda: rules.steps(extent.examples, extent.positions, batch))
        known = self.model_copy(update={"steps": steps, "batch_tokens": batch})
        return known.model_copy(update=known.settled_course(width))

    def settled_course(self, width: int) -> dict[str, Any]:
        """What follows from the width of the model and, where they are known, from the steps."""
        rate = decided(self.learning_rate, lambda: self.schedule.learning_rate(self.optimizer.learning_rate(width)))
        if is_auto(self.steps):
            return {"learning_rate": rate}
        every = rules.validate_every(self.steps)
        return {
            "learning_rate": rate,
            "validate_every": decided(self.validate_every, lambda: every),
            "checkpoint_every": decided(self.checkpoint_every, lambda: every),
            "schedule": self.schedule.settled(width, self.steps),
        }

    def epochs(self, extent: Extent) -> float:
        """How often each example is seen, once steps and their size are known."""
        assert not is_auto(self.steps), "training is settled first"
        return self.steps * self.batch_tokens / max(1, extent.positions)
