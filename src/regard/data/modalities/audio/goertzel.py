"""Keypad tones as telephone exchanges find them: a Goertzel filter for each pitch, and a threshold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby, product
from typing import NamedTuple

import numpy as np

from regard.data.modalities.audio.keypad import COLUMNS, KEYS, RATE, ROWS
from regard.data.modalities.audio.resampling import resample
from regard.data.modalities.audio.sounds import Sound

WINDOW, HOP = 0.025, 0.005  # seconds
THRESHOLDS = tuple(np.arange(0.1, 0.75, 0.05))
LENGTHS = (2, 3, 4, 5, 6, 8)  # windows in a row
SAMPLE = 400  # training sounds on which threshold and length are chosen


class Filtered(NamedTuple):
    """Window by window the digit whose two pitches are strongest, and their share of all power."""

    digits: tuple[str, ...]
    shares_T: np.ndarray


class GoertzelBank:
    """The threshold and the least length of a tone with which most training strings are right."""

    def fit(self, inputs: Sequence[Sound], targets: Sequence[str]) -> Callable[[Sound], str]:
        chosen = [filtered(one) for one in inputs[:SAMPLE]]
        settings = list(product(THRESHOLDS, LENGTHS))
        right = [
            sum(read_off(one, *both) == target for one, target in zip(chosen, targets, strict=False))
            for both in settings
        ]
        best = settings[int(np.argmax(right))]
        return lambda sound: read_off(filtered(sound), *best)

    def fitted_on(self, examples: int) -> str:
        return f"{min(examples, SAMPLE):,} of {examples:,} sounds"


def filtered(sound: Sound) -> Filtered:
    samples_N = resample(sound.samples(), sound.rate, RATE).astype(np.float64)
    window, hop = round(WINDOW * RATE), round(HOP * RATE)
    samples_N = np.pad(samples_N, (0, max(window - len(samples_N), 0)))
    frames_TN = np.lib.stride_tricks.sliding_window_view(samples_N, window)[::hop] * np.hanning(window)
    rows_TR, columns_TC = (goertzel(frames_TN, pitches) for pitches in (ROWS, COLUMNS))
    power_T = np.square(np.hanning(window)).sum() * np.square(frames_TN).sum(axis=1) / 2
    found = zip(rows_TR.argmax(axis=1).tolist(), columns_TC.argmax(axis=1).tolist(), strict=True)
    share_T = (rows_TR.max(axis=1) + columns_TC.max(axis=1)) / np.maximum(power_T, 1e-12)
    return Filtered(tuple(KEYS[row][column] for row, column in found), share_T)


def goertzel(frames_TN: np.ndarray, pitches: Sequence[int]) -> np.ndarray:
    """power_TP = |Σ_n x_n e^(−iωn)|² of each pitch (Goertzel 1958). His recursion needs one multiplication a sample; a
    product of matrices gives the same, and is faster here."""
    turns_NP = np.outer(np.arange(frames_TN.shape[1]), pitches) / RATE
    return np.square(np.abs(frames_TN @ np.exp(-2j * np.pi * turns_NP)))


def read_off(found: Filtered, threshold: float, length: int) -> str:
    """Digits that last for so many windows in a row."""
    heard = [digit if share > threshold else "" for digit, share in zip(found.digits, found.shares_T, strict=True)]
    runs = [(digit, len(list(own))) for digit, own in groupby(heard)]
    return "".join(digit for digit, count in runs if digit and count >= length)
