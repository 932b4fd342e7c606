"""Patches as tokens: an array of one, two or three axes is cut into equal blocks, and each is projected to a vector."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from pydantic import model_validator
from torch import Tensor, nn
from torch.nn import functional

from regard.core.errors import RecipeError
from regard.core.inputs import Embedded, Inputs
from regard.core.ports import Arrays
from regard.layers.fronts import ArrayFrontPart

SPREAD = 0.02
"""Of the class token at the start."""


class PatchesConfig(ArrayFrontPart):
    """Blocks of ``size`` values along each axis, projected by one matrix (Dosovitskiy et al. 2021, eq. 1)."""

    kind: str = "patches"
    size: int | tuple[int, ...] = 16  # one number for all axes, or one for each
    class_token: bool = True  # a learned vector before all patches, whose state can stand for the whole
    distillation_token: bool = False  # a second one, for what a teacher says (Touvron et al. 2021)

    @model_validator(mode="after")
    def _fits(self) -> PatchesConfig:
        if self.distillation_token and not self.class_token:
            raise ValueError("distillation_token = true needs class_token = true, beside which it stands")
        return self

    def build(self, port: Arrays, width: int) -> Patches:
        size = per_axis(self.size, len(port.shape))
        return Patches(port.channels, port.shape, size, width, self.class_token, self.distillation_token)


class Patches(nn.Module):
    """x = E · patch + b for every block, behind a class token where one is wanted, and a distillation token after it.

    ``projection`` multiplies a patch's values in the order of ``nn.Conv2d.weight`` (channel, row, column): a
    convolution whose stride is its kernel has the same weight, flattened.
    """

    def __init__(
        self,
        channels: int,
        shape: Sequence[int],
        size: Sequence[int],
        width: int,
        class_token: bool = True,
        distillation_token: bool = False,
    ) -> None:
        super().__init__()
        check_divisible(shape, size)
        self.size, self.class_tokens = tuple(size), int(class_token) + int(distillation_token)
        self.grid = tuple(length // own for length, own in zip(shape, size, strict=True))
        self.projection = nn.Linear(channels * math.prod(size), width)
        nn.init.trunc_normal_(self.projection.weight, std=self.projection.in_features**-0.5)
        nn.init.zeros_(self.projection.bias)
        if class_token:
            self.class_embedding = nn.Parameter(torch.randn(width) * SPREAD)
        if distillation_token:
            self.distillation_embedding = nn.Parameter(torch.randn(width) * SPREAD)

    def cells(self, shape: Sequence[int]) -> tuple[int, ...]:
        return tuple(-(-length // own) for length, own in zip(shape, self.size, strict=True))

    def forward(self, inputs: Inputs) -> Embedded:
        values = to_multiples(without_padding(inputs.values, inputs.lengths_B), self.size)
        x_BND = self.projection(cut(values, self.size))
        grid = tuple(length // own for length, own in zip(values.shape[2:], self.size, strict=True))
        places_NA = grid_places(grid, x_BND.device)
        if self.class_tokens:
            tokens = [self.class_embedding, *([self.distillation_embedding] if self.class_tokens > 1 else ())]
            tokens_BND = torch.stack(tokens).to(x_BND.dtype).expand(x_BND.shape[0], -1, -1)
            x_BND = torch.cat((tokens_BND, x_BND), dim=1)
            places_NA = torch.cat((places_NA.new_full((self.class_tokens, len(grid)), -1), places_NA))
        lengths_B = inputs.lengths_B
        if lengths_B is not None:
            lengths_B = self.class_tokens + (lengths_B + self.size[0] - 1) // self.size[0] * math.prod(grid[1:])
        return Embedded(x_BND, lengths_B, places_NA.expand(x_BND.shape[0], -1, -1), grid)


def cut(values_BC: Tensor, size: Sequence[int]) -> Tensor:
    """patches_BNP of arrays_BC…: blocks row by row, in each the channels one after the other."""
    blocks = values_BC
    for axis, own in enumerate(size):
        blocks = blocks.unflatten(2 + 2 * axis, (-1, own))  # B C rows row columns column …
    axes = len(size)
    places, inside = [2 + 2 * axis for axis in range(axes)], [3 + 2 * axis for axis in range(axes)]
    return blocks.permute(0, *places, 1, *inside).flatten(1 + axes).flatten(1, axes)


def grid_places(grid: Sequence[int], device: torch.device | None = None) -> Tensor:
    """places_NA of a grid that is read row by row."""
    axes = [torch.arange(length, device=device) for length in grid]
    return torch.stack(torch.meshgrid(*axes, indexing="ij"), dim=-1).flatten(0, -2)


def without_padding(values_BC: Tensor, lengths_B: Tensor | None) -> Tensor:
    """Zeros beyond each row's length along the first axis, so that a block that is partly padded sees nothing else."""
    steps = values_BC.shape[2]
    if lengths_B is None:
        return values_BC
    if torch.compiler.is_exporting() or bool((lengths_B >= steps).all()):
        return values_BC
    there_BN = torch.arange(steps, device=values_BC.device) < lengths_B[:, None]
    there = there_BN[:, None].reshape(len(values_BC), 1, steps, *[1] * (values_BC.dim() - 3))
    return values_BC.masked_fill(~there, 0.0)


def to_multiples(values_BC: Tensor, size: Sequence[int]) -> Tensor:
    """With zeros at the end of each axis where the last block would not be whole."""
    missing = [-length % own for length, own in zip(values_BC.shape[2:], size, strict=True)]
    if not any(missing):
        return values_BC
    return functional.pad(values_BC, [edge for own in reversed(missing) for edge in (0, own)])


def per_axis(size: int | Sequence[int], axes: int) -> tuple[int, ...]:
    """One number for each axis."""
    sizes = (size,) * axes if isinstance(size, int) else tuple(size)
    if len(sizes) != axes or min(sizes) < 1:
        raise RecipeError(
            f"model.front.size = {size!r} does not fit an input of {axes} axes; "
            f"give one number of at least 1, or {axes} of them"
        )
    return sizes


def check_divisible(shape: Sequence[int], size: Sequence[int]) -> None:
    """Every axis is cut without a rest."""
    if all(length % own == 0 for length, own in zip(shape, size, strict=True)):
        return
    shared = math.gcd(*shape)
    fitting = [str(own) for own in range(1, shared + 1) if shared % own == 0]
    raise RecipeError(
        f"an input of {written(shape)} cannot be cut into patches of {written(size)} without a remainder; "
        f"set model.front.size to one of {', '.join(fitting)}, or give the input another size"
    )


def written(shape: Sequence[int]) -> str:
    return "×".join(map(str, shape))
