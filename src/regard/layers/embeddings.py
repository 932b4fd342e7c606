"""Tokens become vectors, and vectors become scores over tokens, by one matrix or by two."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional


class TokenEmbedding(nn.Module):
    """A learned vector for each symbol, multiplied by √d_model (Vaswani et al. 2017, section 3.4)."""

    def __init__(self, symbols: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(symbols, width))
        self.scale = math.sqrt(width)
        nn.init.normal_(self.weight, std=width**-0.5)

    def forward(self, tokens_BT: Tensor) -> Tensor:
        return functional.embedding(tokens_BT, self.weight) * self.scale


class VocabularyHead(nn.Module):
    """logits = states Wᵀ; W may be an embedding's own matrix (Press & Wolf 2017)."""

    def __init__(self, symbols: int, width: int, tied: TokenEmbedding | None = None) -> None:
        super().__init__()
        if tied is None:
            self.weight = nn.Parameter(torch.empty(symbols, width))
            nn.init.normal_(self.weight, std=width**-0.5)
        else:
            self.weight = tied.weight

    def forward(self, states_BTD: Tensor) -> Tensor:
        return functional.linear(states_BTD, self.weight)
