"""ViT: an encoder that reads a picture as a sequence of patches (Dosovitskiy et al. 2021).

A front cuts the picture and puts a class token before it, positions say where each patch stands, pre-norm blocks let
all of them look at one another. Behind the same front it reads series and videos too. Read it top to bottom:
configuration, sizes, model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, SerializeAsAny
from torch import Tensor, nn

from regard.attention.masks import EVERYTHING, padding
from regard.core.inputs import Inputs, States
from regard.core.ports import INPUT, Arrays, Ports, arrays_at
from regard.core.roles import Role
from regard.core.seams import ReadsAgain
from regard.core.seams.anatomy import Anatomy
from regard.layers import NORMS, NormPart
from regard.layers.blocks import run_layer
from regard.layers.dropout import Dropout
from regard.layers.fronts import ARRAY_FRONTS, ArrayFrontPart
from regard.layers.grid_positions import GRID_POSITIONS, GridPositionPart
from regard.layers.norms import LayerNormConfig
from regard.layers.stacks import StackPart
from regard.models import ModelPart


class VitNormConfig(LayerNormConfig):
    """LayerNorm with the published ε."""

    epsilon: float = Field(1e-6, gt=0)


_NORMS = NORMS.but(layer="regard.models.vit:VitNormConfig")


def _size(layers: int, width: int, heads: int, patch: int = 16) -> dict[str, Any]:
    front = {"kind": "patches", "size": patch}
    return {"layers": layers, "width": width, "heads": heads, "dropout": 0.0, "front": front}


PRESETS: dict[str, dict[str, Any]] = {
    "vit-tiny": _size(12, 192, 3),  # and small: Touvron et al. 2021
    "vit-small": _size(12, 384, 6),
    "vit-base": _size(12, 768, 12),
    "vit-large": _size(24, 1024, 16),
    "vit-huge": _size(32, 1280, 16, 14),
}
"""The ``[model]`` table of well-known sizes."""


class VitConfig(StackPart, ModelPart):
    """A Vision Transformer."""

    presets = PRESETS

    roles = frozenset({Role.READS})

    kind: str = "vit"
    front: Annotated[SerializeAsAny[ArrayFrontPart], ARRAY_FRONTS] = Field(default_factory=ARRAY_FRONTS.make)
    position: Annotated[SerializeAsAny[GridPositionPart], GRID_POSITIONS] = Field(default_factory=GRID_POSITIONS.make)
    norm: Annotated[SerializeAsAny[NormPart], _NORMS] = Field(default_factory=VitNormConfig)

    def build(self, ports: Ports) -> Vit:
        return Vit(self.settled(), arrays_at(ports, INPUT, self.kind))

    def block(self, layer: int, max_length: int) -> nn.Module:
        return self.encoder_layer(self.dropout, layer, max_length)


class Vit(nn.Module):
    """Arrays become states of their patches; a class token, where the front has one, comes first."""

    anatomy = Anatomy(depth_path="layers.*", reading=("front", "position", "dropout", "layers", "norm"))
    causal = False

    def __init__(self, config: VitConfig, port: Arrays) -> None:
        super().__init__()
        self.config, self.width = config, config.width
        self.front = config.front.build(port, config.width)
        self.grid, self.class_tokens = self.front.grid, self.front.class_tokens
        positions = self.class_tokens + math.prod(self.grid)
        self.position = config.position.build(self.grid, config.width, self.class_tokens)
        self.dropout = Dropout(config.dropout)
        self.layers = nn.ModuleList(config.block(layer, positions) for layer in range(config.layers))
        self.norm = config.norm.build(config.width)
        self.recompute = False  # activation checkpointing, set by the training loop

    @property
    def max_length(self) -> int:
        """How many positions it can read, the class token among them; 0: as many as one likes."""
        return self.position.max_length

    def cells(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self.front.cells(shape)

    def readings(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self.front.readings(shape) if isinstance(self.front, ReadsAgain) else ()

    def represent(self, inputs: Inputs) -> States:
        return self(inputs)

    def interpolated(self, weights: Mapping[str, Tensor], grid: Sequence[int]) -> dict[str, Tensor]:
        """Positions that were learned on another grid become those of this one."""
        own = {name: tensor for name, tensor in weights.items() if name.startswith("position.")}
        return {**weights, **self.position.interpolated(own, grid)}

    def forward(self, inputs: Inputs) -> States:
        embedded = self.front(inputs)
        lengths_B = embedded.lengths_B
        mask = EVERYTHING if lengths_B is None else padding(lengths_B, embedded.x_BND.shape[1])
        x_BND = self.dropout(self.position(embedded))
        for layer in self.layers:
            x_BND = run_layer(layer, self.recompute, x_BND, mask, None)
        return States(self.norm(x_BND), embedded.lengths_B)
