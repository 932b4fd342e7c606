"""Window attention: every position reads its neighbourhood, at a cost that grows with the length and no faster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field
from torch import Tensor

from regard.attention import AttentionContext, MechanismPart
from regard.attention.mechanisms.sparse_pattern import SparseAttention
from regard.attention.rolling import Remembers
from regard.attention.sparse import Block
from regard.core.seams import Mechanism

ROWS = 64  # queries in a block: few compute less beyond the window, many are faster products


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """|t − s| < size."""

    size: int

    @property
    def remembers(self) -> Remembers:
        return Remembers(first=0, last=self.size)

    def sees(self, rows: Tensor, keys: Tensor) -> Tensor:
        return (rows - keys).abs() < self.size

    def sees_all(self, length: int) -> bool:
        return length <= self.size

    def blocks(self, length: int, causal: bool) -> Sequence[Block]:
        found = []
        for start in range(0, length, ROWS):
            stop = min(start + ROWS, length)
            first = max(start - self.size + 1, 0)
            last = stop if causal else min(stop + self.size - 1, length)
            found.append(Block(slice(start, stop), slice(first, last), (start - first, stop - start, last - start)))
        return found


class WindowConfig(MechanismPart):
    """A position sees those at a distance below ``size``: behind it and, where nothing forbids it, ahead of it.

    The window of Longformer (Beltagy et al. 2020, section 3.1) and Mistral (Jiang et al. 2023): softmax(QKᵀ/√d_k)
    over |t − s| < size. Longformer's w counts both sides together, so that its w is 2 · size − 1 here; Mistral's is
    ``size``. L layers reach L · (size − 1) positions. In decoding the last ``size`` keys and values are kept.
    A sequence that fits into the window is read as by full attention. Attention to another sequence is full.
    """

    self_only: ClassVar[bool] = True

    kind: str = "window"
    size: int = Field(128, ge=1)

    def build(self, context: AttentionContext) -> Mechanism:
        return SparseAttention(Neighbourhood(self.size))
