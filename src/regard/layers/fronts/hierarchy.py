"""A series read at several grains at once: long, middling and short blocks of it stand in one sequence."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from regard.core.inputs import Embedded, Inputs
from regard.core.ports import Arrays
from regard.layers.fronts import ArrayFrontPart
from regard.layers.fronts.patches import SPREAD, Patches


class HierarchyConfig(ArrayFrontPart):
    """Blocks of each of ``sizes`` steps along the first axis, the coarsest first."""

    kind: str = "hierarchy"
    sizes: tuple[int, ...] = Field((16, 8, 4), min_length=1)  # steps of a block; those of other axes are in it, all
    class_token: bool = True

    @model_validator(mode="after")
    def _fits(self) -> HierarchyConfig:
        if min(self.sizes) < 1 or list(self.sizes) != sorted(set(self.sizes), reverse=True):
            raise ValueError(f"sizes = {list(self.sizes)} do not go from coarse to fine; give some like [16, 8, 4]")
        return self

    def build(self, port: Arrays, width: int) -> Hierarchy:
        return Hierarchy(self, port, width)


class Hierarchy(nn.Module):
    """One front of patches for each size, one after the other, and a learned vector for each that says which it is.

    A clip that is shorter than others has no gap between its coarse and its fine blocks: the real positions of every
    row come first. ``places_BNA`` are the step at which a block begins, in units of the finest, and its level; learned
    positions count blocks and mean the same only in inputs of one length.
    """

    def __init__(self, config: HierarchyConfig, port: Arrays, width: int) -> None:
        super().__init__()
        self.sizes = config.sizes
        others = port.shape[1:]
        self.levels = nn.ModuleList(
            Patches(port.channels, (-(-port.shape[0] // size) * size, *others), (size, *others), width, False)
            for size in self.sizes
        )
        self.level_embedding = nn.Parameter(torch.randn(len(self.sizes), width) * SPREAD)
        self.class_tokens = int(config.class_token)
        if config.class_token:
            self.class_embedding = nn.Parameter(torch.randn(width) * SPREAD)
        self.grid = self.cells(port.shape)

    def cells(self, shape: Sequence[int]) -> tuple[int, ...]:
        return sum(self.readings(shape)), *[1] * (len(shape) - 1)

    def readings(self, shape: Sequence[int]) -> tuple[int, ...]:
        return tuple(-(-shape[0] // size) for size in self.sizes)

    def forward(self, inputs: Inputs) -> Embedded:
        read = [level(inputs) for level in self.levels]
        x_BND = torch.cat([
            own.x_BND + vector_D.to(own.x_BND.dtype) for own, vector_D in zip(read, self.level_embedding, strict=True)
        ], dim=1)  # fmt: skip
        places_BNA = torch.cat([self.places(level, own) for level, own in enumerate(read)], dim=1)
        lengths_B = None
        if inputs.lengths_B is not None:
            order_BN, lengths_B = self.real_first(read)
            x_BND = x_BND.gather(1, order_BN[..., None].expand_as(x_BND))
            places_BNA = places_BNA.gather(1, order_BN[..., None].expand_as(places_BNA))
            lengths_B = lengths_B + self.class_tokens
        if self.class_tokens:
            x_BND = torch.cat((self.class_embedding.to(x_BND.dtype).expand(len(x_BND), 1, -1), x_BND), dim=1)
            places_BNA = torch.cat((places_BNA.new_full((len(x_BND), 1, 2), -1), places_BNA), dim=1)
        return Embedded(x_BND, lengths_B, places_BNA)

    def places(self, level: int, own: Embedded) -> Tensor:
        rows, count = own.x_BND.shape[:2]
        starts_N = torch.arange(count, device=own.x_BND.device) * self.sizes[level] // self.sizes[-1]
        return torch.stack((starts_N, torch.full_like(starts_N, level)), dim=-1).expand(rows, -1, -1)

    def real_first(self, read: Sequence[Embedded]) -> tuple[Tensor, Tensor]:
        """The order in which padding comes last, all else as it was; and how many positions are real."""
        real_BN = torch.cat([
            torch.arange(own.x_BND.shape[1], device=own.x_BND.device) < own.lengths_B[:, None]
            for own in read if own.lengths_B is not None
        ], dim=1)  # fmt: skip
        return real_BN.int().argsort(dim=1, descending=True, stable=True), real_BN.sum(dim=1)
