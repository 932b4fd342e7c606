"""Sounds for tests: two kinds of tones in files, high and low, as long as one likes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from regard.data.modalities.audio.wav import wav_bytes

RATE = 2000
PITCHES = {"high": 700.0, "low": 200.0}


def tone_of(label: str, seconds: float, seed: int = 0, rate: int = RATE) -> np.ndarray:
    """A tone in a little noise."""
    generator = np.random.default_rng(seed)
    times_N = np.arange(round(seconds * rate)) / rate
    tone_N = 0.5 * np.sin(2 * np.pi * PITCHES[label] * generator.uniform(0.9, 1.1) * times_N)
    return (tone_N + 0.05 * generator.standard_normal(len(times_N))).astype(np.float32)


def write_broken(folder: Path, whole: bytes, cut: int, silent: int) -> list[str]:
    """A file that lacks ``cut`` bytes at its end, and one of ``silent`` samples without a sound."""
    (folder / "cut.wav").write_bytes(whole[:-cut])
    (folder / "silent.wav").write_bytes(wav_bytes(np.zeros(silent, np.float32), RATE))
    return [str(folder / "cut.wav"), str(folder / "silent.wav")]


def write_tones(folder: Path, each: int, rate: int = RATE) -> Path:
    """A folder for each class, with clips of different lengths."""
    for label in PITCHES:
        (folder / label).mkdir(parents=True)
        for number in range(each):
            tone_N = tone_of(label, 0.2 + 0.03 * (number % 5), number + 1, rate)
            (folder / label / f"{number}.wav").write_bytes(wav_bytes(tone_N, rate))
    return folder
