"""Yardsticks of forecasts: what was a season ago, and ridge regression on the steps before, with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from regard.core.yardsticks import Yardstick
from regard.data.modalities.series.series import Window
from regard.tasks.baselines.lags import Forecaster, SeasonalNaive, fit_ridge
from regard.tasks.baselines.sampling import evenly
from regard.tasks.metrics.forecasts import MIDDLE, Judged

MOST_WINDOWS = 20_000
LEAST_SHARE = 0.05  # of what is usual: how little a window may spread


class Asks(Protocol):
    """What a task says of its windows."""

    places: list[int]

    def gold(self, windows: Sequence[Window]) -> np.ndarray: ...

    def judged(self, values_BHCQ: np.ndarray, windows: Sequence[Window]) -> Judged: ...


def forecast_yardsticks(
    task: Asks, seasons: Sequence[int], train: Sequence[Window], scored: Sequence[Window]
) -> dict[str, Yardstick]:
    """Fitted on windows that are evenly taken from training, of which also come the intervals."""
    sample = evenly(len(train), MOST_WINDOWS)
    own, gold_BHC = sample.of(train), task.gold(sample.of(train))
    usual_C, spread_C = np.nanmean(gold_BHC, axis=(0, 1)), np.nanstd(gold_BHC, axis=(0, 1))
    longest = max(seasons)
    past_BLC, asked_BLC = (history(windows, task.places, longest) for windows in (own, scored))
    context = own[0].stop - own[0].start
    ridge = fit_ridge(past_BLC[:, -context:], gold_BHC, usual_C, np.maximum(LEAST_SHARE * spread_C, 1e-9))
    methods: dict[str, tuple[Forecaster, int]] = {
        f"seasonal naive, {season} steps": (SeasonalNaive(season, usual_C), longest) for season in seasons
    }
    methods["ridge regression on lags"] = (ridge, context)
    found = {}
    for name, (method, steps) in methods.items():
        rests_BHC = gold_BHC - method.forecast(past_BLC[:, -steps:], gold_BHC.shape[1])
        made_BHC = method.forecast(asked_BLC[:, -steps:], gold_BHC.shape[1])
        empty = task.judged(np.zeros((*made_BHC.shape, 0)), scored)
        judged = empty._replace(values_BHCQ=made_BHC[..., None] + gaps(rests_BHC, empty.levels))
        found[name] = Yardstick(judged.figures(), sample.describe("windows"))
    return found


def gaps(rests_BHC: np.ndarray, levels: Sequence[float]) -> np.ndarray:
    """gaps_HCQ by which truth lies below or above a forecast, which is the median itself."""
    rests_HCQ = np.moveaxis(np.nanquantile(rests_BHC, levels, axis=0), 0, -1)
    below_Q = np.array(levels) < MIDDLE
    found_HCQ = np.where(below_Q, np.minimum(rests_HCQ, 0), np.maximum(rests_HCQ, 0))
    found_HCQ[..., list(levels).index(MIDDLE)] = 0.0
    return found_HCQ


def history(windows: Sequence[Window], channels: Sequence[int], least: int) -> np.ndarray:
    """past_BLC of the channels, at least so many steps: NaN before a series begins."""
    steps = max(least, *(window.stop - window.start for window in windows))
    made_BLC = np.full((len(windows), steps, len(channels)), np.nan)
    for row, window in enumerate(windows):
        found_LC = window.series.values_NC[max(window.stop - steps, 0) : window.stop, channels]
        made_BLC[row, steps - len(found_LC) :] = found_LC
    return made_BLC
