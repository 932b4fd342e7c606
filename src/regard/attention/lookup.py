"""The lecture's staircase to attention as modules: nothing learned, one matrix U, three matrices."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.attention import formulas
from regard.attention.masks import EVERYTHING, Mask


class SimilarityLookup(nn.Module):
    """Q = K = V = X: each position becomes the average of what is similar to it. Nothing is learned."""

    def __init__(self, temperature: float = 1.0) -> None:
        super().__init__()
        self.temperature = temperature

    def forward(self, x_BSD: Tensor) -> Tensor:
        return formulas.similarity_lookup(x_BSD, self.temperature)


class SharedLookup(nn.Module):
    """Q = K = V = XU with one learned matrix: what counts as similar is learned, but a likes b as b likes a."""

    def __init__(self, width: int, key_width: int, temperature: float = 1.0) -> None:
        super().__init__()
        self.u_DK = nn.Parameter(torch.empty(width, key_width))
        self.temperature = temperature
        nn.init.xavier_uniform_(self.u_DK)

    def forward(self, x_BSD: Tensor) -> Tensor:
        return formulas.shared_lookup(x_BSD, self.u_DK, self.temperature)


class SingleHead(nn.Module):
    """Q = XW_q, K = MW_k, V = MW_v: asking, being found and answering are three things; d_k ≠ d_v allowed."""

    def __init__(self, width: int, key_width: int, value_width: int, memory_width: int = 0) -> None:
        super().__init__()
        self.w_q_DK = nn.Parameter(torch.empty(width, key_width))
        self.w_k_DK = nn.Parameter(torch.empty(memory_width or width, key_width))
        self.w_v_DV = nn.Parameter(torch.empty(memory_width or width, value_width))
        for weight in self.parameters():
            nn.init.xavier_uniform_(weight)

    def forward(self, x_BTD: Tensor, memory_BSD: Tensor | None = None, mask: Mask = EVERYTHING) -> Tensor:
        """Self-attention; with a memory, cross-attention; with a causal mask, masked attention."""
        if memory_BSD is None:
            memory_BSD = x_BTD
        may_look = mask.dense(x_BTD.shape[-2], memory_BSD.shape[-2], x_BTD.device)
        return formulas.projected_attention(
            x_BTD, memory_BSD, self.w_q_DK, self.w_k_DK, self.w_v_DV, None if may_look is None else may_look[:, 0]
        )
