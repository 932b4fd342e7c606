"""Tones of a telephone keypad, made here: two pitches at once for every digit (ITU-T Q.23), with noise over them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

RATE = 4000  # samples a second; the highest pitch is below half of it
ROWS, COLUMNS = (697, 770, 852, 941), (1209, 1336, 1477)
KEYS = ("123", "456", "789", "*0#")
PITCHES = {key: (ROWS[row], COLUMNS[column]) for row, keys in enumerate(KEYS) for column, key in enumerate(keys)}
TONE, PAUSE, EDGE = (0.05, 0.12), (0.04, 0.1), (0.02, 0.2)  # seconds, from the shortest to the longest
DETUNED = 0.01  # of a pitch, up or down
LOUDNESS = (0.1, 0.3)  # of one of the two tones
FADE = 0.003  # seconds in which a tone comes and goes
CLEAN = 100.0  # decibels: so faint that nothing is laid over the tones


@dataclass(frozen=True)
class KeypadSound:
    """A string of digits as it is dialled, made when it is asked for; the seed says how long every tone is, how loud
    and how far off its pitch. White noise is so many decibels fainter than the tones are while they sound."""

    digits: str
    seed: int
    decibels: float = CLEAN

    @property
    def rate(self) -> int:
        return RATE

    @property
    def count(self) -> int:
        return len(self._tones)

    def __str__(self) -> str:
        return f"tones number {self.seed}"

    def samples(self) -> np.ndarray:
        samples_N = self._tones
        if self.decibels >= CLEAN:
            return samples_N
        noise_N = np.random.default_rng((self.seed, 1)).standard_normal(len(samples_N))
        power = np.square(samples_N[samples_N != 0]).mean()
        noisy_N = samples_N + np.sqrt(power * 10 ** (-self.decibels / 10)) * noise_N
        return (noisy_N / max(1.0, np.abs(noisy_N).max())).astype(np.float32)

    def record(self) -> dict[str, Any]:
        return asdict(self)

    @cached_property
    def _tones(self) -> np.ndarray:
        generator = np.random.default_rng((self.seed, 0))
        parts = [silence(generator.uniform(*EDGE))]
        for digit in self.digits:
            parts += [tone_of(digit, generator), silence(generator.uniform(*PAUSE))]
        return np.concatenate([*parts, silence(generator.uniform(*EDGE))]).astype(np.float32)


def silence(seconds: float) -> np.ndarray:
    return np.zeros(round(seconds * RATE))


def tone_of(digit: str, generator: np.random.Generator) -> np.ndarray:
    times_N = np.arange(round(generator.uniform(*TONE) * RATE)) / RATE
    samples_N = np.zeros(len(times_N))
    for hertz in PITCHES[digit]:
        off, loud, phase = generator.uniform(-1, 1), generator.uniform(*LOUDNESS), generator.uniform(0, 2 * np.pi)
        samples_N += loud * np.sin(2 * np.pi * hertz * (1 + DETUNED * off) * times_N + phase)
    edges_N = np.minimum(times_N, times_N[-1] - times_N) / FADE
    return samples_N * np.clip(edges_N, 0, 1)
