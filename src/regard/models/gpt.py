"""GPT: a decoder alone, which reads a text from the left and predicts what comes next (Radford et al. 2018, 2019).

Pre-norm blocks of masked self-attention and feed-forward, learned positions, one matrix for words in and words
out. Read it top to bottom: sizes, configuration, model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, SerializeAsAny, model_validator
from torch import nn

from regard.core.ports import OUTPUT, Ports, tokens_at
from regard.core.roles import Role
from regard.layers import FEED_FORWARDS, POSITIONS, FeedForwardPart, PositionPart
from regard.layers.blocks import CausalStack
from regard.layers.causal_transformer import CausalTransformer
from regard.layers.feed_forward import Activation, FeedForwardConfig
from regard.layers.reversible import ReversibleStack
from regard.layers.stacks import BRANCHES, Residual, StackPart, check_reversible, stack_of
from regard.models import ModelPart


class GptFeedForwardConfig(FeedForwardConfig):
    """Two layers, GELU between them as GPT-2 approximates it."""

    activation: Activation = "gelu-tanh"


def _size(layers: int, width: int, heads: int, max_length: int = 1024) -> dict[str, Any]:
    position = {"kind": "learned", "max_length": max_length}
    return {"layers": layers, "width": width, "heads": heads, "dropout": 0.1, "position": position}


PRESETS: dict[str, dict[str, Any]] = {
    "gpt-character": _size(4, 128, 4, 256),
    "gpt2": _size(12, 768, 12),
    "gpt2-medium": _size(24, 1024, 16),
    "gpt2-large": _size(36, 1280, 20),
    "gpt2-xl": _size(48, 1600, 25),
    "gpt3": _size(96, 12288, 96, 2048),  # its alternating sparse layers apart (Brown et al. 2020, table 2.1)
}
"""The ``[model]`` table of well-known sizes."""


class GptConfig(StackPart, ModelPart):
    """A decoder-only Transformer."""

    presets = PRESETS

    roles = frozenset({Role.READS, Role.CONTINUES})

    stacks: ClassVar[Mapping[str, str]] = {"layers": "stack.layers"}

    kind: str = "gpt"
    tied: Literal["output", "none"] = "output"  # whether words in and words out share one matrix
    residual: Residual = "pre"  # reversible: training keeps no states between layers, and computes a third more
    position: Annotated[SerializeAsAny[PositionPart], POSITIONS.with_default("learned")] = Field(
        default_factory=POSITIONS.with_default("learned").make
    )
    feed_forward: Annotated[
        SerializeAsAny[FeedForwardPart], FEED_FORWARDS.but(plain="regard.models.gpt:GptFeedForwardConfig")
    ] = Field(default_factory=GptFeedForwardConfig)

    @model_validator(mode="after")
    def _goes_back(self) -> GptConfig:
        check_reversible(self.residual, self.feed_forward)
        return self

    def build(self, ports: Ports) -> Gpt:
        return Gpt(self.settled(), ports)

    def stack(self) -> CausalStack | ReversibleStack:
        position = self.position.build(self.width, self.heads)
        layers = (self.block(layer, position.max_length) for layer in range(self.layers))
        return stack_of(self.residual, layers, position, self.norm.build(self.width), self.dropout)

    def block(self, layer: int, max_length: int) -> nn.Module:
        return self.encoder_layer(self.dropout, layer, max_length, BRANCHES[self.residual], causal=True)


class Gpt(CausalTransformer):
    """Learned positions and pre-norm blocks over the text so far."""

    def __init__(self, config: GptConfig, ports: Ports) -> None:
        symbols = tokens_at(ports, OUTPUT, config.kind).size
        super().__init__(symbols, config.width, config.stack, tied=config.tied == "output")
        self.config = config
