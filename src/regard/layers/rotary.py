"""How rotary positions turn: the speed of every pair, as trained or stretched for longer texts, and the turning."""

from __future__ import annotations

import math

import torch
from pydantic import Field, model_validator
from torch import Tensor

from regard.layers import ScalingPart


def rotary_frequencies(width: int, base: float, device: torch.device | None = None) -> Tensor:
    """frequencies_C: f_i = 1 / base^(2i/d), radians a position (Su et al. 2021, section 3.2.2).

    Rounded as the published models were trained: the same value by another formula (base^(−2i/d)) is off by an ulp,
    which is 10⁻⁴ radians a thousand positions further.
    """
    return 1.0 / base ** (torch.arange(0, width, 2, device=device).float() / width)


def unscaled(frequencies_C: Tensor) -> Tensor:
    """f, as trained."""
    return frequencies_C


def linear_frequencies(frequencies_C: Tensor, factor: float) -> Tensor:
    """f / s: s times as many positions share the angles of before (Chen et al. 2023, eq. 4)."""
    return frequencies_C / factor


def llama3_frequencies(frequencies_C: Tensor, factor: float, low: float, high: float, trained: int) -> Tensor:
    """What turns fast stays, what turns slowly is divided by s, with a straight passage between (Llama 3.1).

    With r = trained · f / 2π turns in the context of the first training and m = (r − low) / (high − low), cut to
    0…1: f' = (1 − m) · f / s + m · f.
    """
    turns_C = trained / (2 * math.pi / frequencies_C)
    share_C = ((turns_C - low) / (high - low)).clamp(0.0, 1.0)
    return (1 - share_C) * frequencies_C / factor + share_C * frequencies_C


def yarn_frequencies(
    frequencies_C: Tensor, base: float, factor: float, fast: float, slow: float, trained: int
) -> Tensor:
    """What turns ``fast`` times or more in the context of the first training stays, what turns ``slow`` times or less
    is divided by s, with a straight passage between, by the pairs' numbers (YaRN, Peng et al. 2023, section 3.2).

    Departure, as in the published models: the passage begins and ends at whole numbers.
    """
    pairs = len(frequencies_C)

    def pair_of(turns: float) -> float:
        return pairs * math.log(trained / (turns * 2 * math.pi)) / math.log(base)

    low, high = max(math.floor(pair_of(fast)), 0), min(math.ceil(pair_of(slow)), 2 * pairs - 1)
    numbers_C = torch.arange(pairs, dtype=torch.float32, device=frequencies_C.device)
    share_C = ((numbers_C - low) / (high - low or 0.001)).clamp(0.0, 1.0)
    return frequencies_C / factor * share_C + frequencies_C * (1 - share_C)


def rotate_pairs(x_BHTK: Tensor, angles_TC: Tensor) -> Tensor:
    """Turns each pair (x₂ᵢ, x₂ᵢ₊₁) by its angle, so that q·k depends on the distance alone (Su et al. 2021)."""
    even, odd = x_BHTK[..., 0::2], x_BHTK[..., 1::2]
    cos, sin = angles_TC.cos().to(x_BHTK.dtype), angles_TC.sin().to(x_BHTK.dtype)
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)


def rotate_complex(x_BHTK: Tensor, turns_TC: Tensor) -> Tensor:
    """The same with pairs as complex numbers and turns e^(iα): one product, about ten times faster on a CPU.

    Half precision is turned in single.
    """
    wide = x_BHTK.to(turns_TC.real.dtype)
    if wide.stride(-1) != 1 or wide.storage_offset() % 2 or any(stride % 2 for stride in wide.stride()[:-1]):
        wide = wide.clone(memory_format=torch.contiguous_format)  # complex numbers lie at even places
    turned = torch.view_as_complex(wide.unflatten(-1, (-1, 2))) * turns_TC
    return torch.view_as_real(turned).flatten(-2).to(x_BHTK.dtype)


class NoScaling(ScalingPart):
    """Angles as they were trained."""

    kind: str = "none"

    def scale(self, frequencies_C: Tensor, base: float) -> Tensor:
        return unscaled(frequencies_C)


class LinearScaling(ScalingPart):
    """All angles divided by one factor (Chen et al. 2023)."""

    kind: str = "linear"
    factor: float = Field(2.0, gt=0)

    def scale(self, frequencies_C: Tensor, base: float) -> Tensor:
        return linear_frequencies(frequencies_C, self.factor)


class Llama3Scaling(ScalingPart):
    """Only the slow angles divided, as in Llama 3.1, whose values these are."""

    kind: str = "llama3"
    factor: float = Field(8.0, gt=0)
    low: float = Field(1.0, gt=0)  # at most so many turns in the first training's context: divided
    high: float = Field(4.0, gt=0)  # at least so many: left as they are
    trained: int = Field(8192, ge=1)  # that context, in positions

    @model_validator(mode="after")
    def _ordered(self) -> Llama3Scaling:
        if self.low >= self.high:
            raise ValueError(f"low is {self.low} and high {self.high}; low must be the lower one")
        return self

    def scale(self, frequencies_C: Tensor, base: float) -> Tensor:
        return llama3_frequencies(frequencies_C, self.factor, self.low, self.high, self.trained)


class YarnScaling(ScalingPart):
    """YaRN: the slow angles divided, and queries and keys a little longer, so that scores are (Peng et al. 2023)."""

    kind: str = "yarn"
    factor: float = Field(4.0, gt=0)
    fast: float = Field(32.0, gt=0)  # at least so many turns in the first training's context: left as they are
    slow: float = Field(1.0, gt=0)  # at most so many: divided
    trained: int = Field(8192, ge=1)  # that context, in positions
    length: float = Field(0.0, ge=0)  # by which queries and keys are multiplied; 0: 0.1 ln(factor) + 1

    @model_validator(mode="after")
    def _ordered(self) -> YarnScaling:
        if self.slow >= self.fast:
            raise ValueError(f"slow is {self.slow} and fast {self.fast}; slow must be the lower one")
        return self

    @property
    def magnitude(self) -> float:
        return self.length or yarn_magnitude(self.factor)

    def scale(self, frequencies_C: Tensor, base: float) -> Tensor:
        return yarn_frequencies(frequencies_C, base, self.factor, self.fast, self.slow, self.trained)


def yarn_magnitude(factor: float, weight: float = 1.0) -> float:
    """0.1 · weight · ln s + 1; nothing changes where nothing is stretched."""
    return 0.1 * weight * math.log(factor) + 1 if factor > 1 else 1.0
