"""How weights move: the loop and its observers, optimisers and schedules, checkpoints, devices and ranks."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from pydantic import Field

from regard.core.config import Choices, Part

if TYPE_CHECKING:
    from torch import nn

    from regard.training.optimizers import Optimizers


class OptimizerPart(Part):
    """Settings of an optimiser."""

    @abstractmethod
    def build(self, model: nn.Module, rate: float) -> Optimizers: ...


class SchedulePart(Part):
    """Settings of a learning-rate schedule."""

    warmup: int = Field(0, ge=0)  # steps until the base rate is reached

    @abstractmethod
    def factor(self, step: int, total: int) -> float:
        """The share of the base rate at this step, counted from 1, of so many."""
        ...


OPTIMIZERS = Choices(
    "optimizer",
    OptimizerPart,
    "adam",
    {
        "adam": "regard.training.optimizers:AdamConfig",
        "adamw": "regard.training.optimizers:AdamWConfig",
        "muon": "regard.training.muon:MuonConfig",
    },
)
SCHEDULES = Choices(
    "schedule",
    SchedulePart,
    "paper",
    {
        "paper": "regard.training.schedules:PaperSchedule",
        "inverse-root": "regard.training.schedules:InverseRootSchedule",
        "cosine": "regard.training.schedules:CosineSchedule",
        "linear": "regard.training.schedules:LinearSchedule",
        "constant": "regard.training.schedules:ConstantSchedule",
    },
)
