"""The calendar as numbers: where in the day, the week and the year a time lies, also one that is still to come."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.data.modalities.series.series import MONTHS, STEPS, Clock

DAY, WEEK, YEAR = 86_400, 7 * 86_400, 365.2425 * 86_400
MONDAY = 4 * 86_400  # seconds after 1970 began, on a Thursday, that a week begins
HARMONICS = {"day": 3, "week": 3, "year": 2}
"""Waves that tell the time: three of a week tell all its days apart."""
PERIODS = {"day": DAY, "week": WEEK, "year": YEAR}
SEEN = 2  # periods that a series must last for one to be learned from it


def usual(clock: Clock, steps: int) -> tuple[str, ...]:
    """The parts of the calendar that may say something about a series with this clock and so many steps."""
    if clock.unit == STEPS:
        return ()
    step = clock.step * (DAY * 30 if clock.unit == MONTHS else 1)
    return tuple(name for name, period in PERIODS.items() if step < period / 2 and steps * step >= SEEN * period)


def seasons(clock: Clock, steps: int) -> tuple[int, ...]:
    """How many steps a day, a week or a year has, as far as these are whole and a series of so many steps shows two."""
    if clock.unit == STEPS:
        return ()
    if clock.unit == MONTHS:
        return tuple(one for one in (12 // clock.step,) if 12 % clock.step == 0 and 1 < one <= steps // SEEN)
    found = [period // clock.step for period in (DAY, WEEK) if period % clock.step == 0]
    return tuple(one for one in found if 1 < one <= steps // SEEN)


def features(clock: Clock, start: int, stop: int, names: Sequence[str]) -> np.ndarray:
    """features_KN from −1 to 1: sines and cosines of where the times lie in each part of the calendar."""
    times_N = clock.times(start, stop)
    if clock.unit == MONTHS:
        times_N = times_N.astype("datetime64[M]").astype("datetime64[s]").astype(np.int64)
    if clock.unit == STEPS or not names:
        return np.zeros((width(names), stop - start), np.float32)
    rows = []
    for name in names:
        turn_N = 2 * np.pi * ((times_N - (MONDAY if name == "week" else 0)) % PERIODS[name]) / PERIODS[name]
        for harmonic in range(1, HARMONICS[name] + 1):
            rows += [np.sin(harmonic * turn_N), np.cos(harmonic * turn_N)]
    return np.array(rows, np.float32)


def width(names: Sequence[str]) -> int:
    """How many channels they need."""
    return sum(2 * HARMONICS[name] for name in names)
