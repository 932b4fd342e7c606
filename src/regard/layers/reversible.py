"""Reversible layers: training keeps the last states alone, and the backward pass makes the others again from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from regard.attention.cache import AttentionCache
from regard.attention.heads import SelfHeads
from regard.attention.masks import Mask
from regard.core.seams import Position
from regard.layers.blocks import NewNorm, Sublayer, network_of
from regard.layers.dropout import Dropout


class Branch(nn.Module):
    """Dropout(f(Norm(x))): what a sub-layer adds to the other half of the states."""

    def __init__(self, width: int, dropout: float, new_norm: NewNorm = nn.LayerNorm) -> None:
        super().__init__()
        self.norm = new_norm(width)
        self.dropout = Dropout(dropout)

    def forward(self, x_BTD: Tensor, sublayer: Sublayer) -> Tensor:
        return self.dropout(sublayer(self.norm(x_BTD)))


class ReversibleLayer(nn.Module):
    """y₁ = x₁ + attention(x₂), y₂ = x₂ + network(y₁), so that x₂ = y₂ − network(y₁) and x₁ = y₁ − attention(x₂).

    Gomez et al. 2017, for attention Kitaev et al. 2020 (section 3). Both halves stand side by side in x_BTJ, each as
    wide as the model.
    """

    def __init__(self, attention: SelfHeads, feed_forward: nn.Module, branch: Callable[[], nn.Module]) -> None:
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        self.attention_residual = branch()
        self.feed_forward_residual = branch()

    def forward(
        self, x_BTJ: Tensor, mask: Mask, position: Position | None, cache: AttentionCache | None = None,
        lengths_B: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        one, other = x_BTJ.chunk(2, dim=-1)
        one = one + self.attended(other, mask, position, cache, lengths_B)
        return torch.cat((one, other + self.fed(one, mask, lengths_B)), dim=-1)

    def attended(
        self, x_BTD: Tensor, mask: Mask, position: Position | None, cache: AttentionCache | None = None,
        lengths_B: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        return self.attention_residual(x_BTD, lambda x: self.attention(x, mask, position, cache, lengths_B))

    def fed(self, x_BTD: Tensor, mask: Mask, lengths_B: Tensor | None) -> Tensor:
        return self.feed_forward_residual(x_BTD, network_of(self.feed_forward, mask, lengths_B))


class MeanNorm(nn.Module):
    """The norm at the end, of the mean of both halves."""

    def __init__(self, norm: nn.Module) -> None:
        super().__init__()
        self.norm = norm

    def forward(self, x_BTJ: Tensor) -> Tensor:
        one, other = x_BTJ.chunk(2, dim=-1)
        return self.norm((one + other) / 2)


class ReversibleStack(nn.Module):
    """A decoder alone, of reversible layers; both halves begin as the embeddings.

    In training the states between its layers are not kept, however deep it is. Dropout draws the same again.
    """

    def __init__(
        self, layers: Iterable[nn.Module], position: Position, norm: nn.Module, dropout: float
    ) -> None:
        super().__init__()
        self.position = position
        self.dropout = Dropout(dropout)
        self.layers = nn.ModuleList(layers)
        self.norm = MeanNorm(norm)

    def forward(
        self, x_RTD: Tensor, mask: Mask, caches: Sequence[AttentionCache] = (), lengths_R: Tensor | None = None
    ) -> Tensor:
        x_RTD = self.dropout(self.position.embed(x_RTD, mask.places))
        x_RTJ = torch.cat((x_RTD, x_RTD), dim=-1)
        if self.training and torch.is_grad_enabled() and not caches and not torch.compiler.is_compiling():
            return self.norm(self._reversibly(x_RTJ, mask, lengths_R))
        for index, layer in enumerate(self.layers):
            x_RTJ = layer(x_RTJ, mask, self.position, caches[index] if caches else None, lengths_R)
        return self.norm(x_RTJ)

    def new_caches(self, rows: int, room: int, like: Tensor) -> list[AttentionCache]:
        """Empty ones, with room for so many positions; more room is made when it is needed."""
        return [layer.attention.new_cache(rows, like, room) for layer in self._layers()]

    def _layers(self) -> list[ReversibleLayer]:
        return cast("list[ReversibleLayer]", list(self.layers))

    def _reversibly(self, x_RTJ: Tensor, mask: Mask, lengths_R: Tensor | None) -> Tensor:
        branches: list[Branching] = []
        learned = tuple(self.get_submodule("position").parameters())
        for layer in self._layers():
            own = (*layer.get_submodule("attention").parameters(), *layer.attention_residual.parameters(), *learned)
            branches.append((_attended(layer, mask, self.position, lengths_R), own))
            own = (*layer.feed_forward.parameters(), *layer.feed_forward_residual.parameters())
            branches.append((_fed(layer, mask, lengths_R), own))
        weights = [weight for _, own in branches for weight in own]
        return _Reversible.apply(x_RTJ, branches, *weights)


Branching = tuple[Callable[[Tensor], Tensor], tuple[nn.Parameter, ...]]
"""What one half adds to the other, and the weights that it uses."""


def _attended(
    layer: ReversibleLayer, mask: Mask, position: Position, lengths_B: Tensor | None
) -> Callable[[Tensor], Tensor]:
    return lambda x_BTD: layer.attended(x_BTD, mask, position, None, lengths_B)


def _fed(layer: ReversibleLayer, mask: Mask, lengths_B: Tensor | None) -> Callable[[Tensor], Tensor]:
    return lambda x_BTD: layer.fed(x_BTD, mask, lengths_B)


class _Reversible(torch.autograd.Function):
    """Branches in turns: the first half takes what the second gives, then the second what the first gives."""

    @staticmethod
    def forward(ctx: Any, x_BTJ: Tensor, branches: Sequence[Branching], *weights: nn.Parameter) -> Tensor:
        one, other = x_BTJ.chunk(2, dim=-1)
        ctx.branches, ctx.draws, ctx.device = branches, [], x_BTJ.device
        ctx.narrow = torch.get_autocast_dtype(x_BTJ.device.type), torch.is_autocast_enabled(x_BTJ.device.type)
        for call, _ in branches:
            ctx.draws.append(random_state(x_BTJ.device))
            one, other = other, one + call(other)
        out_BTJ = torch.cat((one, other), dim=-1)
        ctx.save_for_backward(out_BTJ)
        return out_BTJ

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dout_BTJ: Tensor) -> tuple[Tensor | None, ...]:
        (out_BTJ,) = ctx.saved_tensors
        one, other = out_BTJ.chunk(2, dim=-1)
        done, dother = dout_BTJ.chunk(2, dim=-1)
        gradients: list[tuple[Tensor | None, ...]] = []
        kind, narrow = ctx.narrow
        for (call, weights), draws in zip(reversed(ctx.branches), reversed(ctx.draws), strict=True):
            # Before this branch the halves stood the other way round: ``one`` was read, ``other`` was added to.
            with drawn_from(draws, ctx.device), torch.enable_grad():
                read = one.detach().requires_grad_()
                with torch.autocast(ctx.device.type, dtype=kind, enabled=narrow):
                    added = call(read)
                wanted = [read, *(weight for weight in weights if weight.requires_grad)]
                found = iter(torch.autograd.grad(added, wanted, dother.to(added.dtype), allow_unused=True))
            through = next(found)
            gradients.append(tuple(next(found) if weight.requires_grad else None for weight in weights))
            one, other = other - added.detach(), one
            done, dother = dother, done if through is None else done + through
        flat = [gradient for own in reversed(gradients) for gradient in own]
        return torch.cat((done, dother), dim=-1), None, *flat


def random_state(device: torch.device) -> tuple[Tensor, Tensor | None]:
    """From where random numbers go on, on the CPU and on a GPU."""
    return torch.get_rng_state(), torch.cuda.get_rng_state(device) if device.type == "cuda" else None


@contextmanager
def drawn_from(state: tuple[Tensor, Tensor | None], device: torch.device) -> Iterator[None]:
    """Draws the same numbers again, and leaves no trace in those to come."""
    before = random_state(device)
    _set(state, device)
    try:
        yield
    finally:
        _set(before, device)


def _set(state: tuple[Tensor, Tensor | None], device: torch.device) -> None:
    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state(state[1], device)
