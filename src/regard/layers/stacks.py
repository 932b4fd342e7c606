"""Stacks of self-attention: the sizes that every family of them has, and the layers that its parts make."""

from __future__ import annotations

from typing import NamedTuple, Self

from pydantic import Field, model_validator

from regard.attention import AttentionContext, HeadsPart, MechanismPart
from regard.attention.heads import HeadShape
from regard.core.config import Part
from regard.layers import FeedForwardPart, NormPart
from regard.layers.blocks import EncoderLayer, PostNorm, PreNorm


class LayerParts(NamedTuple):
    """What every layer of a stack is made of."""

    attention: MechanismPart
    projection: HeadsPart
    head_norm: NormPart
    feed_forward: FeedForwardPart
    norm: NormPart


class StackPart(Part):
    """How many layers, how wide, and how many heads divide the width among them.

    The defaults are the size that BERT base, the smallest GPT-2 and ViT-B/16 have in common.
    """

    layers: int = Field(12, ge=1)
    width: int = Field(768, ge=1)
    heads: int = Field(12, ge=1)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not divisible by {self.heads} heads; change one of them")
        return self

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
        head_width = self.width // self.heads
        context = AttentionContext(head_width, head_width, self.heads, max_length, layer, self.layers, causal)
        return EncoderLayer(
            parts.projection.self_attention(
                HeadShape(self.width, self.heads),
                parts.attention.build(context),
                bias=True,
                new_norm=parts.head_norm.build,
            ),
            parts.feed_forward.build(self.width, 0.0),
            lambda: residual(self.width, dropout, parts.norm.build),
        )
