"""Attention sinks: a window, and the first positions for good, so that a text can go on without end."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from regard.attention import AttentionContext, MechanismPart
from regard.attention.mechanisms.neighbourhood import Neighbourhood
from regard.attention.mechanisms.sparse_pattern import SparseAttention
from regard.core.seams import Mechanism


class SinksConfig(MechanismPart):
    """A position sees the first ``sinks`` places and those at a distance below ``size``.

    StreamingLLM (Xiao et al. 2024, section 3.2): a trained model puts the weight that it has no use for on its first
    tokens, and falls apart when a rolling cache forgets them; so the cache keeps them. Departure: keys keep the places
    at which they were read (the original counts places inside its cache), so that decoding equals a full pass; how far
    a text can go on is then up to the positions: as far as one likes with rotary ones or none, as far as the table goes
    with learned ones.
    """

    self_only: ClassVar[bool] = True

    kind: str = "sinks"
    size: int = Field(256, ge=1)
    sinks: int = Field(4, ge=1)

    def build(self, context: AttentionContext) -> Mechanism:
        return SparseAttention(Neighbourhood(self.size, first=self.sinks))
