"""Softmax attention: a score and a normalisation; the scaled dot product runs on the fastest exact kernel."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from regard.attention import AttentionContext, MechanismPart, formulas
from regard.attention.edges import edge_attention
from regard.attention.kernels import by_hand, fused_attention, short_attention
from regard.attention.masks import EVERYTHING, Mask
from regard.attention.mechanism import MatrixMechanism
from regard.core.precision import narrow_type
from regard.core.seams import Mechanism

# Up to so many scores a head, plain products beat the fused kernel on a CPU (its blocks are larger
# than the whole problem); above it the fused kernel saves the matrix. Measured by benchmarks/attention.py.
PLAIN_UP_TO_SCORES = 128 * 128
NARROW_GAIN = 4  # in narrow numbers the products gain more than the fused kernel: they win up to so many times as many
CAUSAL_GAIN = 16  # and again, where they leave out the keys that nobody in a block of queries may see


class Softmax(MatrixMechanism):
    """Attention with weights softmax(score(q, k))."""

    def __init__(self, score: nn.Module, temperature: float = 1.0) -> None:
        super().__init__()
        self.score = score
        self.temperature = temperature

    def weights(self, q_BHTK: Tensor, k_BHSK: Tensor, mask: Mask, bias: Tensor | None = None) -> Tensor:
        return softmax_weights(self.score(q_BHTK, k_BHSK), mask, bias, self.temperature)


def softmax_weights(scores_BHTS: Tensor, mask: Mask, bias: Tensor | None, temperature: float = 1.0) -> Tensor:
    """The plain formula: bias added, mask applied, normalised."""
    if bias is not None:
        scores_BHTS = scores_BHTS + bias
    may_look = mask.dense(scores_BHTS.shape[-2], scores_BHTS.shape[-1], scores_BHTS.device)
    return formulas.normalise(scores_BHTS, may_look, temperature)


class ScaledDot(MatrixMechanism):
    """softmax(QKᵀ/√d_k) V, exactly, by whichever kernel is fastest for the shape."""

    reads_products = True

    def read(self, q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, mask: Mask, bias: Tensor | None = None) -> Tensor:
        return scaled_dot_attention(q_BHTK, k_BHSK, v_BHSV, mask, bias)

    def weights(self, q_BHTK: Tensor, k_BHSK: Tensor, mask: Mask, bias: Tensor | None = None) -> Tensor:
        return scaled_dot_weights(q_BHTK, k_BHSK, mask, bias)


def scaled_dot_attention(
    q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, mask: Mask, bias: Tensor | None = None
) -> Tensor:
    """softmax(QKᵀ/√d_k) V by whichever kernel is fastest for the shape."""
    if bias is None and asks_shared_keys_once(q_BHTK, k_BHSK, v_BHSV):
        may_look = mask.dense(1, k_BHSK.shape[-2], q_BHTK.device)
        together = EVERYTHING if may_look is None else Mask(dense_BHTS=may_look.transpose(1, 2))
        out = scaled_dot_attention(q_BHTK.transpose(1, 2), k_BHSK[:, :1], v_BHSV[:, :1], together)
        return out.transpose(1, 2)
    queries, keys = q_BHTK.shape[-2], k_BHSK.shape[-2]
    exporting = torch.compiler.is_exporting()  # a graph serves any length, so nothing is chosen by it
    if mask.edges is not None and not exporting and mask.edges.pays and mask.is_edges_only:
        return listed_attention(q_BHTK, k_BHSK, v_BHSV, mask, bias)
    limit = PLAIN_UP_TO_SCORES * (1 if narrow_type(q_BHTK.device.type) is None else NARROW_GAIN)
    if mask.causal and by_hand(bias):
        limit *= CAUSAL_GAIN
    if exporting or (q_BHTK.device.type == "cpu" and queries * keys <= limit):
        return short_attention(q_BHTK, k_BHSK, v_BHSV, mask, bias)
    return fused_attention(q_BHTK, k_BHSK, v_BHSV, mask, bias)


def listed_attention(
    q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, mask: Mask, bias: Tensor | None
) -> Tensor:
    """Heads that keep to the edges read along the list of them; the others, if any, without edges."""
    assert mask.edges is not None, "it is called for edges"
    heads = range(q_BHTK.shape[1])
    masked = [head for head in heads if not mask.edges.masked or mask.edges.masked[head]]
    listed = partial(edge_attention, list_M3=within(mask.edges.list_M3, mask.lengths_B))
    if len(masked) == len(heads):
        return listed(q_BHTK, k_BHSK, v_BHSV, bias=bias)
    free = [head for head in heads if head not in masked]
    beside = replace(mask, edges=None)
    found = [
        call(q_BHTK[:, own], k_BHSK[:, own], v_BHSV[:, own], bias=bias if bias is None else bias[..., own, :, :])
        for call, own in ((listed, masked), (partial(scaled_dot_attention, mask=beside), free))
    ]
    return torch.cat(found, dim=1)[:, torch.tensor([*masked, *free], device=q_BHTK.device).argsort()]


def within(list_M3: Tensor, lengths_B: Tensor | None) -> Tensor:
    """The edges whose key exists."""
    return list_M3 if lengths_B is None else list_M3[list_M3[:, 2] < lengths_B[list_M3[:, 0]]]


def asks_shared_keys_once(q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor) -> bool:
    """Whether one position of many heads reads keys and values that are one and the same for all of them, in decoding:
    then the heads are queries to it, and nothing is copied for each."""
    if torch.is_grad_enabled() or torch.compiler.is_compiling() or torch.compiler.is_exporting():
        return False
    one_position = q_BHTK.shape[-2] == 1 and q_BHTK.shape[1] > 1
    return one_position and k_BHSK.stride(1) == 0 and v_BHSV.stride(1) == 0


def scaled_dot_weights(q_BHTK: Tensor, k_BHSK: Tensor, mask: Mask, bias: Tensor | None = None) -> Tensor:
    """softmax(QKᵀ/√d_k), the whole matrix."""
    return softmax_weights(formulas.scaled_dot_scores(q_BHTK, k_BHSK), mask, bias)


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


class SoftmaxConfig(MechanismPart):
    """Scaled dot-product attention, or another score or temperature by the plain formula."""

    kind: str = "softmax"
    score: Literal["scaled-dot", "dot", "bilinear", "additive"] = "scaled-dot"
    temperature: float = Field(1.0, ge=0)  # 0: the hard lookup

    def build(self, context: AttentionContext) -> Mechanism:
        if self.score == "scaled-dot" and self.temperature == 1.0:
            return ScaledDot()
        score: nn.Module
        if self.score == "dot":
            score = DotScore()
        elif self.score == "scaled-dot":
            score = ScaledDotScore()
        elif self.score == "bilinear":
            score = BilinearScore(context.query_width, context.key_width)
        else:
            score = AdditiveScore(context.query_width, context.key_width, context.key_width)
        return Softmax(score, self.temperature)
