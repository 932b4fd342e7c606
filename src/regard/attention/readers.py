"""Readers: one head for a recurrent decoder, which projects a memory once per source and reads it at every step."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, SerializeAsAny
from torch import Tensor, nn

from regard.attention import REACHES, ReachPart, ReaderPart
from regard.attention.masks import Mask
from regard.attention.memory import Memory
from regard.attention.places import Places
from regard.attention.softmax import DotScore, ProjectedAdditiveScore
from regard.core.errors import RecipeError
from regard.core.seams import Mechanism


class Reader(nn.Module):
    """context_t = Σ_s a_t(s) h_s: what the decoder's state finds in the encoder's states."""

    def __init__(self, project_query: nn.Module, project_key: nn.Module, mechanism: Mechanism) -> None:
        super().__init__()
        self.project_query = project_query
        self.project_key = project_key
        self.mechanism = mechanism

    def memory(self, states_BSC: Tensor, mask: Mask) -> Memory:
        """Projected keys, and the encoder's states as they are for values."""
        return Memory(self.project_key(states_BSC).unsqueeze(1), states_BSC.unsqueeze(1), mask)

    def forward(self, states_RTD: Tensor, memory: Memory, places: Places = 0) -> Tensor:
        """context_RTC for decoder states at these places. Rows that share a sentence stand where heads do."""
        q_BNTK = self.project_query(states_RTD).unflatten(0, (len(memory.k_BGSK), -1))
        if isinstance(places, Tensor):
            places = places.unflatten(0, q_BNTK.shape[:2])
        context_BNTC = self.mechanism(q_BNTK, memory.k_BGSK, memory.v_BGSV, memory.mask.at(places))
        return context_BNTC.flatten(0, 1)


class AdditiveReaderConfig(ReaderPart):
    """vᵀ tanh(W s + U h) (Bahdanau et al. 2015); Luong's "concat" is the same, with [W U] called one matrix."""

    kind: str = "additive"
    hidden: int = Field(0, ge=0)  # the width in which state and memory meet; 0: the decoder's
    reach: Annotated[SerializeAsAny[ReachPart], REACHES] = Field(default_factory=REACHES.make)

    def build(self, state_width: int, memory_width: int) -> Reader:
        hidden = self.hidden or state_width
        query, key = nn.Linear(state_width, hidden, bias=False), nn.Linear(memory_width, hidden)
        nn.init.xavier_uniform_(query.weight)
        nn.init.xavier_uniform_(key.weight)
        nn.init.zeros_(key.bias)
        return Reader(query, key, self.reach.build(ProjectedAdditiveScore(hidden), hidden))


class DotReaderConfig(ReaderPart):
    """s·h (Luong et al. 2015, eq. 8): nothing is learned, the widths must agree."""

    kind: str = "dot"
    reach: Annotated[SerializeAsAny[ReachPart], REACHES] = Field(default_factory=REACHES.make)

    def build(self, state_width: int, memory_width: int) -> Reader:
        if state_width != memory_width:
            raise RecipeError(
                f"model.attention: the dot score needs a decoder state ({state_width}) as wide as the encoder's states "
                f'({memory_width}, both directions together); set kind = "general", or change a width'
            )
        return Reader(nn.Identity(), nn.Identity(), self.reach.build(DotScore(), state_width))


class GeneralReaderConfig(ReaderPart):
    """sᵀ W h (Luong et al. 2015, eq. 8): W h is the key, computed once per source."""

    kind: str = "general"
    reach: Annotated[SerializeAsAny[ReachPart], REACHES] = Field(default_factory=REACHES.make)

    def build(self, state_width: int, memory_width: int) -> Reader:
        key = nn.Linear(memory_width, state_width, bias=False)
        nn.init.xavier_uniform_(key.weight)
        return Reader(nn.Identity(), key, self.reach.build(DotScore(), state_width))
