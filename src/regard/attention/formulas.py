"""Attention as the lectures write it: pure functions, one formula each, over any leading axes.

``scores`` say how well a query fits a key, ``normalise`` turns them into weights that sum to one, and
``read`` averages the values with them. Everything faster in this package is held to these by tests.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def dot_scores(q_TK: Tensor, k_SK: Tensor) -> Tensor:
    """scores_TS = q·k: how similar two vectors are, as they stand."""
    return q_TK @ k_SK.transpose(-1, -2)


def scaled_dot_scores(q_TK: Tensor, k_SK: Tensor) -> Tensor:
    """scores_TS = q·k / √d_k (Vaswani et al. 2017, eq. 1).

    For independent components of variance one, q·k has variance d_k; the root brings it back to one, so that
    the softmax does not saturate when keys are wide.
    """
    return dot_scores(q_TK, k_SK) / math.sqrt(q_TK.shape[-1])


def bilinear_scores(q_TA: Tensor, k_SB: Tensor, matrix_AB: Tensor) -> Tensor:
    """scores_TS = qᵀ M k, the "general" score of Luong et al. 2015 (eq. 8): widths may differ."""
    return q_TA @ matrix_AB @ k_SB.transpose(-1, -2)


def additive_scores(q_TA: Tensor, k_SB: Tensor, w_AC: Tensor, u_BC: Tensor, v_C: Tensor) -> Tensor:
    """scores_TS = vᵀ tanh(W q + U k) (Bahdanau et al. 2015, appendix A.1.2): widths may differ."""
    return additive_scores_projected(q_TA @ w_AC, k_SB @ u_BC, v_C)


def additive_scores_projected(q_TC: Tensor, k_SC: Tensor, v_C: Tensor) -> Tensor:
    """The additive score of queries and keys that are already projected to a common width."""
    return torch.tanh(q_TC.unsqueeze(-2) + k_SC.unsqueeze(-3)) @ v_C


def gaussian(positions_S: Tensor, centre_T1: Tensor, window: int) -> Tensor:
    """exp(−(s − p_t)² / 2σ²) with σ = D/2: a soft window around p_t (Luong et al. 2015, eq. 10)."""
    return torch.exp(-2 * ((positions_S - centre_T1) / window) ** 2)


def normalise(scores_TS: Tensor, may_look_TS: Tensor | None = None, temperature: float = 1.0) -> Tensor:
    """weights_TS = softmax(scores / temperature) over the keys that a query may look at.

    Towards temperature zero this becomes the hard lookup, and at zero it is one: all weight on the best key,
    shared equally between ties. A query that may look at nothing gives weight to nothing.
    """
    if may_look_TS is not None:
        scores_TS = scores_TS.masked_fill(~may_look_TS, -math.inf)
    if temperature == 0:
        best_TS = (scores_TS == scores_TS.amax(-1, keepdim=True)) & (scores_TS > -math.inf)
        return best_TS.to(scores_TS.dtype) / best_TS.sum(-1, keepdim=True).clamp(min=1)
    weights_TS = torch.softmax(scores_TS / temperature, dim=-1)
    if may_look_TS is None:
        return weights_TS
    return weights_TS.masked_fill(~may_look_TS, 0.0)  # a row of -inf alone would be not-a-number


def read(weights_TS: Tensor, v_SV: Tensor) -> Tensor:
    """out_TV = weights · values: each query's average of the values."""
    return weights_TS @ v_SV


def attention(
    q_TK: Tensor, k_SK: Tensor, v_SV: Tensor, may_look_TS: Tensor | None = None, temperature: float = 1.0
) -> Tensor:
    """Attention(Q, K, V) = softmax(QKᵀ/√d_k) V (Vaswani et al. 2017, eq. 1). d_k and d_v may differ."""
    return read(normalise(scaled_dot_scores(q_TK, k_SK), may_look_TS, temperature), v_SV)


def similarity_lookup(x_SD: Tensor, temperature: float = 1.0) -> Tensor:
    """The first step of the lecture, with nothing learned: Q = K = V = X, softmax(XXᵀ/temperature) X."""
    return read(normalise(dot_scores(x_SD, x_SD), None, temperature), x_SD)


def shared_lookup(x_SD: Tensor, u_DK: Tensor, temperature: float = 1.0) -> Tensor:
    """The second step, one matrix for everything: Q = K = V = XU. Similarity becomes learnable but symmetric."""
    return similarity_lookup(x_SD @ u_DK, temperature)


def projected_attention(
    x_TD: Tensor,
    memory_SD: Tensor,
    w_q_DK: Tensor,
    w_k_DK: Tensor,
    w_v_DV: Tensor,
    may_look_TS: Tensor | None = None,
) -> Tensor:
    """The third step: Q = XW_q, K = MW_k, V = MW_v. With M = X self-attention, else cross-attention."""
    return attention(x_TD @ w_q_DK, memory_SD @ w_k_DK, memory_SD @ w_v_DV, may_look_TS)


def split_heads(x_BTJ: Tensor, heads: int) -> Tensor:
    """x_BHTK from x_BTJ with J = H·K: every head gets its own slice of the width."""
    return x_BTJ.unflatten(-1, (heads, -1)).transpose(-3, -2)


def join_heads(x_BHTK: Tensor) -> Tensor:
    """x_BTJ from x_BHTK: the heads' answers side by side again."""
    return x_BHTK.transpose(-3, -2).flatten(-2)


def multi_head_attention(
    x_BTD: Tensor,
    memory_BSD: Tensor,
    w_q_DJ: Tensor,
    w_k_DJ: Tensor,
    w_v_DJ: Tensor,
    w_o_JD: Tensor,
    heads: int,
    may_look_BTS: Tensor | None = None,
) -> Tensor:
    """MultiHead(X, M) = Concat(head_1 … head_H) W_o, each head an attention of its own (section 3.2.2)."""
    q_BHTK = split_heads(x_BTD @ w_q_DJ, heads)
    k_BHSK = split_heads(memory_BSD @ w_k_DJ, heads)
    v_BHSV = split_heads(memory_BSD @ w_v_DJ, heads)
    may_look_BHTS = None if may_look_BTS is None else may_look_BTS.unsqueeze(-3)
    return join_heads(attention(q_BHTK, k_BHSK, v_BHSV, may_look_BHTS)) @ w_o_JD
