"""Tensors under two names and in two shapes: one description serves reading and writing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


class Shaping(Protocol):
    """How one of our tensors comes from one or several of theirs. Law: ``part(join(theirs)) == theirs``."""

    def join(self, theirs: Sequence[Tensor]) -> Tensor: ...

    def part(self, ours: Tensor) -> tuple[Tensor, ...]: ...


@dataclass(frozen=True, slots=True)
class Same:
    """As it is."""

    def join(self, theirs: Sequence[Tensor]) -> Tensor:
        (one,) = theirs
        return one

    def part(self, ours: Tensor) -> tuple[Tensor, ...]:
        return (ours,)


SAME = Same()


@dataclass(frozen=True, slots=True)
class Transposed:
    """Rows and columns exchanged: GPT-2 multiplies from the other side (x W instead of x Wᵀ)."""

    def join(self, theirs: Sequence[Tensor]) -> Tensor:
        (one,) = theirs
        return one.transpose(0, 1)

    def part(self, ours: Tensor) -> tuple[Tensor, ...]:
        return (ours.transpose(0, 1),)


@dataclass(frozen=True, slots=True)
class PairedHalves:
    """Rows of rotary heads, or their biases and gains: theirs turn row i with row i + K/2, ours row 2i with 2i + 1."""

    heads: int

    def join(self, theirs: Sequence[Tensor]) -> Tensor:
        (one,) = theirs
        return one.reshape(self.heads, 2, -1, *one.shape[1:]).transpose(1, 2).reshape(one.shape)

    def part(self, ours: Tensor) -> tuple[Tensor, ...]:
        return (ours.reshape(self.heads, -1, 2, *ours.shape[1:]).transpose(1, 2).reshape(ours.shape),)


@dataclass(frozen=True, slots=True)
class Interleaved:
    """The model's width along one axis: sines and cosines of a position take turns in ours; in theirs all sines come
    first. Whatever reads or writes the residual stream follows.
    """

    axis: int

    def join(self, theirs: Sequence[Tensor]) -> Tensor:
        (one,) = theirs
        return one.index_select(self.axis, self._sines_first(one).argsort())

    def part(self, ours: Tensor) -> tuple[Tensor, ...]:
        return (ours.index_select(self.axis, self._sines_first(ours)),)

    def _sines_first(self, one: Tensor) -> Tensor:
        width = one.shape[self.axis]
        return torch.cat([torch.arange(first, width, 2, device=one.device) for first in (0, 1)])


@dataclass(frozen=True, slots=True)
class Row:
    """What theirs keeps under one axis of length 1, or several."""

    axes: int = 1

    def join(self, theirs: Sequence[Tensor]) -> Tensor:
        (one,) = theirs
        return one[(0,) * self.axes]

    def part(self, ours: Tensor) -> tuple[Tensor, ...]:
        return (ours[(None,) * self.axes],)


@dataclass(frozen=True, slots=True)
class Flattened:
    """The kernel of a convolution, whose stride is its size, as the matrix of a patch's values."""

    size: tuple[int, ...]

    def join(self, theirs: Sequence[Tensor]) -> Tensor:
        (one,) = theirs
        return one.flatten(1)

    def part(self, ours: Tensor) -> tuple[Tensor, ...]:
        return (ours.unflatten(1, (-1, *self.size)),)


@dataclass(frozen=True, slots=True)
class Halved:
    """Two matrices whose answers to two states are averaged, as one for both states side by side: half of each."""

    def join(self, theirs: Sequence[Tensor]) -> Tensor:
        return torch.cat([one / 2 for one in theirs], dim=1)

    def part(self, ours: Tensor) -> tuple[Tensor, ...]:
        return tuple(2 * half for half in ours.chunk(2, dim=1))


@dataclass(frozen=True, slots=True)
class HalvedBias:
    """Their biases. Only the mean of the two is ours, so that both are this mean when they are written."""

    def join(self, theirs: Sequence[Tensor]) -> Tensor:
        one, other = theirs
        return (one + other) / 2

    def part(self, ours: Tensor) -> tuple[Tensor, ...]:
        return ours, ours.clone()


@dataclass(frozen=True, slots=True)
class Stacked:
    """Several of theirs below one another, each with so many rows and a shaping of its own."""

    rows: tuple[int, ...]
    each: tuple[Shaping, ...]

    def join(self, theirs: Sequence[Tensor]) -> Tensor:
        return torch.cat([shaping.join([one]) for shaping, one in zip(self.each, theirs, strict=True)])

    def part(self, ours: Tensor) -> tuple[Tensor, ...]:
        pieces = zip(self.each, ours.split(self.rows), strict=True)
        return tuple(shaping.part(piece)[0] for shaping, piece in pieces)


@dataclass(frozen=True, slots=True)
class Pairing:
    """Our tensor's name, the name or names of theirs, and the shaping between them."""

    ours: str
    theirs: tuple[str, ...]
    shaping: Shaping = SAME

    def inside(self, ours: str, theirs: str) -> Pairing:
        """The same pairing for a part of a model, whose names begin so."""
        return Pairing(f"{ours}{self.ours}", tuple(f"{theirs}{name}" for name in self.theirs), self.shaping)


def both(ours: str, theirs: str, weight: Shaping = SAME) -> Iterator[Pairing]:
    """The weight and the bias of a linear layer or a norm."""
    yield Pairing(f"{ours}.weight", (f"{theirs}.weight",), weight)
    yield Pairing(f"{ours}.bias", (f"{theirs}.bias",))
