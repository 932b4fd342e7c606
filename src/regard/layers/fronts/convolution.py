"""A small convolutional stem before the patches, which learns edges and textures faster than a Transformer does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import torch
from pydantic import model_validator
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
    channels: tuple[int, ...] = (32, 64)  # of each convolution
    strides: tuple[int, ...] = (2, 2)  # 1 keeps the size, 2 halves it
    activation: Activation = "relu"
    size: int | tuple[int, ...] = 1  # of the patches that are cut from what the convolutions make
    class_token: bool = True

    @model_validator(mode="after")
    def _fits(self) -> ConvolutionConfig:
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
        channels = (port.channels, *config.channels)
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
        for convolution, stride in zip(self.stem, self.strides, strict=True):
            values = convolution(without_padding(values, lengths_B))
            lengths_B = None if lengths_B is None else shortened(lengths_B, stride)
        return self.patches(Inputs(values, lengths_B))


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
