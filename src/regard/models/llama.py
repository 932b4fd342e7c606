"""Llama: the decoder alone as it is built since 2023 (Touvron et al. 2023; grouped heads: Ainslie et al. 2023).

RMSNorm, rotary positions, a gated feed-forward network, several heads to a key, no biases. Read it top to bottom:
configuration, model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, SerializeAsAny, model_validator
from torch import nn

from regard.attention import AttentionContext
from regard.attention.heads import HeadShape
from regard.core import rules
from regard.core.auto import AUTO, Auto, decided
from regard.core.ports import OUTPUT, Ports, tokens_at
from regard.core.roles import Role
from regard.layers import (
    FEED_FORWARDS,
    MOST_LAYERS,
    NORMS,
    POSITIONS,
    FeedForwardPart,
    NormPart,
    PositionPart,
)
from regard.layers.blocks import CausalStack
from regard.layers.causal_transformer import CausalTransformer
from regard.layers.reversible import ReversibleStack
from regard.layers.stacks import (
    BRANCHES,
    AttentionParts,
    Residual,
    check_reversible,
    layer_of,
    settled_sizes,
    stack_of,
)
from regard.models import ModelPart


class LlamaConfig(AttentionParts, ModelPart):
    """A decoder-only Transformer; the defaults are a small one of Llama's proportions."""

    roles = frozenset({Role.READS, Role.CONTINUES})

    stacks: ClassVar[Mapping[str, str]] = {"layers": "stack.layers"}
    head_widths = ("key_width",)

    kind: str = "llama"
    layers: int = Field(4, ge=1, le=MOST_LAYERS)
    heads: Annotated[int, Auto(ge=1)] = AUTO
    groups: int = Field(0, ge=0)  # key/value heads; 0: as many as heads
    key_width: int = Field(0, ge=0)  # of one head; 0: width / heads
    max_length: int = Field(0, ge=0)  # the most tokens that it reads; 0: as many as one likes
    tied: Literal["output", "none"] = "none"  # whether words in and words out share one matrix
    residual: Residual = "pre"  # reversible: training keeps no states between layers, and computes a third more
    position: Annotated[SerializeAsAny[PositionPart], POSITIONS.with_default("rotary")] = Field(
        default_factory=POSITIONS.with_default("rotary").make
    )
    feed_forward: Annotated[SerializeAsAny[FeedForwardPart], FEED_FORWARDS.with_default("gated")] = Field(
        default_factory=FEED_FORWARDS.with_default("gated").make
    )
    norm: Annotated[SerializeAsAny[NormPart], NORMS.with_default("rms")] = Field(
        default_factory=NORMS.with_default("rms").make
    )

    @model_validator(mode="after")
    def _fits(self) -> LlamaConfig:
        heads = decided(self.heads, lambda: rules.heads(self.width))
        if self.width % heads and self.projection.divides_width and not self.key_width:
            raise ValueError(f"width {self.width} is not divisible by {self.heads} heads; change one of them")
        if self.groups and heads % self.groups:
            raise ValueError(f"{heads} heads cannot share {self.groups} key/value groups; change one of them")
        check_reversible(self.residual, self.feed_forward)
        return self

    def settled_sizes(self) -> dict[str, Any]:
        return settled_sizes(self.width, self.heads, self.feed_forward)

    def build(self, ports: Ports) -> Llama:
        return Llama(self.settled(), ports)

    def stack(self) -> CausalStack | ReversibleStack:
        position = self.position.build(self.width, self.heads)
        layers = (self.block(layer, self.max_length or position.max_length) for layer in range(self.layers))
        return stack_of(self.residual, layers, position, self.norm.build(self.width), self.dropout)

    def block(self, layer: int, max_length: int) -> nn.Module:
        shape = HeadShape(self.width, self.heads, self.groups, self.key_width, self.key_width)
        width = self.projection.head_shape(shape).key_width
        context = AttentionContext(width, width, self.heads, max_length, layer, self.layers, causal=True)
        branch = BRANCHES[self.residual]
        return layer_of(branch)(
            self.projection.self_attention(
                shape, self.attention.build(context), bias=False, new_norm=self.head_norm.build
            ),
            self.feed_forward.at_layer(layer).build(self.width, 0.0),
            lambda: branch(self.width, self.dropout, self.norm.build),
        )


class Llama(CausalTransformer):
    """Rotary positions and pre-norm blocks of grouped heads over the text so far."""

    def __init__(self, config: LlamaConfig, ports: Ports) -> None:
        symbols = tokens_at(ports, OUTPUT, config.kind).size
        super().__init__(
            symbols, config.width, config.stack, tied=config.tied == "output", max_length=config.max_length
        )
        self.config = config
