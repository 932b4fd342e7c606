"""Another rate for the same sound: a band-limited curve through the samples, read off at other times."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import torch
from torch.nn import functional

ZERO_CROSSINGS = 16  # of the kernel, on each side
ROLL_OFF = 0.95  # of the highest pitch that both rates can hold: above, nothing is left that could fold back
KAISER = 8.6  # the window's β: what is folded back is some 80 dB fainter


def resampled_count(count: int, rate: int, wanted: int) -> int:
    """How many samples there are at another rate: a sample at every time before the end."""
    return count if rate == wanted else -(-count * wanted // rate)


def resample(samples_N: np.ndarray, rate: int, wanted: int) -> np.ndarray:
    """The sum of sinc kernels of all samples, at the times k / wanted (Smith, "Digital Audio Resampling"). Where the
    new rate is lower, what it cannot hold is left out."""
    if rate == wanted:
        return samples_N
    shared = math.gcd(rate, wanted)
    before, after = rate // shared, wanted // shared  # a period in both
    kernel_PK, reach = kernels(before, after)
    steps = -(-len(samples_N) // before)
    padded = np.pad(samples_N.astype(np.float32), (reach, steps * before - len(samples_N) + reach + before))
    made = functional.conv1d(torch.from_numpy(padded)[None, None], kernel_PK[:, None], stride=before)
    return made[0].T.flatten()[: resampled_count(len(samples_N), rate, wanted)].numpy()


@lru_cache(maxsize=8)
def kernels(before: int, after: int) -> tuple[torch.Tensor, int]:
    """kernel_PK of each phase: the new sample p of a period from the old ones around it; and how far these reach."""
    cutoff = ROLL_OFF * min(1.0, after / before)  # of half the old rate
    reach = math.ceil(ZERO_CROSSINGS / cutoff)
    places_K = np.arange(-reach, before + reach)
    distances_PK = np.arange(after)[:, None] * before / after - places_K
    share_PK = np.clip(distances_PK / reach, -1, 1)
    window_PK = np.i0(KAISER * np.sqrt(1 - share_PK**2)) / np.i0(KAISER)
    kernel_PK = cutoff * np.sinc(cutoff * distances_PK) * window_PK * (np.abs(distances_PK) < reach)
    kernel_PK /= kernel_PK.sum(axis=1, keepdims=True)  # what never changes stays as it is
    return torch.from_numpy(kernel_PK.astype(np.float32)), reach
