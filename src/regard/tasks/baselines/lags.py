"""Forecasts by simple means: the value of a season ago, and ridge regression on the values before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

STRENGTHS = (0.1, 1.0, 10.0, 100.0, 1000.0)
"""Of ridge regression, among which the last tenth of the training windows chooses."""
LAST = 10


class Forecaster(Protocol):
    """Makes of the past_BLC of windows, NaN where a value is missing, what comes next: values_BHC."""

    def forecast(self, past_BLC: np.ndarray, steps: int) -> np.ndarray: ...


class SeasonalNaive(NamedTuple):
    """What was a season ago, or two, or three; else the last that is known, else the usual."""

    season: int
    usual_C: np.ndarray

    def forecast(self, past_BLC: np.ndarray, steps: int) -> np.ndarray:
        length = past_BLC.shape[1]
        made_BHC = np.repeat(last_known(past_BLC, self.usual_C)[:, None], steps, axis=1)
        for back in range(length // self.season, 0, -1):  # the nearest season that is known has the last word
            places_H = length - back * self.season + np.arange(steps) % self.season
            season_BHC = past_BLC[:, places_H]
            made_BHC = np.where(np.isfinite(season_BHC), season_BHC, made_BHC)
        return made_BHC


class LagRidge(NamedTuple):
    """Every step ahead is a weighted sum of the steps before, which are normalised window by window; channel by
    channel. weights_CLH."""

    weights_CLH: np.ndarray
    usual_C: np.ndarray
    spread_C: np.ndarray

    def forecast(self, past_BLC: np.ndarray, steps: int) -> np.ndarray:
        lags_BLC, mean_BC, spread_BC = normalised(past_BLC, self.usual_C, self.spread_C)
        made_BHC = np.einsum("blc,clh->bhc", lags_BLC, self.weights_CLH)
        return made_BHC * spread_BC[:, None] + mean_BC[:, None]


def fit_ridge(past_BLC: np.ndarray, gold_BHC: np.ndarray, usual_C: np.ndarray, spread_C: np.ndarray) -> LagRidge:
    """The least squares plus λ ‖W‖²; under the λ that is chosen, the other windows forecast the last tenth best."""
    lags_BLC, mean_BC, spread_BC = normalised(past_BLC, usual_C, spread_C)
    targets_BHC = (gold_BHC - mean_BC[:, None]) / spread_BC[:, None]
    weights = []
    for channel in range(gold_BHC.shape[2]):
        known_B = np.isfinite(targets_BHC[..., channel]).all(axis=1)
        x_BL, y_BH = lags_BLC[known_B, :, channel], targets_BHC[known_B, :, channel]
        split = len(x_BL) - len(x_BL) // LAST
        errors = [
            np.abs(x_BL[split:] @ own - y_BH[split:]).mean() if split < len(x_BL) else 0.0
            for own in solved(x_BL[:split], y_BH[:split], STRENGTHS)
        ]
        weights.append(solved(x_BL, y_BH, [STRENGTHS[int(np.argmin(errors))]])[0])
    return LagRidge(np.stack(weights), usual_C, spread_C)


def solved(x_BL: np.ndarray, y_BH: np.ndarray, strengths: Sequence[float]) -> list[np.ndarray]:
    """weights_LH for each strength."""
    square_LL, product_LH = x_BL.T @ x_BL, x_BL.T @ y_BH
    return [np.linalg.solve(square_LL + one * np.eye(len(square_LL)), product_LH) for one in strengths]


def normalised(
    past_BLC: np.ndarray, usual_C: np.ndarray, least_C: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Less the window's mean, by its spread; what is missing is at the mean. And mean_BC and spread_BC."""
    known_BLC = np.isfinite(past_BLC)
    counts_BC = known_BLC.sum(axis=1)
    held_BLC = np.where(known_BLC, past_BLC, 0.0)
    mean_BC = np.where(counts_BC > 0, held_BLC.sum(axis=1) / np.maximum(counts_BC, 1), usual_C)
    rest_BLC = np.where(known_BLC, past_BLC - mean_BC[:, None], 0.0)
    spread_BC = np.maximum(np.sqrt((rest_BLC**2).sum(axis=1) / np.maximum(counts_BC, 1)), least_C)
    return rest_BLC / spread_BC[:, None], mean_BC, spread_BC


def last_known(past_BLC: np.ndarray, usual_C: np.ndarray) -> np.ndarray:
    """values_BC: of each window and channel the last value that is there."""
    known_BLC = np.isfinite(past_BLC)
    back_BC = np.argmax(known_BLC[:, ::-1], axis=1)
    found_BC = np.take_along_axis(past_BLC, (past_BLC.shape[1] - 1 - back_BC)[:, None], axis=1)[:, 0]
    return np.where(known_BLC.any(axis=1), found_BC, usual_C)


def naive_error(values_NC: np.ndarray, season: int) -> np.ndarray:
    """error_C: how far values lie from those of a season ago, on average; NaN where no two are known."""
    if len(values_NC) <= season:
        return np.full(values_NC.shape[1], np.nan)
    gaps_NC = np.abs(values_NC[season:] - values_NC[:-season])
    counts_C = np.isfinite(gaps_NC).sum(axis=0)
    return np.where(counts_C > 0, np.nansum(gaps_NC, axis=0) / np.maximum(counts_C, 1), np.nan)
