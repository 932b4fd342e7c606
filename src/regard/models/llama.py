"""Llama: the decoder alone as it is built since 2023 (Touvron et al. 2023; grouped heads: Ainslie et al. 2023).

RMSNorm, rotary positions, a gated feed-forward network, several heads to a key, no biases. Read it top to bottom:
configuration, model.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, SerializeAsAny, model_validator
from torch import Tensor, nn

from regard.attention import MECHANISMS
from regard.attention.heads import HeadShape, SelfAttention
from regard.attention.masks import CAUSAL, inside_segments
from regard.core.config import Part
from regard.core.symbols import Sizes
from regard.layers import FEED_FORWARDS, HEAD_NORMS, NORMS, POSITIONS
from regard.layers.blocks import CausalStack, EncoderLayer, PreNorm, StackState, start_small
from regard.layers.embeddings import PlainEmbedding, VocabularyHead


class LlamaConfig(Part):
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
    attention: Annotated[SerializeAsAny[Part], MECHANISMS] = Field(default_factory=MECHANISMS.make)
    position: Annotated[SerializeAsAny[Part], POSITIONS.with_default("rotary")] = Field(
        default_factory=POSITIONS.with_default("rotary").make
    )
    feed_forward: Annotated[SerializeAsAny[Part], FEED_FORWARDS.with_default("gated")] = Field(
        default_factory=FEED_FORWARDS.with_default("gated").make
    )
    norm: Annotated[SerializeAsAny[Part], NORMS.with_default("rms")] = Field(
        default_factory=NORMS.with_default("rms").make
    )
    head_norm: Annotated[SerializeAsAny[Part], HEAD_NORMS] = Field(default_factory=HEAD_NORMS.make)

    @model_validator(mode="after")
    def _fits(self) -> LlamaConfig:
        if self.width % self.heads and not self.key_width:
            raise ValueError(f"width {self.width} is not divisible by {self.heads} heads; change one of them")
        if self.groups and self.heads % self.groups:
            raise ValueError(f"{self.heads} heads cannot share {self.groups} key/value groups; change one of them")
        return self

    def build(self, sizes: Sizes) -> Llama:
        return Llama(self, sizes)

    def block(self) -> EncoderLayer:
        width = self.key_width or self.width // self.heads
        shape = HeadShape(self.width, self.heads, self.groups, width, width)
        mechanism = self.attention.build(width, width)  # type: ignore[attr-defined]
        return EncoderLayer(
            SelfAttention(shape, mechanism, bias=False, new_norm=self.head_norm.build),  # type: ignore[attr-defined]
            self.feed_forward.build(self.width, 0.0),  # type: ignore[attr-defined]
            lambda: PreNorm(self.width, self.dropout, self.norm.build),  # type: ignore[attr-defined]
        )


class Llama(nn.Module):
    """Tokens so far become states, ``head`` turns states into logits for what follows each of them."""

    state_path = "stack.layers.0"  # the tap along which the past travels
    depth_path = "stack.layers.*"  # the taps that show the states on their way to an answer
    sight = "before"
    reading = ("embedding", "stack")

    def __init__(self, config: LlamaConfig, sizes: Sizes) -> None:
        super().__init__()
        self.config = config
        self.embedding = PlainEmbedding(sizes.outputs, config.width)
        self.stack = CausalStack(
            (config.block() for _ in range(config.layers)),
            config.position.build(config.width, config.heads),  # type: ignore[attr-defined]
            config.norm.build(config.width),  # type: ignore[attr-defined]
            config.dropout,
        )
        start_small(self.stack)
        self.head = VocabularyHead(sizes.outputs, config.width, None if config.tied == "none" else self.embedding)

    @property
    def context(self) -> int:
        """How many tokens it can read; 0: as many as one likes."""
        return self.config.context or self.stack.position.capacity

    def forward(self, tokens_BT: Tensor, segments_BT: Tensor | None = None) -> Tensor:
        """states_BTD for all positions at once; with segments, nobody looks beyond their own."""
        mask = CAUSAL if segments_BT is None else CAUSAL & inside_segments(segments_BT)
        return self.stack(self.embedding(tokens_BT), mask)

    def answer_at(self, states_BTD: Tensor) -> Tensor:
        """logits_BTW, were these states of a layer the last ones."""
        return self.head(self.stack.norm(states_BTD))

    @property
    def capacity(self) -> int:
        return self.context

    @property
    def state_width(self) -> int:
        return self.config.width

    def represent(self, tokens_BS: Tensor, lengths_B: Tensor, segments_BS: Tensor | None = None) -> Tensor:
        """What is padded stands behind everything; nobody looks there."""
        return self(tokens_BS)

    def start(self, source: tuple[int, int]) -> StackState:
        """Nothing read yet: for so many rows, with room for so many tokens (0: it grows)."""
        return StackState(self.stack.new_caches(*source, self.embedding.weight))

    def step(self, tokens_RT: Tensor, state: StackState) -> tuple[Tensor, StackState]:
        return self.head(self.stack(self.embedding(tokens_RT), CAUSAL.at(state.length), state.caches)), state
