"""Spectrograms against values that a hand can compute."""

from __future__ import annotations

import math

import numpy as np
import torch

from regard.data.modalities.audio.spectrogram import (
    FLOOR,
    frame_count,
    framed,
    hertz_of_mel,
    log_mel,
    mel_filters,
    mel_of_hertz,
    power_spectrum,
)


def test_the_mel_scale() -> None:
    assert mel_of_hertz(0) == 0
    assert math.isclose(mel_of_hertz(700), 2595 * math.log10(2))  # 781.2
    assert math.isclose(mel_of_hertz(6300), 2595)  # ten times 700 above −700
    assert math.isclose(float(hertz_of_mel(torch.tensor(mel_of_hertz(440.0)))), 440.0, rel_tol=1e-6)


def test_filters_are_triangles_between_neighbouring_corners() -> None:
    """From 0 to 6300 Hz are 2595 mel; two filters have corners at every third of them: 700 (10^(k/3) − 1) hertz, which
    is 0, 808.1, 2549.1 and 6300."""
    filters_MF = mel_filters(2, 126, 12_600, 0, 6300)  # frequencies at every 100 Hz
    assert filters_MF.shape == (2, 64)
    low, high = 700 * (10 ** (1 / 3) - 1), 700 * (10 ** (2 / 3) - 1)
    assert math.isclose(float(filters_MF[0, 4]), 400 / low, rel_tol=1e-5)  # rising
    assert math.isclose(float(filters_MF[0, 10]), (high - 1000) / (high - low), rel_tol=1e-5)  # falling
    assert math.isclose(float(filters_MF[1, 10]), (1000 - low) / (high - low), rel_tol=1e-5)
    assert math.isclose(float(filters_MF[1, 50]), (6300 - 5000) / (6300 - high), rel_tol=1e-5)
    assert filters_MF[0, 0] == 0
    assert (filters_MF[0, 26:] == 0).all()
    assert (filters_MF[1, :9] == 0).all()
    sums_F = filters_MF[:, 9:26].sum(0)  # where two overlap, they share a frequency
    torch.testing.assert_close(sums_F, torch.ones(17))


def test_frames_lie_around_their_samples() -> None:
    frames_TN = framed(torch.tensor([[1.0, 2, 3, 4, 5]]), window=4, hop=2)[0]
    assert frames_TN.tolist() == [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 0, 0]]
    assert frame_count(5, 2) == 3
    assert framed(torch.tensor([[7.0]]), window=3, hop=3)[0].tolist() == [[0 * 7 + 7, 0, 0]]


def test_frames_without_overlap_are_the_signal() -> None:
    assert framed(torch.arange(7.0)[None], 3, 3)[0].tolist() == [[0, 1, 2], [3, 4, 5], [6, 0, 0]]


def test_a_tone_of_full_strength_has_the_power_one_at_its_frequency() -> None:
    times_N = torch.arange(64, dtype=torch.float32)
    power_F = power_spectrum(torch.sin(2 * math.pi * times_N * 8 / 64)[None, None], 64)[0, 0]
    assert int(power_F.argmax()) == 8
    assert math.isclose(float(power_F[8]), 1.0, rel_tol=1e-4)
    assert math.isclose(float(power_F[9]), 0.25, rel_tol=1e-3)  # a Hann window spreads half of it to each neighbour
    assert float(power_F[20]) < 1e-8


def test_log_mel_of_a_tone_and_of_silence() -> None:
    filters_MF = mel_filters(5, 64, 6400, 0, 3200)
    times_N = torch.arange(256, dtype=torch.float32)
    tone_BN = torch.sin(2 * math.pi * times_N * 1000 / 6400)[None]  # the tenth frequency of 64 points
    values_TM = log_mel(tone_BN, 64, 32, filters_MF)[0]
    by_hand_M = filters_MF[:, 10] + 0.25 * (filters_MF[:, 9] + filters_MF[:, 11])
    torch.testing.assert_close(values_TM[3], (by_hand_M + FLOOR).log(), atol=5e-3, rtol=0)
    silent_TM = log_mel(torch.zeros(1, 100), 64, 32, filters_MF)[0]
    np.testing.assert_allclose(silent_TM, math.log(FLOOR), rtol=1e-6)
