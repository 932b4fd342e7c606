"""Stacks of self-attention: the sizes that every family of them has, and the layers that its parts make."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, Self

from pydantic import Field, SerializeAsAny, model_validator

from regard.attention import AttentionContext, HeadsPart, MechanismPart
from regard.attention.heads import HeadShape
from regard.core import rules
from regard.core.auto import AUTO, Auto, decided, is_auto
from regard.core.config import Part
from regard.layers import GELU_FEED_FORWARDS, MOST_LAYERS, FeedForwardPart, NormPart
from regard.layers.blocks import EncoderLayer, PostNorm, PreNorm


class LayerParts(NamedTuple):
    """What every layer of a stack is made of."""

    attention: MechanismPart
    projection: HeadsPart
    head_norm: NormPart
    feed_forward: FeedForwardPart
    norm: NormPart


def settled_sizes(width: int, heads: int, feed_forward: FeedForwardPart) -> dict[str, Any]:
    """What depends on the width of a model, decided."""
    return {"heads": decided(heads, lambda: rules.heads(width)), "feed_forward": feed_forward.settled(width)}


class StackPart(Part):
    """How many layers, how wide, and how many heads divide the width among them."""

    layers: int = Field(4, ge=1, le=MOST_LAYERS)
    width: int = Field(256, ge=1)
    heads: Annotated[int, Auto(ge=1)] = AUTO
    feed_forward: Annotated[SerializeAsAny[FeedForwardPart], GELU_FEED_FORWARDS] = Field(
        default_factory=GELU_FEED_FORWARDS.make
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if not is_auto(self.heads) and self.width % self.heads:
            raise ValueError(f"width {self.width} is not divisible by {self.heads} heads; change one of them")
        return self

    def settled_sizes(self) -> dict[str, Any]:
        return settled_sizes(self.width, self.heads, self.feed_forward)

    def encoder_layer(
        self,
        parts: LayerParts,
        dropout: float,
        layer: int,
        max_length: int,
        residual: type[PreNorm] | type[PostNorm] = PreNorm,
        *,
        causal: bool = False,
    ) -> EncoderLayer:
        """The layer of this number, whose projections have biases."""
        shape = HeadShape(self.width, self.heads)
        head_width = parts.projection.head_shape(shape).key_width
        context = AttentionContext(head_width, head_width, self.heads, max_length, layer, self.layers, causal)
        return EncoderLayer(
            parts.projection.self_attention(
                shape,
                parts.attention.build(context),
                bias=True,
                new_norm=parts.head_norm.build,
            ),
            parts.feed_forward.at_layer(layer).build(self.width, 0.0),
            lambda: residual(self.width, dropout, parts.norm.build),
        )
