"""Learning-rate schedules: factors of the base rate as pure functions of the step, counted from 1."""

from __future__ import annotations

import math
from abc import abstractmethod

from pydantic import Field

from regard.training import SchedulePart


class PaperSchedule(SchedulePart):
    """d_model^−0.5 · min(step^−0.5, step · warmup^−1.5) (Vaswani et al. 2017, eq. 3); the base rate scales it."""

    kind: str = "paper"
    width: int = Field(512, ge=1)
    warmup: int = Field(4000, ge=1)

    def factor(self, step: int, total: int) -> float:
        return self.width**-0.5 * min(step**-0.5, step * self.warmup**-1.5)


class InverseRootSchedule(SchedulePart):
    """Up to the base rate over the warm-up, then down with the root of the step."""

    kind: str = "inverse-root"
    warmup: int = Field(1000, ge=1)

    def factor(self, step: int, total: int) -> float:
        return min(step / self.warmup, math.sqrt(self.warmup / step))


class DecayPart(SchedulePart):
    """Up over the warm-up, then down to a share of the base rate, ``final``, at the last step."""

    warmup: int = Field(100, ge=0)
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
    """The base rate after the warm-up."""

    kind: str = "constant"
    warmup: int = Field(0, ge=0)

    def factor(self, step: int, total: int) -> float:
        return min(1.0, step / self.warmup) if self.warmup else 1.0
