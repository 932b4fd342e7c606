"""Llama: the decoder alone as it is built since 2023 (Touvron et al. 2023; grouped heads: Ainslie et al. 2023).

RMSNorm, rotary positions, a gated feed-forward network, several heads to a key, no biases. Read it top to bottom:
configuration, model.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, SerializeAsAny, model_validator
from torch import Tensor, nn

from regard.attention import HEADS, MECHANISMS, AttentionContext, HeadsPart, MechanismPart
from regard.attention.heads import HeadShape
from regard.attention.masks import CAUSAL, inside_segments
from regard.attention.places import places_after
from regard.core.anatomy import Anatomy, Entrance
from regard.core.inputs import Inputs, States
from regard.core.ports import OUTPUT, Ports, tokens_at
from regard.layers import FEED_FORWARDS, HEAD_NORMS, NORMS, POSITIONS, FeedForwardPart, NormPart, PositionPart
from regard.layers.blocks import CausalStack, EncoderLayer, PreNorm, StackState, init_small
from regard.layers.embeddings import PlainEmbedding, VocabularyHead
from regard.models import ModelPart


class LlamaConfig(ModelPart):
    """A decoder-only Transformer; the defaults are a small one of Llama's proportions."""

    kind: str = "llama"
    layers: int = Field(6, ge=1)
    width: int = Field(512, ge=1)
    heads: int = Field(8, ge=1)
    groups: int = Field(4, ge=0)  # key/value heads; 0: as many as heads
    key_width: int = Field(0, ge=0)  # of one head; 0: width / heads
    dropout: float = Field(0.0, ge=0, lt=1)
    context: int = Field(0, ge=0)  # the most tokens that it reads; 0: as many as one likes
    tied: Literal["output", "none"] = "none"  # whether words in and words out share one matrix
    attention: Annotated[SerializeAsAny[MechanismPart], MECHANISMS] = Field(default_factory=MECHANISMS.make)
    projection: Annotated[SerializeAsAny[HeadsPart], HEADS] = Field(default_factory=HEADS.make)
    position: Annotated[SerializeAsAny[PositionPart], POSITIONS.with_default("rotary")] = Field(
        default_factory=POSITIONS.with_default("rotary").make
    )
    feed_forward: Annotated[SerializeAsAny[FeedForwardPart], FEED_FORWARDS.with_default("gated")] = Field(
        default_factory=FEED_FORWARDS.with_default("gated").make
    )
    norm: Annotated[SerializeAsAny[NormPart], NORMS.with_default("rms")] = Field(
        default_factory=NORMS.with_default("rms").make
    )
    head_norm: Annotated[SerializeAsAny[NormPart], HEAD_NORMS] = Field(default_factory=HEAD_NORMS.make)

    @model_validator(mode="after")
    def _fits(self) -> LlamaConfig:
        if self.width % self.heads and not self.key_width:
            raise ValueError(f"width {self.width} is not divisible by {self.heads} heads; change one of them")
        if self.groups and self.heads % self.groups:
            raise ValueError(f"{self.heads} heads cannot share {self.groups} key/value groups; change one of them")
        return self

    def build(self, ports: Ports) -> Llama:
        return Llama(self, ports)

    def block(self, layer: int, max_length: int) -> EncoderLayer:
        width = self.key_width or self.width // self.heads
        shape = HeadShape(self.width, self.heads, self.groups, width, width)
        context = AttentionContext(width, width, self.heads, max_length, layer, self.layers, causal=True)
        return EncoderLayer(
            self.projection.self_attention(
                shape, self.attention.build(context), bias=False, new_norm=self.head_norm.build
            ),
            self.feed_forward.build(self.width, 0.0),
            lambda: PreNorm(self.width, self.dropout, self.norm.build),
        )


class Llama(nn.Module):
    """Tokens so far become states, ``head`` turns states into logits for what follows each of them."""

    anatomy = Anatomy(
        state_path="stack.layers.0",
        depth_path="stack.layers.*",
        reading=("embedding", "stack"),
        entrances=(Entrance("tokens", "embedding", "stack.position"),),
    )
    causal = True

    def __init__(self, config: LlamaConfig, ports: Ports) -> None:
        super().__init__()
        self.config = config
        symbols = tokens_at(ports, OUTPUT, config.kind).size
        self.embedding = PlainEmbedding(symbols, config.width)
        position = config.position.build(config.width, config.heads)
        layers = (config.block(layer, config.context or position.max_length) for layer in range(config.layers))
        self.stack = CausalStack(layers, position, config.norm.build(config.width), config.dropout)
        init_small(self.stack)
        self.head = VocabularyHead(symbols, config.width, None if config.tied == "none" else self.embedding)

    @property
    def max_length(self) -> int:
        """How many tokens it can read; 0: as many as one likes."""
        return self.config.context or self.stack.position.max_length

    def forward(self, tokens_BT: Tensor, segments_BT: Tensor | None = None) -> Tensor:
        """states_BTD for all positions at once; with segments, nobody looks beyond their own."""
        mask = CAUSAL if segments_BT is None else CAUSAL & inside_segments(segments_BT)
        return self.stack(self.embedding(tokens_BT), mask)

    def answer_at(self, states_BTD: Tensor) -> Tensor:
        """logits_BTW, were these states of a layer the last ones."""
        return self.head(self.stack.norm(states_BTD))

    @property
    def width(self) -> int:
        return self.config.width

    def represent(self, inputs: Inputs) -> States:
        """What is padded stands behind everything; nobody looks there."""
        return States(self(inputs.values), inputs.lengths_B)

    def start(self, source: tuple[int, int]) -> StackState:
        """Nothing read yet: for so many rows, with room for so many tokens (0: it grows)."""
        return StackState(self.stack.new_caches(*source, self.embedding.weight))

    def step(
        self, tokens_BT: Tensor, state: StackState, lengths_B: Tensor | None = None
    ) -> tuple[Tensor, StackState]:
        mask = CAUSAL.at(places_after(state.ages, tokens_BT.shape[1], lengths_B))
        return self.head(self.stack(self.embedding(tokens_BT), mask, state.caches, lengths_B)), state
