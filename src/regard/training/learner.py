"""The learner: model and loss in one module, so that DDP, FSDP and compilation wrap the whole step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.core.batch import Batch
from regard.core.penalties import PENALTY, collected_penalties
from regard.core.seams.capabilities import Distils
from regard.core.seams.task import Sums, Task
from regard.layers.losses.distillation import Softening


@dataclass(frozen=True)
class Teacher:
    """A trained model that a smaller one learns from; it learns nothing."""

    model: nn.Module
    softening: Softening


class Learner(nn.Module):
    """``forward(batch)`` is the task's sums: DDP, FSDP2 and ``torch.compile`` see the loss, not only the states.

    What layers add to the loss is a sum of its own, ``penalty``, since it counts positions and not the loss's terms.
    Its parameters are those of the model; the task has none.
    """

    def __init__(self, model: nn.Module, task: Task, teacher: Teacher | None = None) -> None:
        super().__init__()
        self.teacher = teacher  # no module of this one: it is neither trained nor wrapped
        self.model = model
        self.task = task

    def forward(self, batch: Batch) -> Sums:
        with collected_penalties(batch.written_lengths_B) as penalties:
            sums = self._sums(batch)
        if not penalties:
            return sums
        return Sums({**sums.sums, PENALTY: sum_of(penalties)}, {**sums.counts, PENALTY: batch.tokens})

    def _sums(self, batch: Batch) -> Sums:
        if self.teacher is None or not self.model.training:
            return self.task.sums(self.model, batch)
        assert isinstance(self.task, Distils)
        return self.task.distilled(self.model, self.teacher.model, batch, self.teacher.softening)


def sum_of(penalties: Sequence[Tensor]) -> Tensor:
    return torch.stack([penalty.float().sum() for penalty in penalties]).sum()
