"""Stacks of self-attention: the sizes that every family of them has, and the layers that its parts make."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, SerializeAsAny, model_validator

from regard.attention import HEADS, MECHANISMS, AttentionContext, HeadsPart, MechanismPart
from regard.attention.heads import HeadShape
from regard.core import rules
from regard.core.auto import AUTO, Auto, decided, is_auto
from regard.core.config import Part
from regard.layers import GELU_FEED_FORWARDS, HEAD_NORMS, MOST_LAYERS, NORMS, FeedForwardPart, NormPart
from regard.layers.blocks import EncoderLayer, PostNorm, PreNorm


def settled_sizes(width: int, heads: int, feed_forward: FeedForwardPart) -> dict[str, Any]:
    """What depends on the width of a model, decided."""
    return {"heads": decided(heads, lambda: rules.heads(width)), "feed_forward": feed_forward.settled(width)}


class AttentionParts(Part):
    """What attention in every layer is made of."""

    attention: Annotated[SerializeAsAny[MechanismPart], MECHANISMS] = Field(default_factory=MECHANISMS.make)
    projection: Annotated[SerializeAsAny[HeadsPart], HEADS] = Field(default_factory=HEADS.make)
    head_norm: Annotated[SerializeAsAny[NormPart], HEAD_NORMS] = Field(default_factory=HEAD_NORMS.make)


class StackPart(AttentionParts):
    """How many layers, how wide, how many heads divide the width among them, and what every layer is made of."""

    layers: int = Field(4, ge=1, le=MOST_LAYERS)
    width: int = Field(256, ge=1)
    heads: Annotated[int, Auto(ge=1)] = AUTO
    feed_forward: Annotated[SerializeAsAny[FeedForwardPart], GELU_FEED_FORWARDS] = Field(
        default_factory=GELU_FEED_FORWARDS.make
    )
    norm: Annotated[SerializeAsAny[NormPart], NORMS] = Field(default_factory=NORMS.make)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if not is_auto(self.heads) and self.width % self.heads:
            raise ValueError(f"width {self.width} is not divisible by {self.heads} heads; change one of them")
        return self

    def settled_sizes(self) -> dict[str, Any]:
        return settled_sizes(self.width, self.heads, self.feed_forward)

    def encoder_layer(
        self,
        dropout: float,
        layer: int,
        max_length: int,
        residual: type[PreNorm] | type[PostNorm] = PreNorm,
        *,
        causal: bool = False,
    ) -> EncoderLayer:
        """The layer of this number, whose projections have biases."""
        shape = HeadShape(self.width, self.heads)
        head_width = self.projection.head_shape(shape).key_width
        context = AttentionContext(head_width, head_width, self.heads, max_length, layer, self.layers, causal)
        return EncoderLayer(
            self.projection.self_attention(
                shape, self.attention.build(context), bias=True, new_norm=self.head_norm.build
            ),
            self.feed_forward.at_layer(layer).build(self.width, 0.0),
            lambda: residual(self.width, dropout, self.norm.build),
        )
