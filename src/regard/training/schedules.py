"""Learning-rate schedules: factors of the base rate as pure functions of the step, counted from 1."""

from __future__ import annotations

import math

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


class CosineSchedule(SchedulePart):
    """Up over the warm-up, then along a half cosine down to a share of the base rate at the last step."""

    kind: str = "cosine"
    warmup: int = Field(100, ge=0)
    final: float = Field(0.0, ge=0)

    def factor(self, step: int, total: int) -> float:
        if step < self.warmup:
            return step / self.warmup
        progress = min(1.0, (step - self.warmup) / max(1, total - self.warmup))
        return self.final + (1 - self.final) * 0.5 * (1 + math.cos(math.pi * progress))


class LinearSchedule(SchedulePart):
    """Up over the warm-up, then along a line down to a share of the base rate at the last step."""

    kind: str = "linear"
    warmup: int = Field(100, ge=0)
    final: float = Field(0.0, ge=0)

    def factor(self, step: int, total: int) -> float:
        if step < self.warmup:
            return step / self.warmup
        progress = min(1.0, (step - self.warmup) / max(1, total - self.warmup))
        return 1 - (1 - self.final) * progress


class ConstantSchedule(SchedulePart):
    """The base rate after the warm-up."""

    kind: str = "constant"
    warmup: int = Field(0, ge=0)

    def factor(self, step: int, total: int) -> float:
        return min(1.0, step / self.warmup) if self.warmup else 1.0
