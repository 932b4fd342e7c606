"""Stacks of self-attention: the sizes that every family of them has, and the layer that its settings describe."""

from __future__ import annotations

from typing import Protocol, Self

from pydantic import Field, model_validator

from regard.attention import AttentionContext, HeadsPart, MechanismPart
from regard.attention.heads import HeadShape
from regard.core.config import Part
from regard.layers import FeedForwardPart, NormPart
from regard.layers.blocks import EncoderLayer, PostNorm, PreNorm


class StackPart(Part):
    """How many layers, how wide, with how many heads that divide the width among them."""

    layers: int = Field(ge=1)
    width: int = Field(ge=1)
    heads: int = Field(ge=1)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not divisible by {self.heads} heads; change one of them")
        return self


class LayerSettings(Protocol):
    """The settings of which an encoder layer is made."""

    @property
    def layers(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def heads(self) -> int: ...
    @property
    def dropout(self) -> float: ...
    @property
    def attention(self) -> MechanismPart: ...
    @property
    def projection(self) -> HeadsPart: ...
    @property
    def feed_forward(self) -> FeedForwardPart: ...
    @property
    def norm(self) -> NormPart: ...
    @property
    def head_norm(self) -> NormPart: ...


def encoder_layer(
    settings: LayerSettings,
    layer: int,
    max_length: int,
    residual: type[PreNorm] | type[PostNorm] = PreNorm,
    *,
    causal: bool = False,
) -> EncoderLayer:
    """The layer of this number; its heads divide the width among them, its projections have biases."""
    head_width = settings.width // settings.heads
    context = AttentionContext(head_width, head_width, settings.heads, max_length, layer, settings.layers, causal)
    return EncoderLayer(
        settings.projection.self_attention(
            HeadShape(settings.width, settings.heads),
            settings.attention.build(context),
            bias=True,
            new_norm=settings.head_norm.build,
        ),
        settings.feed_forward.build(settings.width, 0.0),
        lambda: residual(settings.width, settings.dropout, settings.norm.build),
    )
