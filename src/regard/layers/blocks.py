"""Blocks: sub-layers with a residual path and a norm, after the sub-layer as published or before it."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from regard.attention.heads import Cache, CrossAttention, Memory, SelfAttention
from regard.attention.masks import Mask
from regard.core.seams import Position
from regard.layers.dropout import Dropout

Sublayer = Callable[[Tensor], Tensor]


class PostNorm(nn.Module):
    """y = LayerNorm(x + Dropout(f(x))), as published (Vaswani et al. 2017, section 3.1)."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.dropout = Dropout(dropout)

    def forward(self, x_BTD: Tensor, sublayer: Sublayer) -> Tensor:
        return self.norm(x_BTD + self.dropout(sublayer(x_BTD)))


class PreNorm(nn.Module):
    """y = x + Dropout(f(LayerNorm(x))): the residual path stays free, deep stacks train without warm-up."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.dropout = Dropout(dropout)

    def forward(self, x_BTD: Tensor, sublayer: Sublayer) -> Tensor:
        return x_BTD + self.dropout(sublayer(self.norm(x_BTD)))


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each in a residual."""

    def __init__(
        self, attention: SelfAttention, feed_forward: nn.Module, residual: Callable[[], nn.Module]
    ) -> None:
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        self.attention_residual = residual()
        self.feed_forward_residual = residual()

    def forward(self, x_BSD: Tensor, mask: Mask, position: Position | None, cache: Cache | None = None) -> Tensor:
        x_BSD = self.attention_residual(x_BSD, lambda x: self.attention(x, mask, position, cache))
        return self.feed_forward_residual(x_BSD, self.feed_forward)


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention over the source, feed-forward, each in a residual."""

    def __init__(
        self,
        attention: SelfAttention,
        cross: CrossAttention,
        feed_forward: nn.Module,
        residual: Callable[[], nn.Module],
    ) -> None:
        super().__init__()
        self.attention = attention
        self.cross = cross
        self.feed_forward = feed_forward
        self.attention_residual = residual()
        self.cross_residual = residual()
        self.feed_forward_residual = residual()

    def forward(
        self, x_BTD: Tensor, memory: Memory, mask: Mask, position: Position | None, cache: Cache | None = None
    ) -> Tensor:
        x_BTD = self.attention_residual(x_BTD, lambda x: self.attention(x, mask, position, cache))
        x_BTD = self.cross_residual(x_BTD, lambda x: self.cross(x, memory))
        return self.feed_forward_residual(x_BTD, self.feed_forward)
