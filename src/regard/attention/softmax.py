"""Softmax attention: a score and a normalisation; the scaled dot product runs on the fastest exact kernel."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from regard.attention import formulas
from regard.attention.masks import CAUSAL, Mask, decided
from regard.core.config import Part
from regard.core.precision import narrow_type

# Up to so many scores a head, plain products beat the fused kernel on a CPU (its blocks are larger
# than the whole problem); above it the fused kernel saves the matrix. Measured by benchmarks/attention.py.
PLAIN_UP_TO_SCORES = 128 * 128
NARROW_GAIN = 4  # in narrow numbers the products gain more than the fused kernel: they win up to so many times as many
NARROW_FROM_SCORES = 64 * 64  # below, narrow products gain nothing, and each shape would need a kernel of its own


class Softmax(nn.Module):
    """Attention with weights softmax(score(q, k)); exact, with a matrix, causal by mask, cacheable."""

    causal = False
    cacheable = True
    has_matrix = True

    def __init__(self, score: nn.Module, temperature: float = 1.0) -> None:
        super().__init__()
        self.score = score
        self.temperature = temperature

    def forward(
        self, q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, mask: Mask, bias: Tensor | None = None
    ) -> Tensor:
        return formulas.read(self.weights(q_BHTK, k_BHSK, mask, bias), v_BHSV)

    def weights(self, q_BHTK: Tensor, k_BHSK: Tensor, mask: Mask, bias: Tensor | None = None) -> Tensor:
        return softmax_weights(self.score(q_BHTK, k_BHSK), mask, bias, self.temperature)


def softmax_weights(scores_BHTS: Tensor, mask: Mask, bias: Tensor | None, temperature: float = 1.0) -> Tensor:
    """The plain formula: bias added, mask applied, normalised."""
    if bias is not None:
        scores_BHTS = scores_BHTS + bias
    may_look = mask.dense(scores_BHTS.shape[-2], scores_BHTS.shape[-1], scores_BHTS.device)
    return formulas.normalise(scores_BHTS, may_look, temperature)


class ScaledDot(nn.Module):
    """softmax(QKᵀ/√d_k) V, exactly, by whichever kernel is fastest for the shape."""

    causal = False
    cacheable = True
    has_matrix = True

    def forward(
        self, q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, mask: Mask, bias: Tensor | None = None
    ) -> Tensor:
        queries, keys = q_BHTK.shape[-2], k_BHSK.shape[-2]
        exporting = torch.compiler.is_exporting()  # a graph serves any length, so nothing is chosen by it
        limit = PLAIN_UP_TO_SCORES * (1 if narrow_type(q_BHTK.device.type) is None else NARROW_GAIN)
        if exporting or (q_BHTK.device.type == "cpu" and queries * keys <= limit):
            return short_attention(q_BHTK, k_BHSK, v_BHSV, mask, bias)
        return fused_attention(q_BHTK, k_BHSK, v_BHSV, mask, bias)

    def weights(self, q_BHTK: Tensor, k_BHSK: Tensor, mask: Mask, bias: Tensor | None = None) -> Tensor:
        return softmax_weights(formulas.scaled_dot_scores(q_BHTK, k_BHSK), mask, bias)


def short_attention(q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, mask: Mask, bias: Tensor | None) -> Tensor:
    """The formula in plain products, for sentences so short that the matrix fits into the cache."""
    queries, keys = q_BHTK.shape[-2], k_BHSK.shape[-2]
    added = additive_mask(mask, bias, q_BHTK, queries, keys)
    may_look = mask.dense(queries, keys, q_BHTK.device) if may_see_nothing(mask) else None
    if not torch.compiler.is_compiling() and not (bias is not None and bias.requires_grad):
        narrow = narrow_type(q_BHTK.device.type)
        if narrow is None:
            return _ShortAttention.apply(q_BHTK, k_BHSK, v_BHSV, added, may_look)
        kind = narrow if queries * keys >= NARROW_FROM_SCORES else torch.float32
        with torch.autocast(q_BHTK.device.type, enabled=False):
            return _ShortAttention.apply(q_BHTK.to(kind), k_BHSK.to(kind), v_BHSV.to(kind), added, may_look)
    scores_BHTS = (q_BHTK * q_BHTK.shape[-1] ** -0.5) @ k_BHSK.transpose(-1, -2)
    if added is not None:
        scores_BHTS = scores_BHTS + added
    weights_BHTS = torch.softmax(scores_BHTS, dim=-1)
    if may_look is not None:
        weights_BHTS = weights_BHTS.masked_fill(~may_look, 0.0)
    return weights_BHTS @ v_BHSV


class _ShortAttention(torch.autograd.Function):
    """A = softmax(s QKᵀ + mask), O = AV; its gradient by hand takes four products and hardly a pass more:

    dV = Aᵀ dO, dS = A ⊙ (dO Vᵀ − rows' sums of A ⊙ dO Vᵀ), dQ = s dS K, dK = s dSᵀ Q.
    """

    @staticmethod
    def forward(
        ctx: Any, q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, added: Tensor | None, may_look: Tensor | None
    ) -> Tensor:
        ctx.scale = q_BHTK.shape[-1] ** -0.5
        batch, heads, queries, _ = q_BHTK.shape
        q_NTK, k_NSK, v_NSV = q_BHTK.flatten(0, 1), k_BHSK.flatten(0, 1), v_BHSV.flatten(0, 1)
        scores_NTS = scaled_bmm(q_NTK, k_NSK.mT, ctx.scale)
        if added is not None:
            scores_NTS.view(batch, heads, queries, -1).add_(added)
        weights_NTS = torch.softmax(scores_NTS, dim=-1, out=scores_NTS)  # in place
        if may_look is not None:
            weights_NTS.view(batch, heads, queries, -1).masked_fill_(~may_look, 0.0)
        ctx.save_for_backward(q_NTK, k_NSK, v_NSV, weights_NTS)
        return torch.bmm(weights_NTS, v_NSV).view(batch, heads, queries, -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, do_BHTV: Tensor) -> tuple[Tensor | None, ...]:
        q_NTK, k_NSK, v_NSV, weights_NTS = ctx.saved_tensors
        do_NTV = do_BHTV.flatten(0, 1)
        dv_NSV = torch.bmm(weights_NTS.mT, do_NTV)
        dweights_NTS = torch.bmm(do_NTV, v_NSV.mT)
        dscores_NTS = torch._softmax_backward_data(dweights_NTS, weights_NTS, -1, weights_NTS.dtype)
        dq_NTK = scaled_bmm(dscores_NTS, k_NSK, ctx.scale)
        dk_NSK = scaled_bmm(dscores_NTS.mT, q_NTK, ctx.scale)
        batch_and_heads = do_BHTV.shape[:2]
        return *(own.unflatten(0, batch_and_heads) for own in (dq_NTK, dk_NSK, dv_NSV)), None, None


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
    added = additive_mask(mask, bias, q_BHTK, queries, keys)
    out = functional.scaled_dot_product_attention(q_BHTK, k_BHSK, v_BHSV, attn_mask=added)
    if may_see_nothing(mask):
        may_look = mask.dense(queries, keys, q_BHTK.device)
        assert may_look is not None
        out = out.masked_fill(~may_look.any(-1, keepdim=True), 0.0)
    return out


def additive_mask(mask: Mask, bias: Tensor | None, like: Tensor, queries: int, keys: int) -> Tensor | None:
    """Bias and mask as one tensor that is added to the scores.

    Forbidden keys get a large finite number: their weight underflows to exactly 0 beside any allowed key,
    a row without allowed keys stays finite, and ``exp`` stays away from slow denormal numbers.
    """
    if mask.is_causal_only and not torch.compiler.is_compiling():
        forbidden = triangle(queries, keys, like.dtype, like.device)
    else:
        may_look = mask.dense(queries, keys, like.device)
        if may_look is None:
            return bias
        forbidden = forbidding(may_look, like.dtype)
    return forbidden if bias is None else forbidden + bias


@lru_cache(maxsize=64)  # every layer of every step asks for the same few
def triangle(queries: int, keys: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """What forbids the future; shared by all who ask, so it is never written to."""
    may_look = CAUSAL.dense(queries, keys, device)
    assert may_look is not None
    return forbidding(may_look, dtype)


def forbidding(may_look: Tensor, dtype: torch.dtype) -> Tensor:
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


class DotScore(nn.Module):
    """q·k, unscaled."""

    def forward(self, q_BHTK: Tensor, k_BHSK: Tensor) -> Tensor:
        return formulas.dot_scores(q_BHTK, k_BHSK)


class ScaledDotScore(nn.Module):
    """q·k/√d_k."""

    def forward(self, q_BHTK: Tensor, k_BHSK: Tensor) -> Tensor:
        return formulas.scaled_dot_scores(q_BHTK, k_BHSK)


class BilinearScore(nn.Module):
    """qᵀ M k with a learned matrix: widths may differ."""

    def __init__(self, query_width: int, key_width: int) -> None:
        super().__init__()
        self.matrix_AB = nn.Parameter(torch.empty(query_width, key_width))
        nn.init.xavier_uniform_(self.matrix_AB)

    def forward(self, q_BHTA: Tensor, k_BHSB: Tensor) -> Tensor:
        return formulas.bilinear_scores(q_BHTA, k_BHSB, self.matrix_AB)


class AdditiveScore(nn.Module):
    """vᵀ tanh(W q + U k) with learned W, U and v: widths may differ."""

    def __init__(self, query_width: int, key_width: int, hidden_width: int) -> None:
        super().__init__()
        self.w_AC = nn.Parameter(torch.empty(query_width, hidden_width))
        self.u_BC = nn.Parameter(torch.empty(key_width, hidden_width))
        self.v_C = nn.Parameter(torch.empty(hidden_width))
        nn.init.xavier_uniform_(self.w_AC)
        nn.init.xavier_uniform_(self.u_BC)
        nn.init.uniform_(self.v_C, -1 / math.sqrt(hidden_width), 1 / math.sqrt(hidden_width))

    def forward(self, q_BHTA: Tensor, k_BHSB: Tensor) -> Tensor:
        return formulas.additive_scores(q_BHTA, k_BHSB, self.w_AC, self.u_BC, self.v_C)


class ProjectedAdditiveScore(nn.Module):
    """vᵀ tanh(q + k) of queries and keys that arrive projected to one width."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.v_C = nn.Parameter(torch.empty(width))
        nn.init.uniform_(self.v_C, -1 / math.sqrt(width), 1 / math.sqrt(width))

    def forward(self, q_BHTC: Tensor, k_BHSC: Tensor) -> Tensor:
        return formulas.additive_scores_projected(q_BHTC, k_BHSC, self.v_C)


class SoftmaxConfig(Part):
    """Scaled dot-product attention, or another score or temperature by the plain formula."""

    kind: str = "softmax"
    score: Literal["scaled-dot", "dot", "bilinear", "additive"] = "scaled-dot"
    temperature: float = Field(1.0, ge=0)  # 0: the hard lookup

    def build(self, query_width: int, key_width: int) -> nn.Module:
        if self.score == "scaled-dot" and self.temperature == 1.0:
            return ScaledDot()
        score: nn.Module
        if self.score == "dot":
            score = DotScore()
        elif self.score == "scaled-dot":
            score = ScaledDotScore()
        elif self.score == "bilinear":
            score = BilinearScore(query_width, key_width)
        else:
            score = AdditiveScore(query_width, key_width, key_width)
        return Softmax(score, self.temperature)
