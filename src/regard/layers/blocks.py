"""Blocks: sub-layers with a residual path and a norm, after the sub-layer as published or before it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from regard.attention.cache import AttentionCache
from regard.attention.heads import CrossHeads, SelfHeads
from regard.attention.masks import Mask
from regard.attention.memory import Memory
from regard.attention.places import Ages
from regard.core.penalties import recomputing, written_lengths
from regard.core.seams import Position
from regard.core.seams.modules import ReadsLengths, WritesResidual
from regard.layers.dropout import Dropout

Sublayer = Callable[[Tensor], Tensor]
NewNorm = Callable[[int], nn.Module]
"""From a width to a norm."""


class Residual(nn.Module):
    """A norm and a dropout around a sub-layer; where the norm stands is said below."""

    def __init__(self, width: int, dropout: float, new_norm: NewNorm = nn.LayerNorm) -> None:
        super().__init__()
        self.norm = new_norm(width)
        self.dropout = Dropout(dropout)


class PostNorm(Residual):
    """y = Norm(x + Dropout(f(x))), as published (Vaswani et al. 2017, section 3.1)."""

    def forward(self, x_BTD: Tensor, sublayer: Sublayer) -> Tensor:
        return self.norm(x_BTD + self.dropout(sublayer(x_BTD)))


class PreNorm(Residual):
    """y = x + Dropout(f(Norm(x))): the residual path stays free, deep stacks train without warm-up."""

    def forward(self, x_BTD: Tensor, sublayer: Sublayer) -> Tensor:
        return x_BTD + self.dropout(sublayer(self.norm(x_BTD)))


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each in a residual."""

    carries_stream = True

    def __init__(
        self, attention: SelfHeads, feed_forward: nn.Module, residual: Callable[[], nn.Module]
    ) -> None:
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        self.attention_residual = residual()
        self.feed_forward_residual = residual()

    def forward(
        self, x_BSD: Tensor, mask: Mask, position: Position | None, cache: AttentionCache | None = None,
        lengths_B: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        x_BSD = self.attention_residual(x_BSD, lambda x: self.attention(x, mask, position, cache, lengths_B))
        return self.feed_forward_residual(x_BSD, network_of(self.feed_forward, mask, lengths_B))


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention over the source, feed-forward, each in a residual."""

    carries_stream = True

    def __init__(
        self,
        attention: SelfHeads,
        cross: CrossHeads,
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
        self, x_BTD: Tensor, memory: Memory, mask: Mask, position: Position | None,
        cache: AttentionCache | None = None, lengths_B: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        x_BTD = self.attention_residual(x_BTD, lambda x: self.attention(x, mask, position, cache, lengths_B))
        x_BTD = self.cross_residual(x_BTD, lambda x: self.cross(x, memory))
        return self.feed_forward_residual(x_BTD, network_of(self.feed_forward, mask, lengths_B))


def network_of(feed_forward: nn.Module, mask: Mask, lengths_B: Tensor | None) -> Sublayer:
    """The network as a sub-layer, told which positions are there if it asks."""
    if not isinstance(feed_forward, ReadsLengths):
        return feed_forward

    def routed(x_BTD: Tensor) -> Tensor:
        real_B = mask.lengths_B if lengths_B is None else lengths_B
        if real_B is None and mask.causal:
            real_B = written_lengths(len(x_BTD))
        return feed_forward(x_BTD, real_B)

    return routed


class CausalStack(nn.Module):
    """A decoder alone: blocks of masked self-attention over the text so far, and a norm at their end."""

    def __init__(self, layers: Iterable[nn.Module], position: Position, norm: nn.Module, dropout: float) -> None:
        super().__init__()
        self.position = position
        self.dropout = Dropout(dropout)
        self.layers = nn.ModuleList(layers)
        self.norm = norm
        self.recompute = False  # activation checkpointing, set by the training loop

    def forward(
        self, x_RTD: Tensor, mask: Mask, caches: Sequence[AttentionCache] = (), lengths_R: Tensor | None = None
    ) -> Tensor:
        x_RTD = self.dropout(self.position.embed(x_RTD, mask.places))
        for index, layer in enumerate(self.layers):
            cache = caches[index] if caches else None
            x_RTD = run_layer(layer, self.recompute, x_RTD, mask, self.position, cache, lengths_R)
        return self.norm(x_RTD)

    def new_caches(self, rows: int, room: int, like: Tensor) -> list[AttentionCache]:
        """Empty ones, with room for so many positions; more room is made when it is needed."""
        layers = cast("list[EncoderLayer]", list(self.layers))
        return [layer.attention.new_cache(rows, like, room) for layer in layers]


@dataclass(slots=True)
class StackState:
    """Keys and values of the text so far, by row; there is no source to keep."""

    caches: list[AttentionCache]

    @property
    def ages(self) -> Ages:
        return self.caches[0].ages

    def reorder(self, rows: Tensor) -> StackState:
        return StackState([cache.reorder(rows) for cache in self.caches])

    def join(self, other: StackState) -> StackState:
        return StackState([one.join(another) for one, another in zip(self.caches, other.caches, strict=True)])


class Stack(Protocol):
    """Layers of attention to the own sequence and a network, as ``CausalStack`` has them; an ``nn.Module``."""

    layers: nn.ModuleList

    def modules(self) -> Iterator[nn.Module]: ...


def init_small(stack: Stack, spread: float = 0.02) -> None:
    """Small random weights; what each of the 2 L sub-layers adds is √(2 L) times smaller (Radford et al. 2019).

    A sub-layer says itself by which of its layers it adds (``WritesResidual``).
    """
    every = list(stack.modules())
    depth = len(stack.layers)
    last = {id(own) for module in every if isinstance(module, WritesResidual) for own in module.residual_outputs()}
    for module in every:
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=spread / (math.sqrt(2 * depth) if id(module) in last else 1.0))


def run_layer(layer: nn.Module, recompute: bool, *inputs: Any) -> Tensor:
    """Runs a layer; with ``recompute`` its inner activations are thrown away and made again in the backward pass."""
    if recompute and torch.is_grad_enabled():
        return checkpoint(layer, *inputs, use_reentrant=False, context_fn=recomputing)
    return layer(*inputs)
