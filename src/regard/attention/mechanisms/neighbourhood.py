"""Patterns of neighbours: places near by, every so many of them, and first places that all see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention.rolling import Remembers
from regard.attention.sparse import Block

ROWS = 64  # queries in a block: few compute less beyond the window, many are faster products


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """t sees s where t − s is a multiple of ``stride``, fewer than ``size`` strides away (0: however far), or where s
    is one of the ``first`` places; with ``first_see_all``, these see every place too.
    """

    size: int
    stride: int = 1
    first: int = 0
    first_see_all: bool = False

    @property
    def reach(self) -> int:
        """A query sees no neighbour at this distance or beyond; 0: no such distance."""
        return (self.size - 1) * self.stride + 1 if self.size else 0

    @property
    def remembers(self) -> Remembers | None:
        return Remembers(self.first, self.reach) if self.size else None

    @property
    def sees_what_it_remembers(self) -> bool:
        return self.stride == 1

    def sees(self, rows: Tensor, keys: Tensor) -> Tensor:
        distance = rows - keys
        seen = distance % self.stride == 0 if self.stride > 1 else torch.ones_like(distance, dtype=torch.bool)
        if self.size:
            seen = seen & (distance.abs() < self.reach)
        if self.first:
            seen = seen | (keys < self.first)
        if self.first_see_all:
            seen = seen | (rows < self.first)
        return seen

    def sees_all(self, length: int) -> bool:
        return length <= self.first or (self.stride == 1 and (not self.size or length <= self.size))

    def blocks(self, length: int, causal: bool) -> Sequence[Block]:
        start = min(self.first, length) if self.first_see_all else 0
        found = []
        if start:
            found.append(Block(slice(0, start), slice(0, start if causal else length)))
        for residue in range(self.stride):
            first_row = start + (residue - start) % self.stride
            for row in range(first_row, length, ROWS * self.stride):
                found.append(self._block(row, min(row + ROWS * self.stride, length), length, causal))
        return found

    def _block(self, start: int, stop: int, length: int, causal: bool) -> Block:
        """Queries from ``start`` on, every stride, and what they see; their keys are of the same residue."""
        lowest = start % self.stride
        begin = max(start - self.reach + 1, lowest) if self.size else lowest
        beyond = stop + self.reach - 1 if self.size else length
        end = stop if causal else min(beyond, length)
        rows, keys = slice(start, stop, self.stride), slice(begin, end, self.stride)
        if not self.first or (begin == 0 and self.stride == 1):
            inside = tuple(len(range(length)[part]) for part in (rows, keys))
            alike = None if begin < self.first else (start - begin, *inside)
            return Block(rows, keys, alike)
        near = torch.arange(begin, end, self.stride)
        first = torch.arange(min(self.first, begin if self.stride == 1 else length))
        if self.stride > 1:
            near = near[near >= self.first]
        return Block(rows, torch.cat((first, near)))
