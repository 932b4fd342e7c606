"""Longformer: a window, dilated or not, and first positions that see everything and are seen by everybody."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from regard.attention import AttentionContext, MechanismPart
from regard.attention.mechanisms.neighbourhood import Neighbourhood
from regard.attention.mechanisms.sparse_pattern import SparseAttention
from regard.core.seams import Mechanism


class LongformerConfig(MechanismPart):
    """Places at fewer than ``size`` strides, and the first ``globals`` positions of a text.

    Longformer (Beltagy et al. 2020, sections 3.1 and 3.2). Departures: the global positions are the first ones (a class
    token, a question before its context), not those that a task names; they use the projections of all others, where
    the original has a second set; all heads see the same. In a causal model they see what stands before them, as any
    position does.
    """

    self_only: ClassVar[bool] = True

    kind: str = "longformer"
    size: int = Field(128, ge=1)
    stride: int = Field(1, ge=1)
    globals: int = Field(1, ge=1)

    def build(self, context: AttentionContext) -> Mechanism:
        return SparseAttention(Neighbourhood(self.size, self.stride, self.globals, first_see_all=True))
