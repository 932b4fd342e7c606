"""What a model is given of a sound, frame by frame: a log-mel spectrogram, or the waveform itself."""

from __future__ import annotations

from typing import ClassVar, Protocol

import torch
from pydantic import Field, model_validator
from torch import Tensor

from regard.core.config import Choices, Part
from regard.core.errors import RecipeError
from regard.data.modalities.audio.spectrogram import frame_count, framed, log_mel, mel_filters


class Features(Protocol):
    """Numbers for every frame of a sound. Law: those of a frame depend on the samples around it alone."""

    @property
    def hop(self) -> int:
        """Samples from one frame to the next."""
        ...

    @property
    def channels(self) -> int: ...

    @property
    def bins(self) -> tuple[int, ...]:
        """The axes beside that of time."""
        ...

    def values(self, samples_BN: Tensor) -> Tensor:
        """values_BTF."""
        ...

    def shared(self, mean_F: Tensor, spread_F: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and spread by which values are normalised, from those of each of the F."""
        ...

    def arranged(self, values_BTF: Tensor) -> Tensor:
        """arrays_BC…, as the port says."""
        ...


class FeaturesPart(Part):
    """Settings of features. Both have frames of ``hop`` seconds, which are what batches count."""

    has_pitches: ClassVar[bool] = False  # whether bands of pitch can be hidden

    hop: float = Field(0.01, gt=0)  # seconds from one frame to the next

    def build(self, rate: int) -> Features:
        raise NotImplementedError

    def hop_samples(self, rate: int) -> int:
        return max(round(self.hop * rate), 1)


class LogMelConfig(FeaturesPart):
    """How strong each pitch is in each frame, on a logarithmic scale: an array of time × pitch."""

    has_pitches = True

    kind: str = "log-mel"
    bins: int = Field(40, ge=1)
    window: float = Field(0.025, gt=0)  # seconds that a frame looks at
    low: float = Field(0.0, ge=0)  # hertz
    high: float = Field(0.0, ge=0)  # hertz; 0: half the rate, beyond which there is nothing

    @model_validator(mode="after")
    def _fits(self) -> LogMelConfig:
        if self.window < self.hop:
            raise ValueError(f"window = {self.window} leaves gaps between frames every {self.hop} seconds; widen it")
        if self.high and self.high <= self.low:
            raise ValueError(f"low = {self.low:g} and high = {self.high:g} hertz leave no pitch between them")
        return self

    def build(self, rate: int) -> LogMel:
        high = self.high or rate / 2
        if high > rate / 2 or high <= self.low:
            raise RecipeError(
                f"input.features: from {self.low:g} to {high:g} hertz there is nothing to hear at a rate of {rate}; "
                f"pitches reach from 0 to {rate / 2:g} hertz"
            )
        return LogMel(self, rate, high)


class LogMel:
    """ln of a bank of mel filters."""

    channels = 1

    def __init__(self, config: LogMelConfig, rate: int, high: float) -> None:
        self.hop, self.window = config.hop_samples(rate), round(config.window * rate)
        points = 1 << max(self.window - 1, 1).bit_length()  # the next power of two
        self.bins = (config.bins,)
        self.filters_MF = mel_filters(config.bins, points, rate, config.low, high)
        empty = int((self.filters_MF.sum(dim=1) == 0).sum())
        if empty:
            raise RecipeError(
                f"input.features: {empty} of {config.bins} filters lie between two frequencies of a window of "
                f"{config.window} seconds and would hear nothing; set fewer bins, or a longer window"
            )

    def values(self, samples_BN: Tensor) -> Tensor:
        return log_mel(samples_BN, self.window, self.hop, self.filters_MF)

    def shared(self, mean_F: Tensor, spread_F: Tensor) -> tuple[Tensor, Tensor]:
        return mean_F, spread_F

    def arranged(self, values_BTF: Tensor) -> Tensor:
        return values_BTF[:, None]


class WaveformConfig(FeaturesPart):
    """The samples as they are: a series of frames, whose samples are its channels."""

    kind: str = "waveform"

    def build(self, rate: int) -> WaveformFrames:
        return WaveformFrames(self.hop_samples(rate))


class WaveformFrames:
    """Frames without overlap."""

    bins: tuple[int, ...] = ()

    def __init__(self, hop: int) -> None:
        self.hop = self.channels = hop

    def values(self, samples_BN: Tensor) -> Tensor:
        return framed(samples_BN, self.hop, self.hop)

    def shared(self, mean_F: Tensor, spread_F: Tensor) -> tuple[Tensor, Tensor]:
        """One of each: where in a frame a sample stands is chance."""
        mean = mean_F.mean()
        spread = (spread_F.square() + (mean_F - mean).square()).mean().sqrt()
        return mean[None], spread[None]

    def arranged(self, values_BTF: Tensor) -> Tensor:
        return values_BTF.transpose(1, 2)


FEATURES = Choices(
    "features",
    FeaturesPart,
    "log-mel",
    {
        "log-mel": "regard.data.modalities.audio.features:LogMelConfig",
        "waveform": "regard.data.modalities.audio.features:WaveformConfig",
    },
)


def frames_of(features: Features, samples: int) -> int:
    return frame_count(samples, features.hop)


def there_BT(lengths_B: Tensor, frames: int) -> Tensor:
    """Which frames are real."""
    return torch.arange(frames) < lengths_B[:, None]
