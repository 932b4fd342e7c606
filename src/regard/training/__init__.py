"""How weights move: the loop and its observers, optimisers and schedules, checkpoints, devices and ranks."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, Self

from regard.core import rules
from regard.core.auto import AUTO, Auto, decided
from regard.core.config import Choices, Part

if TYPE_CHECKING:
    from torch import nn

    from regard.training.optimizers import Optimizers


class OptimizerPart(Part):
    """Settings of an optimiser."""

    def learning_rate(self, width: int) -> float:
        """The usual one for a model of this width."""
        return rules.adam_rate(width)

    @abstractmethod
    def build(self, model: nn.Module, rate: float) -> Optimizers: ...


class SchedulePart(Part):
    """Settings of a learning-rate schedule."""

    warmup: Annotated[int, Auto()] = AUTO  # steps until the base rate is reached

    def settled(self, width: int, steps: int) -> Self:
        """The same for a model of this width and so many steps, nothing left to be decided."""
        return self.model_copy(update={"warmup": decided(self.warmup, lambda: rules.warmup(steps))})

    def learning_rate(self, usual: float) -> float:
        """The base rate that goes with it, ``usual`` being the optimiser's."""
        return usual

    @abstractmethod
    def factor(self, step: int, total: int) -> float:
        """The share of the base rate at this step, counted from 1, of so many."""
        ...


OPTIMIZERS = Choices(
    "optimizer",
    OptimizerPart,
    "muon",
    {
        "adam": "regard.training.optimizers:AdamConfig",
        "adamw": "regard.training.optimizers:AdamWConfig",
        "muon": "regard.training.muon:MuonConfig",
    },
)
SCHEDULES = Choices(
    "schedule",
    SchedulePart,
    "linear",
    {
        "paper": "regard.training.schedules:PaperSchedule",
        "inverse-root": "regard.training.schedules:InverseRootSchedule",
        "cosine": "regard.training.schedules:CosineSchedule",
        "linear": "regard.training.schedules:LinearSchedule",
        "constant": "regard.training.schedules:ConstantSchedule",
    },
)
