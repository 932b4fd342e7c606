"""The convolutional sequence model: gated windows on both sides, attention between them (Gehring et al. 2017).

Departures: where the paper normalises weights and scales residuals by √½, a LayerNorm stands before every
convolution and a free residual path around it; keys and values both read the encoder's output plus the embeddings.
Read it top to bottom: configuration, encoder, decoder, model, decoding state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, cast

import torch
from pydantic import Field, SerializeAsAny, model_validator
from torch import Tensor, nn

from regard.attention import MECHANISMS, AttentionContext, MechanismPart
from regard.attention.heads import CrossAttention, HeadShape
from regard.attention.masks import padding
from regard.attention.memory import Memory, join_memories, kept_sentences
from regard.attention.places import Ages, advanced, joined, places_after, reordered
from regard.core.inputs import Inputs, States
from regard.core.ports import Ports
from regard.core.roles import Role
from regard.core.seams.anatomy import Anatomy
from regard.layers import EMBEDDINGS, MOST_LAYERS, POSITIONS, EmbeddingPart, PositionPart
from regard.layers.blocks import PreNorm
from regard.layers.convolution import CausalConvolution, GatedConvolution
from regard.layers.dropout import Dropout
from regard.layers.embeddings import Tied, build_embeddings
from regard.models import ModelPart

ABSOLUTE = POSITIONS.only("sinusoidal", "learned", "reversed-binary", "none")


class ConvolutionConfig(ModelPart):
    """Stacks of gated convolutions; each decoder layer reads the source."""

    roles = frozenset({Role.READS, Role.ANSWERS})

    kind: str = "convolution"
    embedding: Annotated[SerializeAsAny[EmbeddingPart], EMBEDDINGS] = Field(default_factory=EMBEDDINGS.make)
    position: Annotated[SerializeAsAny[PositionPart], ABSOLUTE] = Field(default_factory=ABSOLUTE.make)
    attention: Annotated[SerializeAsAny[MechanismPart], MECHANISMS] = Field(default_factory=MECHANISMS.make)
    width: int = Field(128, ge=1)
    encoder_layers: int = Field(4, ge=1, le=MOST_LAYERS)
    decoder_layers: int = Field(4, ge=1, le=MOST_LAYERS)
    kernel: int = Field(3, ge=1)  # how many neighbours a window holds
    tied: Tied = "all"

    @model_validator(mode="after")
    def _reads_a_source(self) -> ConvolutionConfig:
        if self.attention.self_only:
            raise ValueError(
                f"attention.kind {self.attention.kind!r} relates places of one sequence, and this model's attention "
                "only reads the source; choose another kind, such as softmax"
            )
        return self

    def build(self, ports: Ports) -> Convolution:
        return Convolution(self.settled(), ports)

    def cross_attention(self, layer: int, max_length: int) -> CrossAttention:
        context = AttentionContext(self.width, self.width, 1, max_length, layer, self.decoder_layers)
        return CrossAttention(HeadShape(self.width, heads=1), self.attention.build_cross(context))


class Encoder(nn.Module):
    """Convolutions over the embedded source; padding is set to 0 before each, like what lies beyond the ends."""

    def __init__(self, config: ConvolutionConfig) -> None:
        super().__init__()
        layers = range(config.encoder_layers)
        self.convolutions = nn.ModuleList(GatedConvolution(config.width, config.kernel) for _ in layers)
        self.residuals = nn.ModuleList(PreNorm(config.width, config.dropout) for _ in layers)
        self.norm = nn.LayerNorm(config.width)

    def forward(self, x_BSD: Tensor, exists_BS1: Tensor) -> Tensor:
        for convolution, residual in zip(self.convolutions, self.residuals, strict=True):
            x_BSD = residual(x_BSD, lambda x, convolution=convolution: convolution(x * exists_BS1))
        return self.norm(x_BSD)


class DecoderLayer(nn.Module):
    """A causal convolution, then attention over the source, each in a residual."""

    def __init__(self, config: ConvolutionConfig, layer: int, max_length: int) -> None:
        super().__init__()
        self.convolution = CausalConvolution(config.width, config.kernel)
        self.cross = config.cross_attention(layer, max_length)
        self.convolution_residual = PreNorm(config.width, config.dropout)
        self.cross_residual = PreNorm(config.width, config.dropout)

    def forward(
        self, x_RTD: Tensor, memory: Memory, past_RCD: Tensor, lengths_R: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        kept: list[Tensor] = []

        def convolve(x: Tensor) -> Tensor:
            out, past = self.convolution.extend(x, past_RCD, lengths_R)
            kept.append(past)
            return out

        x_RTD = self.convolution_residual(x_RTD, convolve)
        return self.cross_residual(x_RTD, lambda x: self.cross(x, memory)), kept[0]


class Convolution(nn.Module):
    """Encoder–decoder: all positions of a layer at once, like the Transformer; neighbours only, unlike it."""

    anatomy = Anatomy(
        source_attention="decoder.*.cross",
        state_path="decoder.0",
        depth_path="decoder.*",
        reading=("source_embedding", "widen_source", "position", "encoder", "dropout"),
    )
    causal = False

    def __init__(self, config: ConvolutionConfig, ports: Ports) -> None:
        super().__init__()
        self.config, self.width = config, config.width
        self.source_embedding, self.target_embedding, self.head = build_embeddings(
            config.embedding, ports, config.tied, config.width
        )
        self.widen_source = nn.Linear(self.source_embedding.width, config.width)
        self.widen_target = nn.Linear(self.target_embedding.width, config.width)
        self.position = config.position.build(config.width, 1)
        self.encoder = Encoder(config)
        self.decoder = nn.ModuleList(
            DecoderLayer(config, layer, self.max_length) for layer in range(config.decoder_layers)
        )
        self.norm = nn.LayerNorm(config.width)
        self.narrow = nn.Linear(config.width, self.head.width)
        self.dropout = Dropout(config.dropout)

    @property
    def max_lengths(self) -> tuple[int, int]:
        """How many positions a source and an answer may have; 0: as many as one likes."""
        return self.position.max_length, self.position.max_length

    def forward(self, source_BS: Tensor, source_lengths_B: Tensor, target_BT: Tensor) -> Tensor:
        """states_BTD for all target positions in one parallel pass (teacher forcing)."""
        return self.read(target_BT, self.start((source_BS, source_lengths_B)))

    @property
    def max_length(self) -> int:
        return self.position.max_length

    def represent(self, inputs: Inputs) -> States:
        return States(self.read_source(inputs.values, inputs.real_lengths_B), inputs.lengths_B)

    def read_source(self, tokens_BS: Tensor, lengths_B: Tensor) -> Tensor:
        x_BSD = self.dropout(self.position.embed(self.widen_source(self.source_embedding(tokens_BS))))
        positions_S = torch.arange(tokens_BS.shape[1], device=tokens_BS.device)
        exists_BS1 = (positions_S < lengths_B[:, None]).unsqueeze(-1).to(x_BSD.dtype)
        return self.encoder(x_BSD, exists_BS1) + x_BSD

    def start(self, source: tuple[Tensor, Tensor]) -> ConvolutionState:
        source_BS, source_lengths_B = source
        read_BSD = self.read_source(source_BS, source_lengths_B)
        mask = padding(source_lengths_B, source_BS.shape[1])
        layers = cast("list[DecoderLayer]", list(self.decoder))
        memories = [layer.cross.memory(read_BSD, mask) for layer in layers]
        rows, width = len(source_BS), self.config.width
        return ConvolutionState(memories, [layer.convolution.no_past(rows, width, read_BSD) for layer in layers])

    def step(
        self, tokens_BT: Tensor, state: ConvolutionState, lengths_B: Tensor | None = None
    ) -> tuple[Tensor, ConvolutionState]:
        return self.head(self.read(tokens_BT, state, lengths_B)), state

    def read(self, tokens_RT: Tensor, state: ConvolutionState, lengths_R: Tensor | None = None) -> Tensor:
        """states_RTD for the given tokens; the state goes along."""
        x_RTD = self.widen_target(self.target_embedding(tokens_RT))
        count = tokens_RT.shape[1]
        x_RTD = self.dropout(self.position.embed(x_RTD, places_after(state.position, count, lengths_R)))
        for number, layer in enumerate(self.decoder):
            x_RTD, state.pasts[number] = layer(x_RTD, state.memories[number], state.pasts[number], lengths_R)
        state.position = advanced(state.position, count, lengths_R)
        return self.narrow(self.norm(x_RTD))

    def answer_at(self, states_BTD: Tensor) -> Tensor:
        """logits_BTW, were these states of a decoder layer the last ones."""
        return self.head(self.narrow(self.norm(states_BTD)))


@dataclass(slots=True)
class ConvolutionState:
    """Memories by sentence; the last inputs of every causal convolution by row."""

    memories: list[Memory]
    pasts: list[Tensor]
    position: Ages = 0

    def reorder(self, rows: Tensor) -> ConvolutionState:
        kept = kept_sentences(rows, len(self.pasts[0]), len(self.memories[0].k_BGSK))
        memories = self.memories if kept is None else [memory.select(kept) for memory in self.memories]
        pasts = [past.index_select(0, rows) for past in self.pasts]
        return ConvolutionState(memories, pasts, reordered(self.position, rows))

    def join(self, other: ConvolutionState) -> ConvolutionState:
        rows, others, device = len(self.pasts[0]), len(other.pasts[0]), self.pasts[0].device
        memories = join_memories(self.memories, rows, other.memories, others)
        pasts = [torch.cat(both) for both in zip(self.pasts, other.pasts, strict=True)]
        return ConvolutionState(memories, pasts, joined(self.position, rows, other.position, others, device))
