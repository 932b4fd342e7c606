"""Stacks of self-attention: the sizes that every family of them has, and the layers that its parts make."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SerializeAsAny, model_validator
from torch import nn

from regard.attention import HEADS, MECHANISMS, AttentionContext, HeadsPart, MechanismPart
from regard.attention.heads import HeadShape
from regard.core import rules
from regard.core.auto import AUTO, Auto, decided, is_auto
from regard.core.config import Part
from regard.core.seams import Position
from regard.layers import GELU_FEED_FORWARDS, HEAD_NORMS, MOST_LAYERS, NORMS, FeedForwardPart, NormPart
from regard.layers.blocks import CausalStack, EncoderLayer, PostNorm, PreNorm
from regard.layers.reversible import Branch, ReversibleLayer, ReversibleStack

Residual = Literal["pre", "reversible"]
"""How sub-layers of a decoder alone add to the states: to one path, or in two halves that training need not keep."""
BRANCHES: dict[Residual, type[PreNorm] | type[Branch]] = {"pre": PreNorm, "reversible": Branch}


def layer_of(residual: type[nn.Module]) -> Callable[..., nn.Module]:
    """The layer whose sub-layers are joined in this way."""
    return ReversibleLayer if residual is Branch else EncoderLayer


def stack_of(
    residual: Residual, layers: Iterable[nn.Module], position: Position, norm: nn.Module, dropout: float
) -> CausalStack | ReversibleStack:
    """A decoder alone of such layers."""
    made = ReversibleStack if residual == "reversible" else CausalStack
    return made(layers, position, norm, dropout)


def check_reversible(residual: Residual, feed_forward: FeedForwardPart) -> None:
    """Refuses a network that would hand over without its gradient what is made again in the backward pass."""
    if residual == "reversible" and feed_forward.hands_over:
        raise ValueError(
            f'residual = "reversible" throws away what feed_forward.kind = {feed_forward.kind!r} counts and adds '
            'to the loss; choose residual = "pre" (training.recompute = true where memory is short), or a dense network'
        )


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
        residual: type[PreNorm] | type[PostNorm] | type[Branch] = PreNorm,
        *,
        causal: bool = False,
    ) -> nn.Module:
        """The layer of this number, whose projections have biases."""
        shape = HeadShape(self.width, self.heads)
        head_width = self.projection.head_shape(shape).key_width
        context = AttentionContext(head_width, head_width, self.heads, max_length, layer, self.layers, causal)
        return layer_of(residual)(
            self.projection.self_attention(
                shape, self.attention.build(context), bias=True, new_norm=self.head_norm.build
            ),
            self.feed_forward.at_layer(layer).build(self.width, 0.0),
            lambda: residual(self.width, dropout, self.norm.build),
        )
