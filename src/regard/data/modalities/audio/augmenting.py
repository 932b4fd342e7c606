"""Augmentation of sounds: noise, shifts, and stretches of time or pitch that are hidden; drawn anew for each epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor

from regard.core.config import Config

Span = tuple[int, int]
"""From here to there, the end not included."""


@dataclass(frozen=True, slots=True)
class Change:
    """What is done to one sound. Samples are moved, noise is laid over them, then frames and pitches are hidden."""

    moved: float = 0.0  # seconds; later where above 0
    noise: float = 0.0  # decibels that the sound is louder than it
    noise_seed: int = -1  # −1: there is none
    frames: tuple[Span, ...] = ()
    bins: tuple[Span, ...] = ()


UNCHANGED = Change()


class Augmentation(Config):
    """What may be done to training sounds; masks as in SpecAugment (Park et al. 2019), without warping of time."""

    shift: float = Field(0.0, ge=0)  # up to so many seconds earlier or later; what comes in from outside is silence
    noise: tuple[float, ...] = ()  # white noise: the sound is louder by so many decibels, from one number to the other
    time_masks: int = Field(0, ge=0)  # stretches of time that are hidden
    time_mask: int = Field(10, ge=1)  # frames of the longest
    pitch_masks: int = Field(0, ge=0)  # bands of pitch that are hidden
    pitch_mask: int = Field(8, ge=1)  # bins of the widest

    @model_validator(mode="after")
    def _fits(self) -> Augmentation:
        if self.noise and (len(self.noise) != 2 or self.noise[0] > self.noise[1]):
            raise ValueError(f"noise = {list(self.noise)} is not a range of decibels; give two numbers, as in [5, 40]")
        return self

    def unused(self) -> dict[str, str]:
        masks = {"time_mask": "time_masks", "pitch_mask": "pitch_masks"}
        none = {own: count for own, count in masks.items() if not getattr(self, count)}
        return {own: f"with {count} = 0 nothing is hidden" for own, count in none.items()}

    def draw(self, frames: int, bins: int, generator: np.random.Generator) -> Change:
        """A change for one sound. Every draw is made whatever is configured, so that one setting alters no other."""
        moved = self.shift * generator.uniform(-1, 1)
        noise = generator.uniform(self.noise[0], self.noise[1]) if self.noise else generator.random()
        seed = int(generator.integers(2**31))
        in_time, in_pitch = generator.spawn(2)
        hidden = tuple(span(frames, self.time_mask, in_time) for _ in range(self.time_masks))
        banded = tuple(span(bins, self.pitch_mask, in_pitch) for _ in range(self.pitch_masks))
        return Change(moved, noise if self.noise else 0.0, seed if self.noise else -1, hidden, banded)


def span(length: int, longest: int, generator: np.random.Generator) -> Span:
    """A stretch of 0 to ``longest``, and of less than all there is."""
    own = int(generator.integers(0, min(longest, length - 1) + 1)) if length > 1 else 0
    start = int(generator.integers(0, length - own + 1))
    return start, start + own


def changed_samples(samples_N: np.ndarray, rate: int, change: Change) -> np.ndarray:
    """As long as before."""
    if change.moved:
        samples_N = moved(samples_N, round(change.moved * rate))
    if change.noise_seed < 0:
        return samples_N
    return samples_N + noise_at(samples_N, change.noise, np.random.default_rng(change.noise_seed))


def moved(samples_N: np.ndarray, by: int) -> np.ndarray:
    made_N = np.zeros_like(samples_N)
    count = max(len(samples_N) - abs(by), 0)
    made_N[max(by, 0) : max(by, 0) + count] = samples_N[max(-by, 0) : max(-by, 0) + count]
    return made_N


def noise_at(samples_N: np.ndarray, decibels: float, generator: np.random.Generator) -> np.ndarray:
    """White noise whose power is so many decibels below the sound's mean power."""
    strength = float(np.sqrt(np.mean(samples_N.astype(np.float64) ** 2))) * 10 ** (-decibels / 20)
    return (strength * generator.standard_normal(len(samples_N))).astype(np.float32)


def hide(values_BTF: Tensor, changes: Sequence[Change]) -> Tensor:
    """Zeros, which are the mean of what is normalised, at the frames and bins of each sound's change."""
    if not any(one.frames or one.bins for one in changes):
        return values_BTF
    hidden_BTF = torch.zeros(values_BTF.shape, dtype=torch.bool)
    for row, one in enumerate(changes):
        for start, stop in one.frames:
            hidden_BTF[row, start:stop] = True
        for start, stop in one.bins:
            hidden_BTF[row, :, start:stop] = True
    return values_BTF.masked_fill(hidden_BTF, 0.0)
