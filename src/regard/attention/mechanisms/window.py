"""Window attention: every position reads its neighbourhood, at a cost that grows with the length and no faster."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from regard.attention import AttentionContext, MechanismPart
from regard.attention.mechanisms.neighbourhood import Neighbourhood
from regard.attention.mechanisms.sparse_pattern import SparseAttention
from regard.core.seams import Mechanism


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
