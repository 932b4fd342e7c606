"""softmax(QKᵀ/√d_k) V, exactly: in plain products with a gradient by hand while it is short, else fused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from regard.attention.masks import CAUSAL, Mask, decided
from regard.core.precision import narrow_type

NARROW_FROM_SCORES = 64 * 64  # below, narrow products gain nothing, and each shape would need a kernel of its own
LANES = 16 if torch.backends.cpu.get_cpu_capability() == "AVX512" else 8  # numbers in one of the processor's vectors


def short_attention(q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, mask: Mask, bias: Tensor | None) -> Tensor:
    """The formula in plain products, for sentences so short that the matrix fits into the cache."""
    queries, keys = q_BHTK.shape[-2], k_BHSK.shape[-2]
    may_look = mask.dense(queries, keys, q_BHTK.device) if may_see_nothing(mask) else None
    if by_hand(bias):
        narrow = narrow_type(q_BHTK.device.type)
        kinds = Kinds(q_BHTK.dtype, v_BHSV.dtype)
        if narrow is not None:
            kinds = Kinds(narrow if queries * keys >= NARROW_FROM_SCORES else torch.float32, narrow)
        added = additive_mask(mask, bias, kinds.products, q_BHTK.device, queries, keys)
        with torch.autocast(q_BHTK.device.type, enabled=False):
            return short_attention_by_hand(q_BHTK, k_BHSK, v_BHSV, mask, added, may_look, kinds)
    added = additive_mask(mask, bias, q_BHTK.dtype, q_BHTK.device, queries, keys)
    scores_BHTS = (q_BHTK * q_BHTK.shape[-1] ** -0.5) @ k_BHSK.transpose(-1, -2)
    if added is not None:
        scores_BHTS = scores_BHTS + added
    weights_BHTS = torch.softmax(scores_BHTS, dim=-1)
    if may_look is not None:
        weights_BHTS = weights_BHTS.masked_fill(~may_look, 0.0)
    return weights_BHTS @ v_BHSV


def by_hand(bias: Tensor | None) -> bool:
    """Whether our own gradient serves: a compiler makes one itself, and a learned bias wants one too."""
    return not torch.compiler.is_compiling() and not (bias is not None and bias.requires_grad)


class Kinds(NamedTuple):
    """In what type attention multiplies, and in what type it answers."""

    products: torch.dtype
    answers: torch.dtype


def short_attention_by_hand(
    q_BHTK: Tensor,
    k_BHSK: Tensor,
    v_BHSV: Tensor,
    mask: Mask,
    added: Tensor | None,
    may_look: Tensor | None,
    kinds: Kinds,
) -> Tensor:
    """The whole matrix at once, or under a triangle in blocks of queries that leave out what lies ahead of them."""
    queries, keys = q_BHTK.shape[-2], k_BHSK.shape[-2]
    rows = max(64 if kinds.products.itemsize > 2 else 128, 64 * math.ceil(queries / 256))
    if not mask.causal or queries < 2 * rows or mask.places_BT is not None:
        return _ShortAttention.apply(q_BHTK, k_BHSK, v_BHSV, added, may_look, kinds)
    stops = [*range(rows, queries, rows), queries]
    seen = [*(min(mask.offset + stop, keys) for stop in stops[:-1]), keys]
    blocks = [(slice(start, stop), slice(0, last)) for start, stop, last in zip([0, *stops], stops, seen, strict=False)]
    return _BlockedAttention.apply(q_BHTK, k_BHSK, v_BHSV, added, may_look, kinds, blocks)


class _ShortAttention(torch.autograd.Function):
    """Attention with its gradient by hand: four products, and hardly a pass more."""

    @staticmethod
    def forward(
        ctx: Any, q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, added: Tensor | None, may_look: Tensor | None,
        kinds: Kinds,
    ) -> Tensor:  # fmt: skip
        q_NTK, k_NSK, v_NSV = (by_head(one, kinds.products) for one in (q_BHTK, k_BHSK, v_BHSV))
        out_NTV, weights_NTS = attended(q_NTK, k_NSK, v_NSV, added, may_look, q_BHTK.shape[:2])
        ctx.products, ctx.given = kinds.products, (q_BHTK.dtype, k_BHSK.dtype, v_BHSV.dtype)
        ctx.save_for_backward(q_NTK, k_NSK, v_NSV, weights_NTS)
        return by_position(out_NTV, q_BHTK.shape[:2], kinds.answers)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, do_BHTV: Tensor) -> tuple[Tensor | None, ...]:
        gradients = attended_gradients(by_head(do_BHTV, ctx.products), *ctx.saved_tensors)
        by_kind = zip(gradients, ctx.given, strict=True)
        return *(by_position(own, do_BHTV.shape[:2], kind) for own, kind in by_kind), None, None, None


class _BlockedAttention(torch.autograd.Function):
    """The same in blocks: some queries each, and the keys that any of them may see; the last block has all keys.

    Four blocks under a triangle save 3/8 of the work. What is joined here lies as heads are projected: BTHK.
    """

    @staticmethod
    def forward(
        ctx: Any, q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, added: Tensor | None, may_look: Tensor | None,
        kinds: Kinds, blocks: list[tuple[slice, slice]],
    ) -> Tensor:  # fmt: skip
        q_NTK, k_NSK, v_NSV = (by_head(one, kinds.products) for one in (q_BHTK, k_BHSK, v_BHSV))
        batch, heads, queries, _ = q_BHTK.shape
        out_BTHV = v_BHSV.new_empty(batch, queries, heads, v_BHSV.shape[-1], dtype=kinds.answers)
        weights = []
        for rows, seen in blocks:
            own_added, own_look = block_of(added, rows, seen), block_of(may_look, rows, seen)
            out_NTV, weights_NTS = attended(
                q_NTK[:, rows], k_NSK[:, seen], v_NSV[:, seen], own_added, own_look, (batch, heads)
            )
            out_BTHV[:, rows] = out_NTV.unflatten(0, (batch, heads)).transpose(1, 2)
            weights.append(weights_NTS)
        ctx.blocks, ctx.products, ctx.given = blocks, kinds.products, (q_BHTK.dtype, k_BHSK.dtype, v_BHSV.dtype)
        ctx.save_for_backward(q_NTK, k_NSK, v_NSV, *weights)
        return out_BTHV.transpose(1, 2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, do_BHTV: Tensor) -> tuple[Tensor | None, ...]:
        q_NTK, k_NSK, v_NSV, *weights = ctx.saved_tensors
        batch, heads, queries, _ = do_BHTV.shape
        do_NTV = by_head(do_BHTV, ctx.products)
        dq_BTHK = q_NTK.new_empty(batch, queries, heads, q_NTK.shape[-1], dtype=ctx.given[0])
        totals: tuple[Tensor, ...] = ()
        for (rows, seen), weights_NTS in zip(reversed(ctx.blocks), reversed(weights), strict=True):
            dq_NTK, *shares = attended_gradients(
                do_NTV[:, rows], q_NTK[:, rows], k_NSK[:, seen], v_NSV[:, seen], weights_NTS
            )
            dq_BTHK[:, rows] = dq_NTK.unflatten(0, (batch, heads)).transpose(1, 2)
            for total, share in zip(totals, shares, strict=False):
                total[:, seen] += share
            totals = totals or tuple(shares)
        dk_BHSK, dv_BHSV = (
            by_position(own, (batch, heads), kind) for own, kind in zip(totals, ctx.given[1:], strict=True)
        )
        return dq_BTHK.transpose(1, 2), dk_BHSK, dv_BHSV, None, None, None, None


def by_head(x_BHTK: Tensor, kind: torch.dtype) -> Tensor:
    """x_NTK, one matrix after the other for each sentence and head; types are changed in the same pass."""
    return x_BHTK.to(kind, memory_format=torch.contiguous_format).flatten(0, 1)


def by_position(x_NTK: Tensor, batch_and_heads: Sequence[int], kind: torch.dtype) -> Tensor:
    """x_BHTK that lies as heads are projected, BTHK, where its type must be changed; else as it is."""
    x_BTHK = x_NTK.unflatten(0, batch_and_heads).transpose(1, 2)
    return x_BTHK.to(kind, memory_format=torch.contiguous_format).transpose(1, 2)


def attended(
    q_NTK: Tensor,
    k_NSK: Tensor,
    v_NSV: Tensor,
    added: Tensor | None,
    may_look: Tensor | None,
    batch_and_heads: tuple[int, ...],
) -> tuple[Tensor, Tensor]:
    """A = softmax(QKᵀ/√d_k + mask); AV, and A itself."""
    weights_NTS = attended_weights(q_NTK, k_NSK, added, may_look, batch_and_heads)
    return torch.bmm(weights_NTS, v_NSV), weights_NTS


def attended_weights(
    q_NTK: Tensor,
    k_NSK: Tensor,
    added: Tensor | None,
    may_look: Tensor | None,
    batch_and_heads: tuple[int, ...],
) -> Tensor:
    """A = softmax(QKᵀ/√d_k + mask), in one matrix from the scores on."""
    weights_NTS = scaled_bmm(q_NTK, k_NSK.mT, q_NTK.shape[-1] ** -0.5)
    weights_BHTS = weights_NTS.view(*batch_and_heads, *weights_NTS.shape[1:])  # all in place from here
    if added is not None:
        weights_BHTS.add_(added)
    softmax_(weights_NTS)
    if may_look is not None:
        weights_BHTS.masked_fill_(~may_look, 0.0)
    return weights_NTS


def attended_gradients(
    do_NTV: Tensor, q_NTK: Tensor, k_NSK: Tensor, v_NSV: Tensor, weights_NTS: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """dV = Aᵀ dO, dA = dO Vᵀ, dS = A ⊙ (dA − rows' sums of A ⊙ dA), dQ = dS K/√d_k, dK = dSᵀ Q/√d_k."""
    scale = q_NTK.shape[-1] ** -0.5
    dv_NSV = torch.bmm(weights_NTS.mT, do_NTV)
    dweights_NTS = torch.bmm(do_NTV, v_NSV.mT)
    dscores_NTS = softmax_gradient(dweights_NTS, weights_NTS)
    return scaled_bmm(dscores_NTS, k_NSK, scale), scaled_bmm(dscores_NTS.mT, q_NTK, scale), dv_NSV


def softmax_(scores: Tensor) -> None:
    """Over the last axis, in place; torch's own takes rows shorter than a vector number by number, much slower."""
    if scores.shape[-1] >= LANES:
        torch.softmax(scores, dim=-1, out=scores)
    else:
        scores.sub_(scores.amax(-1, keepdim=True)).exp_()
        scores.div_(scores.sum(-1, keepdim=True))


def softmax_gradient(dweights: Tensor, weights: Tensor) -> Tensor:
    """A ⊙ (dA − rows' sums of A ⊙ dA)."""
    if weights.shape[-1] >= LANES:
        return torch._softmax_backward_data(dweights, weights, -1, weights.dtype)
    dscores = dweights.mul_(weights)
    return dscores.addcmul_(weights, dscores.sum(-1, keepdim=True), value=-1)


def block_of(matrix: Tensor | None, rows: slice, columns: slice) -> Tensor | None:
    """This part of a matrix; one that says the same for all rows, or all columns, stays so."""
    if matrix is None:
        return None
    every = slice(None)
    return matrix[..., rows if matrix.shape[-2] > 1 else every, columns if matrix.shape[-1] > 1 else every]


def scaled_bmm(a_NIJ: Tensor, b_NJK: Tensor, scale: float) -> Tensor:
    """scale · AB in one pass."""
    return torch.baddbmm(a_NIJ.new_empty(1), a_NIJ, b_NJK, beta=0, alpha=scale)


def fused_attention(q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, mask: Mask, bias: Tensor | None) -> Tensor:
    """torch's fused kernel; the triangle is left to it where the mask is nothing else."""
    if bias is None and (mask.is_causal_only or mask.is_everything):
        return functional.scaled_dot_product_attention(q_BHTK, k_BHSK, v_BHSV, is_causal=mask.is_causal_only)
    queries, keys = q_BHTK.shape[-2], k_BHSK.shape[-2]
    if bias is None:
        may_look = mask.dense(queries, keys, q_BHTK.device)
        return functional.scaled_dot_product_attention(q_BHTK, k_BHSK, v_BHSV, attn_mask=may_look)
    added = additive_mask(mask, bias, q_BHTK.dtype, q_BHTK.device, queries, keys)
    out = functional.scaled_dot_product_attention(q_BHTK, k_BHSK, v_BHSV, attn_mask=added)
    if may_see_nothing(mask):
        may_look = mask.dense(queries, keys, q_BHTK.device)
        assert may_look is not None
        out = out.masked_fill(~may_look.any(-1, keepdim=True), 0.0)
    return out


def additive_mask(
    mask: Mask, bias: Tensor | None, kind: torch.dtype, device: torch.device, queries: int, keys: int
) -> Tensor | None:
    """Bias and mask as one tensor that is added to the scores.

    Forbidden keys get a large finite number: their weight underflows to exactly 0 beside any allowed key,
    a row without allowed keys stays finite, and ``exp`` stays away from slow denormal numbers.
    """
    if mask.is_causal_only and keys > 1 and not torch.compiler.is_compiling():
        forbidden = triangle(queries, keys, kind, device)
    else:
        may_look = mask.dense(queries, keys, device)
        if may_look is None:
            return bias
        forbidden = additive_mask_of(may_look, kind)
    return forbidden if bias is None else forbidden + bias


@lru_cache(maxsize=64)  # every layer of every step asks for the same few
def triangle(queries: int, keys: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """What forbids the future; shared by all who ask, so it is never written to."""
    may_look = CAUSAL.dense(queries, keys, device)
    assert may_look is not None
    return additive_mask_of(may_look, dtype)


def additive_mask_of(may_look: Tensor, dtype: torch.dtype) -> Tensor:
    """0 where a query may look, a large negative number where it may not."""
    forbidden = torch.zeros(may_look.shape, dtype=dtype, device=may_look.device)
    return forbidden.masked_fill_(~may_look, -1e9 if dtype != torch.float16 else -6e4)


def may_see_nothing(mask: Mask) -> bool:
    """Whether some query could be left without any key; triangles and non-empty sentences never do that."""
    return (
        mask.window > 0  # a query may stand beyond all keys
        or mask.dense_BHTS is not None
        or mask.query_segments_BT is not None
        or (mask.lengths_B is not None and decided((mask.lengths_B < 1).any(), exporting=True))
    )
