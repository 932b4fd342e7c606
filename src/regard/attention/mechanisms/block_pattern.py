"""Block-sparse attention: which blocks of positions see which, by a layout of one's own or BigBird's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
import torch
from pydantic import Field, field_validator
from torch import Tensor

from regard.attention import AttentionContext, MechanismPart
from regard.attention.mechanisms.sparse_pattern import SparseAttention
from regard.attention.sparse import Block, Positions
from regard.core.errors import OptionError
from regard.core.seams import Mechanism

NewLayout = Callable[[int], Tensor]
"""From a number of blocks to layout_IJ, whether block i sees block j; more blocks change nothing between fewer."""


class BlockPattern:
    """t sees s where layout[t // block, s // block]."""

    remembers = None
    sees_what_it_remembers = False

    def __init__(self, block: int, new_layout: NewLayout) -> None:
        self.block, self.new_layout = block, new_layout
        self.layout_IJ = torch.zeros(0, 0, dtype=torch.bool)

    def layout(self, blocks: int) -> Tensor:
        """layout_IJ for at least so many blocks."""
        if blocks > len(self.layout_IJ):
            self.layout_IJ = self.new_layout(blocks)
        return self.layout_IJ

    def sees(self, rows: Tensor, keys: Tensor) -> Tensor:
        last = max(int(rows.max()), int(keys.max()))
        layout_IJ = self.layout(last // self.block + 1).to(rows.device)
        return layout_IJ[rows // self.block, keys // self.block]

    def sees_all(self, length: int) -> bool:
        count = -(-length // self.block)
        return bool(self.layout(count)[:count, :count].all())

    def blocks(self, length: int, causal: bool) -> Sequence[Block]:
        count = -(-length // self.block)
        layout_IJ = self.layout(count)[:count, :count]
        if causal:
            layout_IJ = layout_IJ.tril()
        return [
            Block(slice(own * self.block, min((own + 1) * self.block, length)), self._positions(seen_J, length))
            for own, seen_J in enumerate(layout_IJ)
        ]

    def _positions(self, seen_J: Tensor, length: int) -> Positions:
        """All positions of these blocks, as a stretch where they are neighbours."""
        numbers_J = seen_J.nonzero().flatten()
        if not len(numbers_J):
            return slice(0, 1)  # nobody looks there, but a product of nothing has no softmax
        first, last = int(numbers_J[0]), int(numbers_J[-1])
        if last - first + 1 == len(numbers_J):
            return slice(first * self.block, min((last + 1) * self.block, length))
        places_N = (numbers_J[:, None] * self.block + torch.arange(self.block)).flatten()
        return places_N[places_N < length]


def given_layout(layout_IJ: Tensor) -> NewLayout:
    """A layout as it is; a sequence that it does not describe is refused."""

    def layout(blocks: int) -> Tensor:
        if blocks > len(layout_IJ):
            raise OptionError(
                f"a sequence of {blocks} blocks does not fit into a layout of {len(layout_IJ)}; "
                "add lines to model.attention.layout, make its blocks larger, or cut the texts (task.max_length)"
            )
        return layout_IJ

    return layout


class BlockSparseConfig(MechanismPart):
    """Any layout of blocks: line i of ``layout`` has an ``x`` where block i sees block j, and a dot where not.

    Block-sparse attention (Gray et al. 2017; Child et al. 2019, section 5.5): softmax(QKᵀ/√d_k) over the blocks that
    are named. A query whose block sees none reads 0. In Python
    ``SparseAttention(BlockPattern(block, given_layout(matrix)))`` takes a Boolean matrix.
    """

    self_only: ClassVar[bool] = True

    kind: str = "block-sparse"
    block: int = Field(64, ge=1)
    layout: tuple[str, ...] = ("x...", "xx..", "xxx.", "xxxx")

    @field_validator("layout")
    @classmethod
    def _is_square(cls, layout: tuple[str, ...]) -> tuple[str, ...]:
        for number, line in enumerate(layout, 1):
            if len(line) != len(layout) or set(line) - set("x."):
                raise ValueError(
                    f"line {number} is {line!r}; each of the {len(layout)} lines needs {len(layout)} signs, "
                    "x where the block of the line sees the block of the column and . where not"
                )
        if not layout:
            raise ValueError("at least one line is needed")
        return layout

    def build(self, context: AttentionContext) -> Mechanism:
        layout_IJ = torch.tensor([[sign == "x" for sign in line] for line in self.layout])
        return SparseAttention(BlockPattern(self.block, given_layout(layout_IJ)))


def bigbird_layout(window: int, first: int, drawn: int, seed: int) -> NewLayout:
    """Blocks at a distance of at most ``window``, the first ones, and a few drawn from those before, both ways."""

    def layout(blocks: int) -> Tensor:
        numbers = np.arange(blocks)
        seen = np.abs(numbers[:, None] - numbers) <= window
        seen[:first] = seen[:, :first] = True
        for own in range(1, blocks):  # what a block draws depends on its number alone, not on how many follow
            chosen = np.random.default_rng((seed, own)).choice(own, size=min(drawn, own), replace=False)
            seen[own, chosen] = seen[chosen, own] = True
        return torch.from_numpy(seen)

    return layout


class BigBirdConfig(MechanismPart):
    """A window of blocks, global first blocks, and random blocks.

    BigBird (Zaheer et al. 2020, section 2 and appendix D), its internal global tokens: a query block sees ``window``
    blocks to each side, the first ``globals``, which see everything, and ``random`` more. Departures: a block draws its
    random ones from those before it, and is seen by them in turn (the original draws from the whole text, so that its
    length, and padding, would change who sees whom). Each layer draws its own.
    """

    self_only: ClassVar[bool] = True

    kind: str = "bigbird"
    block: int = Field(64, ge=1)
    window: int = Field(1, ge=0)  # blocks to each side
    globals: int = Field(1, ge=0)  # blocks
    random: int = Field(2, ge=0)  # blocks
    seed: int = Field(1, ge=0)

    def build(self, context: AttentionContext) -> Mechanism:
        seed = self.seed * 1_000_003 + context.layer
        return SparseAttention(
            BlockPattern(self.block, bigbird_layout(self.window, self.globals, self.random, seed))
        )
