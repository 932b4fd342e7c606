"""A small convolutional stem before the patches, which learns edges and textures faster than a Transformer does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from regard.core.inputs import Embedded, Inputs
from regard.core.ports import Arrays
from regard.layers.feed_forward import ACTIVATIONS, Activation
from regard.layers.fronts import ArrayFrontPart
from regard.layers.fronts.patches import Patches, per_axis, without_padding

CONVOLUTIONS = (functional.conv1d, functional.conv2d, functional.conv3d)
KERNEL = 3


class ConvolutionConfig(ArrayFrontPart):
    """A few 3×3 convolutions, then patches of what they make (Xiao et al. 2021)."""

    kind: str = "convolution"
    whiten: int = Field(0, ge=0)  # side of the blocks that a fixed convolution before the others whitens; 0: none
    channels: tuple[int, ...] = (32, 64)  # of each convolution
    strides: tuple[int, ...] = (2, 2)  # 1 keeps the size, 2 halves it
    activation: Activation = "relu"
    size: int | tuple[int, ...] = 1  # of the patches that are cut from what the convolutions make
    class_token: bool = True

    @model_validator(mode="after")
    def _fits(self) -> ConvolutionConfig:
        if self.whiten and self.whiten % 2 == 0:
            raise ValueError(f"whiten = {self.whiten} has no middle; give an odd number such as 3, or 0")
        if not self.channels or len(self.channels) != len(self.strides):
            raise ValueError(
                f"{len(self.channels)} numbers of channels and {len(self.strides)} strides were found, but every "
                "convolution needs one of each"
            )
        return self

    def build(self, port: Arrays, width: int) -> ConvolutionFront:
        return ConvolutionFront(self, port, width)


class ConvolutionFront(nn.Module):
    """Convolutions, then ``patches`` of their channels."""

    def __init__(self, config: ConvolutionConfig, port: Arrays, width: int) -> None:
        super().__init__()
        self.strides, axes = config.strides, len(port.shape)
        self.whitening = Whitening(port.channels, config.whiten, axes, config.activation) if config.whiten else None
        channels = (self.whitening.channels if self.whitening else port.channels, *config.channels)
        self.stem = nn.ModuleList(
            Convolution(before, after, stride, axes, config.activation)
            for before, after, stride in zip(channels, channels[1:], config.strides, strict=False)
        )
        shape = self.made_of(port.shape)
        self.patches = Patches(channels[-1], shape, per_axis(config.size, axes), width, config.class_token)
        self.grid, self.class_tokens = self.patches.grid, self.patches.class_tokens

    def made_of(self, shape: Sequence[int]) -> Sequence[int]:
        """The shape of what the convolutions make of an input of this one."""
        for stride in self.strides:
            shape = [shortened(length, stride) for length in shape]
        return shape

    def cells(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self.patches.cells(self.made_of(shape))

    def forward(self, inputs: Inputs) -> Embedded:
        values, lengths_B = inputs.values, inputs.lengths_B
        if self.whitening is not None:
            values = self.whitening(without_padding(values, lengths_B))
        for convolution, stride in zip(self.stem, self.strides, strict=True):
            values = convolution(without_padding(values, lengths_B))
            lengths_B = None if lengths_B is None else shortened(lengths_B, stride)
        return self.patches(Inputs(values, lengths_B))


class Whitening(nn.Module):
    """f(± Λ^−½ Eᵀ x) of the block around every value; E, Λ: eigenvectors and eigenvalues of the blocks' covariance.

    Neighbouring pixels say nearly the same; what is left here is what differs, in equal strength (the first layer of
    Jordan 2024, with blocks of odd size). Computed from training inputs before the first step, it is not trained.
    """

    EPSILON = 5e-4  # of a variance; fainter directions are noise
    kernel: Tensor

    def __init__(self, channels: int, size: int, axes: int, activation: Activation) -> None:
        super().__init__()
        self.kernel_shape = (channels, *[size] * axes)
        self.convolve, self.padding = CONVOLUTIONS[axes - 1], size // 2
        self.channels = 2 * math.prod(self.kernel_shape)
        both_signs = torch.eye(self.channels // 2)
        self.register_buffer("kernel", torch.cat((both_signs, -both_signs)))
        self.activation = ACTIVATIONS[activation]

    def forward(self, values_BC: Tensor) -> Tensor:
        kernel = self.kernel.unflatten(1, self.kernel_shape).to(values_BC.dtype)
        if values_BC.dim() == 4:  # channels side by side, as the norms of all convolutions to come want them
            values_BC = values_BC.contiguous(memory_format=torch.channels_last)
        return self.activation(self.convolve(values_BC, kernel, padding=self.padding))

    @torch.no_grad()
    def fit_inputs(self, inputs: Inputs) -> None:
        blocks = inputs.values
        for axis, size in enumerate(self.kernel_shape[1:]):
            blocks = blocks.unfold(2 + axis, size, 1)
        axes = len(self.kernel_shape) - 1
        blocks_NP = blocks.movedim(1, axes + 1).flatten(-axes - 1).flatten(0, -2).double()
        values_P, vectors_PP = torch.linalg.eigh(blocks_NP.T.cov())
        whitening_PP = (vectors_PP * (values_P.clamp_min(0) + self.EPSILON).rsqrt()).T
        self.kernel.copy_(torch.cat((whitening_PP, -whitening_PP)))


class Convolution(nn.Module):
    """f(Norm(3×3 convolution)) of arrays_BC….

    The norm is over the channels of each position, not over a batch as published: so an example's states do not depend
    on what else stands in its batch, nor a step on how its batch is divided. The kernel is kept as the matrix that it
    is, a row for each channel that it makes, so that optimisers for matrices take care of it.
    """

    def __init__(self, before: int, after: int, stride: int, axes: int, activation: Activation) -> None:
        super().__init__()
        self.convolve, self.stride, self.kernel_shape = CONVOLUTIONS[axes - 1], stride, (before, *[KERNEL] * axes)
        self.kernel = nn.Parameter(torch.empty(after, math.prod(self.kernel_shape)))
        nn.init.kaiming_normal_(self.kernel, nonlinearity="relu")
        self.norm = nn.LayerNorm(after)
        self.activation = ACTIVATIONS[activation]

    def forward(self, values_BC: Tensor) -> Tensor:
        kernel = self.kernel.unflatten(1, self.kernel_shape)
        made_BC = self.convolve(values_BC, kernel, stride=self.stride, padding=KERNEL // 2)
        return self.activation(self.norm(made_BC.movedim(1, -1))).movedim(-1, 1)


Length = TypeVar("Length", int, Tensor)


def shortened(length: Length, stride: int) -> Length:
    """How many steps a convolution leaves of so many."""
    return (length + stride - 1) // stride
