"""A sound as a picture, dark where it is loud; and as a small spectrogram of one size, for simple methods."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from regard.data.modalities.audio.spectrogram import framed, mel_filters, power_spectrum

BINS, FRAMES = 96, 384  # pixels: along pitch, and along time at least
DECIBELS = 70  # below the loudest, where it is white
WINDOW = 0.032  # seconds
SUMMARY_BINS, SUMMARY_STEPS = 24, 10
LIGHT, DARK = np.array((255, 255, 255)), np.array((28, 44, 92))


def drawn(samples_N: np.ndarray, rate: int, *, down: bool) -> np.ndarray:
    """pixels_HWC, bytes. Time runs ``down`` with low pitches on the left, or to the right with low pitches below."""
    window = max(round(WINDOW * rate), 2)
    points = 1 << (window - 1).bit_length()
    hop = max(min(window // 2, len(samples_N) // FRAMES), 1)
    power_TF = power_spectrum(framed(torch.from_numpy(samples_N)[None], window, hop), points)[0]
    filters_MF = mel_filters(min(BINS, points // 8), points, rate, 0.0, rate / 2)
    level_TM = 10 * torch.log10(power_TF @ filters_MF.T + 1e-12).numpy()
    share_TM = np.clip(1 + (level_TM - level_TM.max()) / DECIBELS, 0, 1)
    if len(share_TM) < FRAMES:  # short ones are stretched, so that patches have room
        share_TM = share_TM.repeat(-(-FRAMES // len(share_TM)), axis=0)
    share_HW = share_TM.repeat(-(-BINS // share_TM.shape[1]), axis=1)
    if not down:
        share_HW = share_HW.T[::-1]
    return np.round(LIGHT + share_HW[..., None] * (DARK - LIGHT)).astype(np.uint8)


def summary(samples_N: np.ndarray, rate: int) -> np.ndarray:
    """features_F: how loud each of a few bands of pitch is in each tenth of a sound, in decibels below the loudest."""
    window = max(round(WINDOW * rate), 2)
    points = 1 << (window - 1).bit_length()
    power_TF = power_spectrum(framed(torch.from_numpy(samples_N)[None], window, max(window // 2, 1)), points)[0]
    power_TM = power_TF @ mel_filters(min(SUMMARY_BINS, points // 8), points, rate, 0.0, rate / 2).T
    pooled_MT = functional.adaptive_avg_pool1d(power_TM.T[None], SUMMARY_STEPS)[0]
    level_MT = 10 * torch.log10(pooled_MT + 1e-12)
    return (level_MT - level_MT.max()).clamp_min(-DECIBELS).flatten().numpy()
