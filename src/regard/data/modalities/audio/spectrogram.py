"""Spectrograms as pure functions: frames of a signal, their spectrum, and filters that are spaced as pitch is heard."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

FLOOR = 1e-8
"""Added to every power before its logarithm: 80 dB below a tone of full strength."""


def mel_of_hertz(hertz: float) -> float:
    """m = 2595 log10(1 + f / 700) (O'Shaughnessy 1987)."""
    return 2595 * math.log10(1 + hertz / 700)


def hertz_of_mel(mel_M: Tensor) -> Tensor:
    return 700 * (10 ** (mel_M / 2595) - 1)


def mel_filters(bins: int, points: int, rate: int, low: float, high: float) -> Tensor:
    """filters_MF: triangles of height 1 whose corners stand evenly on the mel scale from ``low`` to ``high`` hertz, so
    that each begins where the one before has its peak. F are the ``points`` / 2 + 1 frequencies of a spectrum."""
    corners = hertz_of_mel(torch.linspace(mel_of_hertz(low), mel_of_hertz(high), bins + 2, dtype=torch.float64))
    frequencies_F = torch.arange(points // 2 + 1, dtype=torch.float64) * rate / points
    left, middle, right = (corners[place : place + bins, None] for place in range(3))
    rising, falling = (frequencies_F - left) / (middle - left), (right - frequencies_F) / (right - middle)
    return torch.minimum(rising, falling).clamp_min(0).float()


def frame_count(samples: int, hop: int) -> int:
    """One for every hop that is begun."""
    return -(-samples // hop)


def framed(samples_BN: Tensor, window: int, hop: int) -> Tensor:
    """frames_BTN of ``window`` samples: frame t lies around the samples from t · hop to (t + 1) · hop; beyond the ends
    there is silence."""
    before = (window - hop) // 2
    frames = frame_count(samples_BN.shape[1], hop)
    after = (frames - 1) * hop + window - before - samples_BN.shape[1]
    return functional.pad(samples_BN, (before, max(after, 0))).unfold(1, window, hop)[:, :frames]


def power_spectrum(frames_BTN: Tensor, points: int) -> Tensor:
    """power_BTF of frames under a Hann window, so that a tone of full strength has about 1 at its frequency."""
    window_N = torch.hann_window(frames_BTN.shape[-1], periodic=True)
    spectrum = torch.fft.rfft(frames_BTN * window_N, n=points)
    return (spectrum.real.square() + spectrum.imag.square()) * (2 / window_N.sum()) ** 2


def log_mel(samples_BN: Tensor, window: int, hop: int, filters_MF: Tensor) -> Tensor:
    """ln(filters · |spectrum|² + floor), values_BTM."""
    points = 2 * (filters_MF.shape[1] - 1)
    return (power_spectrum(framed(samples_BN, window, hop), points) @ filters_MF.T + FLOOR).log()
