"""Luong et al. 2015: attention at the current step, after the cells, global or local, with or without input feeding.

Read it top to bottom: configuration, model, decoding state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from pydantic import Field, SerializeAsAny
from torch import Tensor

from regard.attention import READERS, ReaderPart
from regard.attention.masks import padding
from regard.attention.memory import Memory, join_memories, kept_sentences
from regard.attention.places import Ages, advanced, joined, places_after, reordered
from regard.attention.readers import Reader
from regard.core.ports import Ports
from regard.core.roles import Role
from regard.core.seams.anatomy import Anatomy
from regard.layers import CELLS, MOST_LAYERS, CellPart
from regard.layers.embeddings import Tied
from regard.layers.recurrent.cells import State
from regard.layers.recurrent.encoder_decoder import EncoderDecoderPart, RecurrentEncoderDecoder
from regard.layers.recurrent.readout import Readout
from regard.layers.recurrent.stacks import Bridge, RecurrentStack, join_states, moved, reorder_states
from regard.models import ModelPart

LUONG_CELLS = CELLS.with_default("lstm")
LUONG_READERS = READERS.with_default("general")


class LuongConfig(EncoderDecoderPart, ModelPart):
    """Recurrent stacks on both sides, and attention on top of the decoder's."""

    roles = frozenset({Role.READS, Role.ANSWERS})

    kind: str = "luong"
    cell: Annotated[SerializeAsAny[CellPart], LUONG_CELLS] = Field(default_factory=LUONG_CELLS.make)
    attention: Annotated[SerializeAsAny[ReaderPart], LUONG_READERS] = Field(default_factory=LUONG_READERS.make)
    layers: int = Field(1, ge=1, le=MOST_LAYERS)
    bidirectional: bool = False
    feeding: Literal["input", "none"] = "input"  # the last attentional state is part of the next input, or not
    tied: Tied = "all"

    def build(self, ports: Ports) -> Luong:
        return Luong(self.settled(), ports)


class Luong(RecurrentEncoderDecoder["LuongState"]):
    """h_t from the stack, c_t = what h_t reads, h̃_t = tanh(W_c [c_t; h_t]) (section 3, eq. 5)."""

    anatomy = Anatomy(
        source_attention="attention",
        state_path="decoder.cells.0",
        reading=("source_embedding", "encoder", "dropout"),
    )

    def __init__(self, config: LuongConfig, ports: Ports) -> None:
        super().__init__(config, ports, config.layers, config.bidirectional, config.dropout, config.tied)
        self.config = config
        memory, fed = self.encoder.width, self.head.width if config.feeding == "input" else 0
        self.decoder = RecurrentStack(
            config.cell.build, self.target_embedding.width + fed, config.width, config.layers, config.dropout
        )
        self.bridge = Bridge(memory, config.width, config.layers, self.decoder.parts)
        self.attention: Reader = config.attention.build(config.width, memory)
        self.readout = Readout(memory + config.width, self.head.width, config.dropout)

    def start(self, source: tuple[Tensor, Tensor]) -> LuongState:
        source_BS, source_lengths_B = source
        states_BSC, finals = self.encode(source_BS, source_lengths_B)
        memory = self.attention.memory(self.dropout(states_BSC), padding(source_lengths_B, source_BS.shape[1]))
        nothing_BD = states_BSC.new_zeros(len(source_BS), self.head.width)
        return LuongState(memory, self.bridge(finals[-1][0]), nothing_BD)

    def read(self, tokens_RT: Tensor, state: LuongState, lengths_R: Tensor | None = None) -> Tensor:
        """h̃_RTD for the given tokens; the state goes along. Only input feeding has to wait for its turn."""
        x_RTI = self.dropout(self.target_embedding(tokens_RT))
        if self.config.feeding == "none":
            return self.attend(x_RTI, state, lengths_R)
        attentional = []
        for step, x_R1I in enumerate(x_RTI.split(1, dim=1)):
            real_R = None if lengths_R is None else (step < lengths_R).long()
            found_RD = self.attend(torch.cat((x_R1I, state.fed_RD[:, None]), dim=-1), state, real_R)[:, 0]
            (state.fed_RD,) = moved((state.fed_RD,), (found_RD,), 0, real_R)
            attentional.append(found_RD)
        return torch.stack(attentional, dim=1)

    def attend(self, x_RTI: Tensor, state: LuongState, lengths_R: Tensor | None = None) -> Tensor:
        h_RTD, state.states = self.decoder(x_RTI, state.states, lengths_R)
        context_RTC = self.attention(h_RTD, state.memory, places_after(state.position, x_RTI.shape[1], lengths_R))
        state.position = advanced(state.position, x_RTI.shape[1], lengths_R)
        return self.readout(context_RTC, h_RTD)


@dataclass(slots=True)
class LuongState:
    """The memory by sentence; the stack's states and the last attentional state by row."""

    memory: Memory
    states: list[State]
    fed_RD: Tensor
    position: Ages = 0

    def reorder(self, rows: Tensor) -> LuongState:
        kept = kept_sentences(rows, len(self.fed_RD), len(self.memory.k_BGSK))
        memory = self.memory if kept is None else self.memory.select(kept)
        fed_RD = self.fed_RD.index_select(0, rows)
        return LuongState(memory, reorder_states(self.states, rows), fed_RD, reordered(self.position, rows))

    def join(self, other: LuongState) -> LuongState:
        rows, others, device = len(self.fed_RD), len(other.fed_RD), self.fed_RD.device
        (memory,) = join_memories([self.memory], rows, [other.memory], others)
        position = joined(self.position, rows, other.position, others, device)
        states, fed_RD = join_states(self.states, other.states), torch.cat((self.fed_RD, other.fed_RD))
        return LuongState(memory, states, fed_RD, position)
