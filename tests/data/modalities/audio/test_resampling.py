"""Resampling: a tone stays the tone that it is, and what a lower rate cannot hold is left out."""

from __future__ import annotations

import numpy as np
import pytest

from regard.data.modalities.audio.resampling import resample, resampled_count


def tone(hertz: float, rate: int, count: int) -> np.ndarray:
    return np.sin(2 * np.pi * hertz * np.arange(count) / rate).astype(np.float32)


RATES = [(44_100, 16_000), (8000, 16_000), (11_025, 8000), (1000, 1500), (48_000, 8000)]


@pytest.mark.parametrize("rate, wanted", RATES)
def test_a_tone_is_the_same_at_another_rate(rate: int, wanted: int) -> None:
    hertz, count = 0.11 * min(rate, wanted), 2003
    made_N = resample(tone(hertz, rate, count), rate, wanted)
    assert len(made_N) == resampled_count(count, rate, wanted) == -(-count * wanted // rate)
    edge = 40 * wanted // min(rate, wanted)  # around the ends there is silence, which a kernel sees
    expected_N = tone(hertz, wanted, len(made_N))
    np.testing.assert_allclose(made_N[edge:-edge], expected_N[edge:-edge], atol=2e-3)


def test_what_a_lower_rate_cannot_hold_is_left_out() -> None:
    made_N = resample(tone(3000, 16_000, 4000), 16_000, 4000)
    assert np.abs(made_N[50:-50]).max() < 2e-3  # and does not come back as 1000 Hz


def test_the_same_rate_changes_nothing_and_a_constant_stays() -> None:
    samples_N = tone(3, 100, 50)
    assert resample(samples_N, 100, 100) is samples_N
    np.testing.assert_allclose(resample(np.ones(500, np.float32), 300, 200)[50:-50], 1, atol=1e-6)
    assert len(resample(np.ones(1, np.float32), 44_100, 8000)) == 1
