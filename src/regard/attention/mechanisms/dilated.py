"""Dilated attention: every so many places, so that a few keys reach far."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from regard.attention import AttentionContext, MechanismPart
from regard.attention.mechanisms.neighbourhood import Neighbourhood
from regard.attention.mechanisms.sparse_pattern import SparseAttention
from regard.core.seams import Mechanism


class DilatedConfig(MechanismPart):
    """A position sees those whose distance is a multiple of ``stride``, ``size`` of them to a side with itself.

    The dilated window of Longformer (Beltagy et al. 2020, section 3.1), and with ``size = 0`` (however far) the strided
    half of the Sparse Transformer (Child et al. 2019, section 4.3): softmax(QKᵀ/√d_k) over (t − s) mod stride = 0. The
    other half is a window of ``stride``; ``alternating`` layers put the two together. Departures: Longformer dilates
    some heads, the Sparse Transformer may merge both halves into each head; here all heads of a layer see the same.
    """

    self_only: ClassVar[bool] = True

    kind: str = "dilated"
    size: int = Field(64, ge=0)  # 0: however far
    stride: int = Field(4, ge=2)

    def build(self, context: AttentionContext) -> Mechanism:
        return SparseAttention(Neighbourhood(self.size, self.stride))
