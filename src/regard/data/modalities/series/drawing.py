"""Series as small pictures: a line for each channel, in pixels, for pages that lay attention over what was read."""

from __future__ import annotations

import numpy as np

HEIGHT, WIDEST = 128, 768  # pixels
INK = ((0, 60, 120), (190, 70, 0), (0, 100, 70), (140, 60, 110), (110, 80, 0), (60, 60, 66))
"""Colours of channels, dark enough for heat to be seen around them."""
MARGIN = 6


def drawn(values_NC: np.ndarray, mean_C: np.ndarray, spread_C: np.ndarray, steps: int) -> np.ndarray:
    """pixels_HWC, bytes: every channel in its own units around its mean, one step as wide as any other; what is missing
    leaves a gap. There may be room for more steps than there are values."""
    across = max(1, WIDEST // max(steps, 1))
    pixels_HWC = np.full((HEIGHT, steps * across, 3), 255, np.uint8)
    scaled_NC = (values_NC - mean_C) / spread_C
    known = scaled_NC[np.isfinite(scaled_NC)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    rows_NC = MARGIN + (HEIGHT - 1 - 2 * MARGIN) * (high - scaled_NC) / max(high - low, 1e-9)
    for channel in reversed(range(rows_NC.shape[1])):
        trace(pixels_HWC, rows_NC[:, channel], across, INK[channel % len(INK)])
    return pixels_HWC


def trace(pixels_HWC: np.ndarray, rows_N: np.ndarray, across: int, ink: tuple[int, int, int]) -> None:
    """A line of two pixels from the middle of one step to the middle of the next."""
    middles_N = across * np.arange(len(rows_N)) + across // 2
    for column in range(pixels_HWC.shape[1] - 1):
        ends = np.interp((column, column + 1), middles_N, rows_N) if len(rows_N) else (np.nan, np.nan)
        if np.isnan(ends).any() or column > middles_N[-1]:
            continue
        first, last = sorted(round(float(end)) for end in ends)
        pixels_HWC[max(first - 1, 0) : last + 1, column] = ink
