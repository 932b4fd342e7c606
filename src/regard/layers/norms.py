"""Norms: every position's vector brought to one size, by its mean and spread or by its length alone."""

from __future__ import annotations

from pydantic import Field
from torch import nn

from regard.core.config import Part


class NoNormConfig(Part):
    """x as it is."""

    kind: str = "none"

    def build(self, width: int) -> nn.Module:
        return nn.Identity()


class LayerNormConfig(Part):
    """(x − mean) / √(variance + ε) · g + b (Ba et al. 2016)."""

    kind: str = "layer"
    epsilon: float = Field(1e-5, gt=0)

    def build(self, width: int) -> nn.Module:
        return nn.LayerNorm(width, eps=self.epsilon)


class RmsNormConfig(Part):
    """x / √(mean of x² + ε) · g: nothing is subtracted (Zhang & Sennrich 2019)."""

    kind: str = "rms"
    epsilon: float = Field(1e-5, gt=0)

    def build(self, width: int) -> nn.Module:
        return nn.RMSNorm(width, eps=self.epsilon)
