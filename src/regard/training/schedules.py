"""Learning-rate schedules: factors of the base rate as pure functions of the step, counted from 1."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Annotated, Self

from pydantic import Field

from regard.core import rules
from regard.core.auto import AUTO, Auto, decided
from regard.training import SchedulePart


class PaperSchedule(SchedulePart):
    """d_model^−0.5 · min(step^−0.5, step · warmup^−1.5) (Vaswani et al. 2017, eq. 3); the base rate scales it."""

    kind: str = "paper"
    width: Annotated[int, Auto(ge=1)] = AUTO  # the model's
    warmup: Annotated[int, Auto(ge=1)] = AUTO

    def settled(self, width: int, steps: int) -> Self:
        warmup = decided(self.warmup, lambda: rules.paper_warmup(steps))
        return self.model_copy(update={"width": decided(self.width, lambda: width), "warmup": warmup})

    def learning_rate(self, usual: float) -> float:
        """The formula gives the rate itself; 1 leaves it as published."""
        return 1.0

    def factor(self, step: int, total: int) -> float:
        return self.width**-0.5 * min(step**-0.5, step * self.warmup**-1.5)


class InverseRootSchedule(SchedulePart):
    """Up to the base rate over the warm-up, then down with the root of the step."""

    kind: str = "inverse-root"
    warmup: Annotated[int, Auto(ge=1)] = AUTO

    def factor(self, step: int, total: int) -> float:
        return min(step / self.warmup, math.sqrt(self.warmup / step))


class DecayPart(SchedulePart):
    """Up over the warm-up, then down to a share of the base rate, ``final``, at the last step."""

    final: float = Field(0.0, ge=0)

    def factor(self, step: int, total: int) -> float:
        if step < self.warmup:
            return step / self.warmup
        return self.decayed(min(1.0, (step - self.warmup) / max(1, total - self.warmup)))

    @abstractmethod
    def decayed(self, progress: float) -> float:
        """The factor so far on the way down, from 0 at the end of the warm-up to 1 at the last step."""


class CosineSchedule(DecayPart):
    """Up over the warm-up, then along a half cosine down to a share of the base rate at the last step."""

    kind: str = "cosine"

    def decayed(self, progress: float) -> float:
        return self.final + (1 - self.final) * 0.5 * (1 + math.cos(math.pi * progress))


class LinearSchedule(DecayPart):
    """Up over the warm-up, then along a line down to a share of the base rate at the last step."""

    kind: str = "linear"

    def decayed(self, progress: float) -> float:
        return 1 - (1 - self.final) * progress


class ConstantSchedule(SchedulePart):
    """The base rate, after a warm-up if one is wanted."""

    kind: str = "constant"
    warmup: Annotated[int, Auto()] = 0

    def factor(self, step: int, total: int) -> float:
        return min(1.0, step / self.warmup) if self.warmup else 1.0
