"""The learner: model and loss in one module, so that whatever wraps a module wraps the whole step."""

from __future__ import annotations

from typing import Any

from torch import nn

from regard.core.task import Sums, Task


class Learner(nn.Module):
    """``forward(batch)`` is the task's sums: DDP, FSDP2 and ``torch.compile`` see the loss, not only the states.

    Its parameters are those of the model; the task has none.
    """

    def __init__(self, model: nn.Module, task: Task) -> None:
        super().__init__()
        self.model = model
        self.task = task

    def forward(self, batch: Any) -> Sums:
        return self.task.sums(self.model, batch)
