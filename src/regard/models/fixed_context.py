"""The recurrent encoder–decoder with one vector for everything: the bottleneck that attention removed.

Sutskever et al. 2014 hand the vector over once, at the start; Cho et al. 2014 show it to every step. Read it top
to bottom: configuration, model, decoding state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from regard.attention.memory import kept_sentences
from regard.core.ports import Ports
from regard.core.roles import Role
from regard.core.seams.anatomy import Anatomy
from regard.layers import MOST_LAYERS
from regard.layers.embeddings import Tied
from regard.layers.recurrent.cells import State
from regard.layers.recurrent.encoder_decoder import EncoderDecoderPart, RecurrentEncoderDecoder
from regard.layers.recurrent.readout import Readout
from regard.layers.recurrent.stacks import Bridge, RecurrentStack, join_states, reorder_states
from regard.models import ModelPart


class FixedContextConfig(EncoderDecoderPart, ModelPart):
    """A recurrent encoder, one vector c, a recurrent decoder."""

    roles = frozenset({Role.READS, Role.ANSWERS})

    kind: str = "fixed-context"
    encoder_layers: int = Field(1, ge=1, le=MOST_LAYERS)
    decoder_layers: int = Field(1, ge=1, le=MOST_LAYERS)
    bidirectional: bool = True
    context: Literal["start", "every-step"] = "every-step"  # when the decoder sees c
    tied: Tied = "all"

    def build(self, ports: Ports) -> FixedContext:
        return FixedContext(self.settled(), ports)


class FixedContext(RecurrentEncoderDecoder["FixedContextState"]):
    """Everything that the decoder ever learns of the source is c = tanh(V h), h the encoder's last states."""

    anatomy = Anatomy(state_path="decoder.cells.0", reading=("source_embedding", "encoder", "dropout"))

    def __init__(self, config: FixedContextConfig, ports: Ports) -> None:
        super().__init__(config, ports, config.encoder_layers, config.bidirectional, config.dropout, config.tied)
        self.config = config
        self.summary = nn.Linear(self.encoder.width, config.width)
        embedded = self.target_embedding.width
        shown = config.width if config.context == "every-step" else 0
        self.decoder = RecurrentStack(
            config.cell.build, embedded + shown, config.width, config.decoder_layers, config.dropout
        )
        self.bridge = Bridge(config.width, config.width, config.decoder_layers, self.decoder.parts)
        self.readout = Readout(config.width + embedded + shown, self.head.width, config.dropout)

    def start(self, source: tuple[Tensor, Tensor]) -> FixedContextState:
        source_BS, source_lengths_B = source
        _, finals = self.encode(source_BS, source_lengths_B)
        context_BD = torch.tanh(self.summary(finals[-1][0]))
        return FixedContextState(context_BD, self.bridge(context_BD))

    def read(self, tokens_RT: Tensor, state: FixedContextState, lengths_R: Tensor | None = None) -> Tensor:
        """states_RTD for the given tokens; the state goes along."""
        seen_RTC = self.dropout(self.target_embedding(tokens_RT))
        if self.config.context == "every-step":
            rows, positions = tokens_RT.shape
            context_RD = state.context_BD.repeat_interleave(rows // len(state.context_BD), dim=0)
            seen_RTC = torch.cat((seen_RTC, context_RD[:, None].expand(-1, positions, -1)), dim=-1)
        h_RTD, state.states = self.decoder(seen_RTC, state.states, lengths_R)
        return self.readout(h_RTD, seen_RTC)


@dataclass(slots=True)
class FixedContextState:
    """c by sentence, the decoder's states by row."""

    context_BD: Tensor
    states: list[State]

    def reorder(self, rows: Tensor) -> FixedContextState:
        kept = kept_sentences(rows, len(self.states[0][0]), len(self.context_BD))
        context_BD = self.context_BD if kept is None else self.context_BD[kept]
        return FixedContextState(context_BD, reorder_states(self.states, rows))

    def join(self, other: FixedContextState) -> FixedContextState:
        """By sentence where both have equally many rows to one, else by row."""
        ours, theirs = (len(one.states[0][0]) // len(one.context_BD) for one in (self, other))
        own_BD, other_BD = self.context_BD, other.context_BD
        if ours != theirs:
            own_BD, other_BD = own_BD.repeat_interleave(ours, dim=0), other_BD.repeat_interleave(theirs, dim=0)
        return FixedContextState(torch.cat((own_BD, other_BD)), join_states(self.states, other.states))
