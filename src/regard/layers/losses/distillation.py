"""Distillation: how far a student's chances are from a teacher's, softened (Hinton et al. 2015, section 2)."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from regard.layers.vocabulary_loss import VocabularyLoss

CHUNK_ELEMENTS = 1 << 22  # logits held at once, of student and teacher each


class Softening(NamedTuple):
    """How much of the loss the teacher's chances are, and by what logits are divided before they become chances."""

    weight: float
    temperature: float

    def mixed(self, given: Tensor, taught: Tensor) -> Tensor:
        return (1 - self.weight) * given + self.weight * taught


class Scored(NamedTuple):
    """States and the matrix that makes logits of them."""

    states_ND: Tensor
    matrix_WD: Tensor


class Lesson(NamedTuple):
    """What a teacher says of a batch."""

    teacher: Scored
    softening: Softening

    def added(self, loss: VocabularyLoss, student: Scored) -> VocabularyLoss:
        """The loss of the right answers, mixed with that of the teacher's chances."""
        taught = distillation_loss(student, self.teacher, self.softening.temperature)
        return loss._replace(smoothed=self.softening.mixed(loss.smoothed, taught))


def distillation_loss(student: Scored, teacher: Scored, temperature: float) -> Tensor:
    """T² Σ KL(softmax(teacher / T) ‖ softmax(student / T)) over positions; T² keeps gradients as large as at T = 1.

    No logits of a whole batch are ever held; the teacher learns nothing.
    """
    taught = teacher.states_ND.detach(), teacher.matrix_WD.detach()
    return _Distillation.apply(*student, *taught, temperature)


class _Distillation(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, states_ND: Tensor, matrix_WD: Tensor, theirs_NE: Tensor, theirs_WE: Tensor, temperature: float
    ) -> Tensor:
        states_ND, theirs_NE = states_ND.to(matrix_WD.dtype), theirs_NE.to(theirs_WE.dtype)
        d_states_ND, d_matrix_WD = torch.empty_like(states_ND), torch.zeros_like(matrix_WD)
        total = states_ND.new_zeros(())
        for start in range(0, len(states_ND), rows := max(1, CHUNK_ELEMENTS // len(matrix_WD))):
            own = slice(start, start + rows)
            ours = functional.log_softmax(states_ND[own] @ matrix_WD.T / temperature, dim=-1)
            theirs = functional.log_softmax(theirs_NE[own] @ theirs_WE.T / temperature, dim=-1)
            total += functional.kl_div(ours, theirs, reduction="sum", log_target=True)
            d_logits = ours.exp_().sub_(theirs.exp_())
            d_states_ND[own] = d_logits @ matrix_WD
            d_matrix_WD.addmm_(d_logits.T, states_ND[own])
        ctx.save_for_backward(d_states_ND, d_matrix_WD)
        ctx.temperature = temperature
        return total * temperature**2

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_total: Tensor) -> tuple[Tensor | None, ...]:
        d_states_ND, d_matrix_WD = ctx.saved_tensors
        scale = d_total * ctx.temperature  # T² of the loss, over the T by which logits were divided
        return d_states_ND * scale, d_matrix_WD * scale, None, None, None


def class_distillation_loss(ours_BC: Tensor, theirs_BC: Tensor, temperature: float) -> Tensor:
    """The same of logits that are there."""
    ours = functional.log_softmax(ours_BC / temperature, dim=-1)
    theirs = functional.log_softmax(theirs_BC.detach() / temperature, dim=-1)
    return functional.kl_div(ours, theirs, reduction="sum", log_target=True) * temperature**2
