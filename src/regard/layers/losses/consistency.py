"""R-Drop (Liang et al. 2021): two passes with other dropout must answer right, and must agree.

For little data: what a sentence means must not hang on the neurons that happened to be left. As in
``vocabulary_loss.py`` the logits of a batch are never held whole.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.core.precision import widest_type
from regard.layers.vocabulary_loss import VocabularyLoss

CHUNK_ELEMENTS = 1 << 20  # logits of one pass held at once: four such buffers stay near the processor


def consistency_loss(
    first_ND: Tensor, second_ND: Tensor, weight_WD: Tensor, targets_N: Tensor, smoothing: float, weight: float
) -> VocabularyLoss:
    """½ (CE(p) + CE(q)) + α/4 (KL(p‖q) + KL(q‖p)), p and q the two passes' distributions (eq. 4, halved)."""
    first_ND, second_ND = first_ND.to(weight_WD.dtype), second_ND.to(weight_WD.dtype)
    with torch.autocast(weight_WD.device.type, enabled=False):  # the small difference of two passes needs wide numbers
        return VocabularyLoss(*_ConsistencyLoss.apply(first_ND, second_ND, weight_WD, targets_N, smoothing, weight))


class _ConsistencyLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, first_ND: Tensor, second_ND: Tensor, weight_WD: Tensor, targets_N: Tensor, smoothing: float,
        weight: float,
    ) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        words = weight_WD.shape[0]
        rows = min(max(1, CHUNK_ELEMENTS // words), max(len(first_ND), 1))
        d_first_ND, d_second_ND, d_weight_WD = map(torch.empty_like, (first_ND, second_ND, weight_WD))
        d_weight_WD.zero_()
        exact = widest_type(first_ND.device.type)
        total = first_ND.new_zeros((), dtype=exact)
        plain = torch.zeros_like(total)
        correct = torch.zeros((), dtype=torch.int64, device=first_ND.device)
        buffer = first_ND.new_empty(4, rows, words)
        for start in range(0, len(first_ND), rows):
            here = slice(start, start + rows)
            states, targets_N1 = (first_ND[here], second_ND[here]), targets_N[here, None]
            log_p, log_q, d_p, d_q = buffer[:, : len(targets_N1)]
            for logits, own in zip((log_p, log_q), states, strict=True):
                torch.mm(own, weight_WD.t(), out=logits)
                correct += (logits.gather(1, targets_N1) == logits.amax(1, keepdim=True)).sum()
                torch.log_softmax(logits, dim=1, out=logits)
                said = logits.gather(1, targets_N1).sum(dtype=exact)
                plain -= said / 2
                total -= ((1 - smoothing) * said + smoothing / words * logits.sum(dtype=exact)) / 2
            difference = torch.sub(log_p, log_q, out=d_q)
            p, q = log_p.exp_(), log_q.exp_()
            p_from_q_N1 = torch.linalg.vecdot(p, difference)[:, None]  # KL(p‖q)
            q_from_p_N1 = -torch.linalg.vecdot(q, difference)[:, None]  # KL(q‖p)
            total += weight / 4 * (p_from_q_N1 + q_from_p_N1).sum(dtype=exact)
            # ∂KL(p‖q)/∂z_p = p (log p − log q − KL(p‖q)) and ∂KL(q‖p)/∂z_p = p − q; for z_q the other way round.
            difference.mul_(weight / 4)
            share = 0.5 + weight / 4
            torch.add(difference, share - weight / 4 * p_from_q_N1, out=d_p).mul_(p).sub_(q, alpha=weight / 4)
            torch.sub(share - weight / 4 * q_from_p_N1, difference, out=d_q).mul_(q).sub_(p, alpha=weight / 4)
            for d_logits, own, d_states in ((d_p, states[0], d_first_ND), (d_q, states[1], d_second_ND)):
                d_logits.sub_(smoothing / (2 * words))
                d_logits.scatter_add_(1, targets_N1, torch.full_like(p_from_q_N1, (smoothing - 1.0) / 2))
                torch.mm(d_logits, weight_WD, out=d_states[here])
                torch.addmm(d_weight_WD, d_logits.t(), own, out=d_weight_WD)
        ctx.save_for_backward(d_first_ND, d_second_ND, d_weight_WD)
        correct = correct // 2
        ctx.mark_non_differentiable(plain, correct)
        return total.to(first_ND.dtype), plain, correct

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> Any:
        return *(held.mul_(gradients[0]) for held in ctx.saved_tensors), None, None, None
