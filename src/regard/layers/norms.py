"""Norms: every position's vector brought to one size, by its mean and spread or by its length alone."""

from __future__ import annotations

from typing import Any

import torch
from pydantic import Field
from torch import Tensor, nn

from regard.layers import NormPart


class NoNormConfig(NormPart):
    """x as it is."""

    kind: str = "none"

    def build(self, width: int) -> nn.Module:
        return nn.Identity()


class LayerNormConfig(NormPart):
    """(x − mean) / √(variance + ε) · g + b (Ba et al. 2016)."""

    kind: str = "layer"
    epsilon: float = Field(1e-5, gt=0)

    def build(self, width: int) -> nn.Module:
        return nn.LayerNorm(width, eps=self.epsilon)


class RmsNormConfig(NormPart):
    """x / √(mean of x² + ε) · g: nothing is subtracted (Zhang & Sennrich 2019)."""

    kind: str = "rms"
    epsilon: float = Field(1e-5, gt=0)

    def build(self, width: int) -> nn.Module:
        return RmsNorm(width, eps=self.epsilon)


class RmsNorm(nn.RMSNorm):
    """torch's, with a gradient that takes half as many passes over memory (torch has no fused one for CPUs)."""

    def forward(self, x: Tensor) -> Tensor:
        if torch.is_grad_enabled() and x.dtype == self.weight.dtype and x.device.type == "cpu":
            return _RmsNormFunction.apply(x, self.weight, self.eps)
        return super().forward(x)


class _RmsNormFunction(torch.autograd.Function):
    """y = n g, n = x r, r = 1 / √(mean of x² + ε); so ∂x = r (∂n − n · mean of ∂n n)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, gain: Tensor, epsilon: float) -> Tensor:
        r = torch.linalg.vector_norm(x, dim=-1, keepdim=True).square_().div_(x.shape[-1]).add_(epsilon).rsqrt_()
        n = x * r
        ctx.save_for_backward(n, r, gain)
        return n * gain

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor, None]:
        n, r, gain = ctx.saved_tensors
        dn = dy * gain
        dx = dn.addcmul(n, (dn * n).mean(-1, keepdim=True), value=-1).mul_(r)
        return dx, (dy * n).flatten(0, -2).sum(0), None
