"""Dropout that thresholds random bytes: the same law as torch's, at a fraction of the random numbers."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Dropout(nn.Module):
    """Sets each element to 0 with the given probability in training and scales the rest up.

    A 64-bit draw decides about eight elements, so the probability is rounded to a multiple of 1/256; the
    scale belongs to the rounded one, hence the expectation is exact.
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        if not 0 <= probability < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, found {probability}")
        self.full = self.probability = probability
        self.set_strength(1.0)

    def set_strength(self, share: float) -> None:
        """From now on with this share of the full probability (the training loop may let it grow)."""
        self.probability = share * self.full
        self.threshold = min(round(self.probability * 256), 255)

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.threshold == 0:
            return x
        if x.device.type != "cpu" or torch.compiler.is_compiling():
            return nn.functional.dropout(x, self.probability)
        return x * kept(x, self.threshold)

    def extra_repr(self) -> str:
        return f"{self.full}"


def kept(like: Tensor, threshold: int) -> Tensor:
    """For each element 0 or the scale of those that are kept, decided by uniform bytes, eight from each draw."""
    draws = torch.empty((like.numel() + 7) // 8, dtype=torch.int64)
    draws.random_(-(2**63), None)
    decide = draws.view(torch.uint8)[: like.numel()].view(like.shape)
    scale = 256 / (256 - threshold)
    # Never through booleans: on a CPU a comparison that yields them, and arithmetic with them, is not vectorised.
    if like.dtype.itemsize == 2:  # nor is one that yields narrow floats: the scale's bits, times 0 or 1
        bits = int(torch.tensor(scale, dtype=like.dtype).view(torch.int16))
        chosen = decide.to(torch.int16)
        return torch.ge(chosen, threshold, out=chosen).mul_(bits).view(like.dtype)
    return torch.ge(decide, threshold, out=torch.empty_like(like)).mul_(scale)
