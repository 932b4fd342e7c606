"""GPT: a decoder alone, which reads what stands there and says what comes next (Radford et al. 2018, 2019).

Pre-norm blocks of masked self-attention and feed-forward, learned positions, one matrix for words in and words
out; the defaults are GPT-2's. Read it top to bottom: configuration, sizes, model.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

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
from regard.layers.feed_forward import Activation, FourfoldConfig
from regard.models import ModelPart


class GptFeedForwardConfig(FourfoldConfig):
    """Two layers, GELU between them as GPT-2 approximates it, by default four times as wide as the model."""

    activation: Activation = "gelu-tanh"


class GptConfig(ModelPart):
    """A decoder-only Transformer; the defaults are the smallest GPT-2."""

    kind: str = "gpt"
    layers: int = Field(12, ge=1)
    width: int = Field(768, ge=1)
    heads: int = Field(12, ge=1)
    dropout: float = Field(0.1, ge=0, lt=1)
    tied: Literal["output", "none"] = "output"  # whether words in and words out share one matrix
    attention: Annotated[SerializeAsAny[MechanismPart], MECHANISMS] = Field(default_factory=MECHANISMS.make)
    projection: Annotated[SerializeAsAny[HeadsPart], HEADS] = Field(default_factory=HEADS.make)
    position: Annotated[SerializeAsAny[PositionPart], POSITIONS.with_default("learned")] = Field(
        default_factory=POSITIONS.with_default("learned").make
    )
    feed_forward: Annotated[
        SerializeAsAny[FeedForwardPart], FEED_FORWARDS.but(plain="regard.models.gpt:GptFeedForwardConfig")
    ] = Field(default_factory=GptFeedForwardConfig)
    norm: Annotated[SerializeAsAny[NormPart], NORMS] = Field(default_factory=NORMS.make)
    head_norm: Annotated[SerializeAsAny[NormPart], HEAD_NORMS] = Field(default_factory=HEAD_NORMS.make)

    @model_validator(mode="after")
    def _fits(self) -> GptConfig:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not divisible by {self.heads} heads; change one of them")
        return self

    def build(self, ports: Ports) -> Gpt:
        return Gpt(self, ports)

    def block(self, layer: int, max_length: int) -> EncoderLayer:
        key_width = self.width // self.heads
        context = AttentionContext(key_width, key_width, self.heads, max_length, layer, self.layers, causal=True)
        return EncoderLayer(
            self.projection.self_attention(
                HeadShape(self.width, self.heads),
                self.attention.build(context),
                bias=True,
                new_norm=self.head_norm.build,
            ),
            self.feed_forward.build(self.width, 0.0),
            lambda: PreNorm(self.width, self.dropout, self.norm.build),
        )


def _size(layers: int, width: int, heads: int, max_length: int = 1024) -> dict[str, Any]:
    return {"layers": layers, "width": width, "heads": heads, "position": {"kind": "learned", "max_length": max_length}}


PRESETS: dict[str, dict[str, Any]] = {
    "gpt-character": _size(4, 128, 4, 256),
    "gpt2": _size(12, 768, 12),
    "gpt2-medium": _size(24, 1024, 16),
    "gpt2-large": _size(36, 1280, 20),
    "gpt2-xl": _size(48, 1600, 25),
    "gpt3": _size(96, 12288, 96, 2048),  # its alternating sparse layers apart (Brown et al. 2020, table 2.1)
}
"""The ``[model]`` table of well-known sizes."""


class Gpt(nn.Module):
    """Tokens so far become states, ``head`` turns states into logits for what follows each of them."""

    anatomy = Anatomy(
        state_path="stack.layers.0",
        depth_path="stack.layers.*",
        reading=("embedding", "stack"),
        entrances=(Entrance("tokens", "embedding", "stack.position"),),
    )
    causal = True

    def __init__(self, config: GptConfig, ports: Ports) -> None:
        super().__init__()
        self.config = config
        symbols = tokens_at(ports, OUTPUT, config.kind).size
        self.embedding = PlainEmbedding(symbols, config.width)
        position = config.position.build(config.width, config.heads)
        layers = (config.block(layer, position.max_length) for layer in range(config.layers))
        self.stack = CausalStack(layers, position, config.norm.build(config.width), config.dropout)
        init_small(self.stack)
        self.head = VocabularyHead(symbols, config.width, None if config.tied == "none" else self.embedding)

    @property
    def max_length(self) -> int:
        """How many tokens it can read; 0: as many as one likes."""
        return self.stack.position.max_length

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
