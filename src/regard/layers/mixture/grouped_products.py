"""One product for each group of rows: sorted rows times the matrix of their group, without a loop over rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.core.precision import narrow_type


def grouped_linear(x_ND: Tensor, weight_EFD: Tensor, counts: Sequence[int]) -> Tensor:
    """y_NF: the first ``counts[0]`` rows times W₀ᵀ, the next ``counts[1]`` times W₁ᵀ, and so on.

    torch's ``grouped_mm`` does the same, product by product on a CPU; it wants rows and matrices at addresses that
    are multiples of 16 bytes, and gives no gradient in every type, so that it is written out here.
    """
    kind = narrow_type(x_ND.device.type)
    if kind is not None:
        x_ND, weight_EFD = x_ND.to(kind), weight_EFD.to(kind)
    return _GroupedLinear.apply(x_ND, weight_EFD, tuple(counts))


class _GroupedLinear(torch.autograd.Function):
    """dX = dY W and dW = dYᵀ X group by group, each written where it belongs."""

    @staticmethod
    def forward(ctx: Any, x_ND: Tensor, weight_EFD: Tensor, counts: tuple[int, ...]) -> Tensor:
        ctx.save_for_backward(x_ND, weight_EFD)
        ctx.counts = counts
        y_NF = x_ND.new_empty(len(x_ND), weight_EFD.shape[1])
        for group, rows in groups(counts):
            torch.mm(x_ND[rows], weight_EFD[group].T, out=y_NF[rows])
        return y_NF

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy_NF: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        x_ND, weight_EFD = ctx.saved_tensors
        dx_ND = torch.empty_like(x_ND) if ctx.needs_input_grad[0] else None
        dweight_EFD = torch.zeros_like(weight_EFD) if ctx.needs_input_grad[1] else None
        for group, rows in groups(ctx.counts):
            if dx_ND is not None:
                torch.mm(dy_NF[rows], weight_EFD[group], out=dx_ND[rows])
            if dweight_EFD is not None:
                torch.mm(dy_NF[rows].T, x_ND[rows], out=dweight_EFD[group])
        return dx_ND, dweight_EFD, None


def groups(counts: Sequence[int]) -> Iterator[tuple[int, slice]]:
    """The number and the rows of every group that has any."""
    start = 0
    for group, count in enumerate(counts):
        if count:
            yield group, slice(start, start + count)
        start += count
