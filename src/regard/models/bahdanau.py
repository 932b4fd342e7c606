"""Bahdanau et al. 2015: a recurrent decoder that looks at the source again before every word.

The encoder reads in both directions; the state before a word asks an additive score where to look, and what it
finds goes into the cell. Read it top to bottom: configuration, model, decoding state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from pydantic import Field, SerializeAsAny
from torch import Tensor, nn

from regard.attention import READERS, ReaderPart
from regard.attention.masks import padding
from regard.attention.memory import Memory, join_memories, kept_sentences
from regard.attention.places import Ages, advanced, joined, places_after, reordered
from regard.attention.readers import Reader
from regard.core.ports import Ports
from regard.core.roles import Role
from regard.core.seams.anatomy import Anatomy
from regard.layers import MOST_LAYERS
from regard.layers.embeddings import Tied
from regard.layers.recurrent.cells import Cell, State
from regard.layers.recurrent.encoder_decoder import EncoderDecoderPart, RecurrentEncoderDecoder
from regard.layers.recurrent.readout import Maxout
from regard.layers.recurrent.stacks import Bridge, join_states, moved, reorder_states
from regard.models import ModelPart


class BahdanauConfig(EncoderDecoderPart, ModelPart):
    """A bidirectional encoder, and one cell that reads it through attention."""

    roles = frozenset({Role.READS, Role.ANSWERS})

    kind: str = "bahdanau"
    attention: Annotated[SerializeAsAny[ReaderPart], READERS] = Field(default_factory=READERS.make)
    encoder_layers: int = Field(1, ge=1, le=MOST_LAYERS)
    bidirectional: bool = True
    tied: Tied = "all"

    def build(self, ports: Ports) -> Bahdanau:
        return Bahdanau(self.settled(), ports)


class Bahdanau(RecurrentEncoderDecoder["BahdanauState"]):
    """s_i = f(s_{i−1}, y_{i−1}, c_i), c_i what s_{i−1} reads of the source (section 3.1).

    The word is read off s_i, c_i and y_{i−1} through maxout; the paper's appendix writes s_{i−1} there.
    """

    anatomy = Anatomy(
        source_attention="attention", state_path="cell", reading=("source_embedding", "encoder", "dropout")
    )

    def __init__(self, config: BahdanauConfig, ports: Ports) -> None:
        super().__init__(config, ports, config.encoder_layers, config.bidirectional, config.dropout, config.tied)
        self.config = config
        embedded, memory = self.target_embedding.width, self.encoder.width
        self.attention: Reader = config.attention.build(config.width, memory)
        self.cell: Cell = config.cell.build(embedded + memory, config.width)
        self.bridge = Bridge(memory, config.width, 1, self.cell.parts)
        self.readout = Maxout(config.width + memory + embedded, self.head.width, config.dropout)

    def start(self, source: tuple[Tensor, Tensor]) -> BahdanauState:
        source_BS, source_lengths_B = source
        states_BSC, finals = self.encode(source_BS, source_lengths_B)
        mask = padding(source_lengths_B, source_BS.shape[1])
        memory = self.attention.memory(self.dropout(states_BSC), mask)
        return BahdanauState(memory, self.bridge(finals[-1][0])[0])

    def read(self, tokens_RT: Tensor, state: BahdanauState, lengths_R: Tensor | None = None) -> Tensor:
        """states_RTD for the given tokens; the state goes along."""
        x_RTI = self.dropout(self.target_embedding(tokens_RT))
        from_word, from_context = self.cell.input.weight.split((x_RTI.shape[-1], self.encoder.width), dim=1)
        words_RTJ = nn.functional.linear(x_RTI, from_word, self.cell.input.bias)
        states, contexts = [], []
        for step, word_RJ in enumerate(words_RTJ.unbind(1)):
            places = places_after(state.position + step, 1)
            context_RC = self.attention(state.state[0][:, None], state.memory, places)[:, 0]
            after = self.cell(word_RJ + nn.functional.linear(context_RC, from_context), state.state)
            state.state = moved(state.state, after, step, lengths_R)
            states.append(state.state[0])
            contexts.append(context_RC)
        state.position = advanced(state.position, tokens_RT.shape[1], lengths_R)
        return self.readout(torch.stack(states, dim=1), torch.stack(contexts, dim=1), x_RTI)


@dataclass(slots=True)
class BahdanauState:
    """The memory by sentence, the cell's state by row."""

    memory: Memory
    state: State
    position: Ages = 0

    def reorder(self, rows: Tensor) -> BahdanauState:
        kept = kept_sentences(rows, len(self.state[0]), len(self.memory.k_BGSK))
        memory = self.memory if kept is None else self.memory.select(kept)
        return BahdanauState(memory, reorder_states([self.state], rows)[0], reordered(self.position, rows))

    def join(self, other: BahdanauState) -> BahdanauState:
        rows, others, device = len(self.state[0]), len(other.state[0]), self.state[0].device
        (memory,) = join_memories([self.memory], rows, [other.memory], others)
        (state,) = join_states([self.state], [other.state])
        return BahdanauState(memory, state, joined(self.position, rows, other.position, others, device))
