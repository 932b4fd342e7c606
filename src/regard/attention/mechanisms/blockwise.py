"""Full attention in blocks with an online softmax: how flash attention works, in plain tensor operations."""

from __future__ import annotations

import math
from typing import Any

import torch
from pydantic import Field
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.attention import AttentionContext, MechanismPart, formulas
from regard.attention.kernels import by_hand
from regard.attention.masks import Mask
from regard.attention.mechanism import MatrixMechanism
from regard.attention.softmax import scaled_dot_attention, scaled_dot_weights
from regard.core.seams import Mechanism


class Blockwise(MatrixMechanism):
    """softmax(QKᵀ/√d_k) V, exactly, without ever holding more than one block of the matrix.

    FlashAttention-2 (Dao 2023, algorithms 1 and 2; the online softmax is Milakov and Gimelshein's, 2018). A query's
    answer is carried from key block to key block as a running maximum m, a running sum ℓ and an unnormalised average:

        m' = max(m, rows' maxima of S),  ℓ' = e^(m − m') ℓ + Σ e^(S − m'),  O' = e^(m − m') O + e^(S − m') V

    and out = O/ℓ at the end. The backward pass keeps one number a query, L = m + log ℓ, and makes the weights anew as
    e^(S − L). Departures: blocks are taken one after the other, of all heads at once, and in which memory they
    lie, the point of the original, is left to the machine. It is there to be read; ``softmax`` is faster, on a fused
    kernel of the same idea.
    """

    reads_products = True

    def __init__(self, block: int) -> None:
        super().__init__()
        self.block = block

    def read(self, q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, mask: Mask, bias: Tensor | None = None) -> Tensor:
        if not by_hand(bias):
            return scaled_dot_attention(q_BHTK, k_BHSK, v_BHSV, mask, bias)
        q_BHTK, k_BHSK, v_BHSV = _one_type(q_BHTK, k_BHSK, v_BHSV)
        with torch.autocast(q_BHTK.device.type, enabled=False):
            return _OnlineSoftmax.apply(q_BHTK, k_BHSK, v_BHSV, mask, bias, self.block)

    def weights(self, q_BHTK: Tensor, k_BHSK: Tensor, mask: Mask, bias: Tensor | None = None) -> Tensor:
        return scaled_dot_weights(q_BHTK, k_BHSK, mask, bias)


def _one_type(*tensors: Tensor) -> tuple[Tensor, ...]:
    """In the widest type of any: narrow running sums would lose what later blocks add."""
    widest = max((one.dtype for one in tensors), key=lambda kind: kind.itemsize)
    widest = torch.float32 if widest.itemsize < 4 else widest
    return tuple(one.to(widest) for one in tensors)


class _OnlineSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, mask: Mask, bias: Tensor | None, block: int
    ) -> Tensor:
        queries, keys = q_BHTK.shape[-2], k_BHSK.shape[-2]
        out_BHTV = v_BHSV.new_empty(*q_BHTK.shape[:-1], v_BHSV.shape[-1])
        log_sum_BHT1 = q_BHTK.new_empty(*q_BHTK.shape[:-1], 1)
        for rows in stretches(queries, block):
            own_q, added = q_BHTK[..., rows, :], _added(mask, bias, rows, keys, q_BHTK)
            maximum = own_q.new_full((*own_q.shape[:-1], 1), -math.inf)
            total, read = torch.zeros_like(maximum), v_BHSV.new_zeros(*own_q.shape[:-1], v_BHSV.shape[-1])
            for seen in seen_stretches(mask, rows, keys, block):
                scores = _scores(own_q, k_BHSK[..., seen, :], added, seen)
                higher = torch.maximum(maximum, scores.amax(-1, keepdim=True))
                finite = higher.clamp(min=torch.finfo(higher.dtype).min)  # −∞ − −∞ where nothing was seen yet
                kept, gained = torch.exp(maximum - finite), torch.exp(scores - finite)
                total = kept * total + gained.sum(-1, keepdim=True)
                read = kept * read + gained @ v_BHSV[..., seen, :]
                maximum = higher
            out_BHTV[..., rows, :] = torch.where(total > 0, read / total, 0.0)
            log_sum_BHT1[..., rows, :] = torch.where(total > 0, maximum + total.log(), math.inf)
        ctx.save_for_backward(q_BHTK, k_BHSK, v_BHSV, out_BHTV, log_sum_BHT1)
        ctx.mask, ctx.bias, ctx.block = mask, bias, block
        return out_BHTV

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, do_BHTV: Tensor) -> tuple[Tensor | None, ...]:
        q_BHTK, k_BHSK, v_BHSV, out_BHTV, log_sum_BHT1 = ctx.saved_tensors
        dq_BHTK, dk_BHSK, dv_BHSV = (torch.zeros_like(one) for one in (q_BHTK, k_BHSK, v_BHSV))
        sums_BHT1 = (do_BHTV * out_BHTV).sum(-1, keepdim=True)  # rows' sums of weights ⊙ their gradients
        scale = q_BHTK.shape[-1] ** -0.5
        for rows in stretches(q_BHTK.shape[-2], ctx.block):
            own_q, own_do = q_BHTK[..., rows, :], do_BHTV[..., rows, :]
            added = _added(ctx.mask, ctx.bias, rows, k_BHSK.shape[-2], q_BHTK)
            for seen in seen_stretches(ctx.mask, rows, k_BHSK.shape[-2], ctx.block):
                own_k, own_v = k_BHSK[..., seen, :], v_BHSV[..., seen, :]
                scores = _scores(own_q, own_k, added, seen)
                weights = torch.exp(scores - log_sum_BHT1[..., rows, :])
                dscores = weights * (own_do @ own_v.mT - sums_BHT1[..., rows, :]) * scale
                dv_BHSV[..., seen, :] += weights.mT @ own_do
                dq_BHTK[..., rows, :] += dscores @ own_k
                dk_BHSK[..., seen, :] += dscores.mT @ own_q
        return dq_BHTK, dk_BHSK, dv_BHSV, None, None, None


def stretches(length: int, block: int) -> list[slice]:
    return [slice(start, min(start + block, length)) for start in range(0, length, block)]


def seen_stretches(mask: Mask, rows: slice, keys: int, block: int) -> list[slice]:
    """Blocks of keys; under a triangle those alone that begin before the last of these queries."""
    if mask.causal and mask.places_BT is None:
        keys = min(keys, mask.offset + rows.stop)
    return stretches(keys, block)


def _added(mask: Mask, bias: Tensor | None, rows: slice, keys: int, like: Tensor) -> Tensor | None:
    """What is added to the scores of these queries and any key: the bias, and −∞ where nobody may look."""
    if bias is not None and bias.shape[-2] > 1:
        bias = bias[..., rows, :]
    may_look = mask.part(rows).dense(rows.stop - rows.start, keys, like.device)
    if may_look is None:
        return bias
    bias = like.new_zeros(()) if bias is None else bias
    return torch.where(may_look, bias, -math.inf)


def _scores(q_BHTK: Tensor, k_BHSK: Tensor, added: Tensor | None, seen: slice) -> Tensor:
    """One block of QKᵀ/√d_k, with what is added to it."""
    scores = formulas.scaled_dot_scores(q_BHTK, k_BHSK)
    if added is None:
        return scores
    return scores + (added[..., seen] if added.shape[-1] > 1 else added)


class BlockwiseConfig(MechanismPart):
    """Full attention in blocks of so many queries and keys."""

    kind: str = "blockwise"
    block: int = Field(64, ge=1)

    def build(self, context: AttentionContext) -> Mechanism:
        return Blockwise(self.block)
