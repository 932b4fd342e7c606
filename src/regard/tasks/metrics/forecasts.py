"""How good forecasts are: absolute and scaled errors, pinball loss, and how often truth lies within the interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from regard.tasks.metrics.resampling import draws, middle

MIDDLE = 0.5


class Judged(NamedTuple):
    """Forecasts and what came true: values_BHCQ by window, step ahead, channel and level, and gold_BHC with NaN where
    nothing is known. ``units_C`` is what errors are divided by: the seasonal naive method's in training."""

    values_BHCQ: np.ndarray
    gold_BHC: np.ndarray
    levels: tuple[float, ...]
    units_C: np.ndarray

    @property
    def errors_BHC(self) -> np.ndarray:
        """Of the median, without signs; NaN where nothing is known."""
        return np.abs(self.values_BHCQ[..., self.levels.index(MIDDLE)] - self.gold_BHC)

    def pinball_BHC(self) -> np.ndarray:
        """2 max(τ (y − q), (τ − 1) (y − q)), the mean over levels τ; for the median alone it is the absolute error."""
        levels_Q = np.array(self.levels)
        gap_BHCQ = self.gold_BHC[..., None] - self.values_BHCQ
        return 2 * np.maximum(levels_Q * gap_BHCQ, (levels_Q - 1) * gap_BHCQ).mean(axis=-1)

    def within_BHC(self) -> np.ndarray:
        """1 where truth lies between the lowest and the highest level, else 0."""
        inside = (self.values_BHCQ[..., 0] <= self.gold_BHC) & (self.gold_BHC <= self.values_BHCQ[..., -1])
        return np.where(np.isfinite(self.gold_BHC), inside.astype(np.float64), np.nan)

    def channel(self, place: int) -> Judged:
        """One channel alone."""
        only = [place]
        return Judged(self.values_BHCQ[:, :, only], self.gold_BHC[:, :, only], self.levels, self.units_C[only])

    def figures(self) -> dict[str, float]:
        """The figures by which a model and simple methods are set side by side."""
        errors_BHC = self.errors_BHC
        return {
            "mean_absolute_error": float(np.nanmean(errors_BHC)),
            "root_mean_square_error": float(np.sqrt(np.nanmean(errors_BHC**2))),
            "scaled_error": float(np.nanmean(errors_BHC / self.units_C)),
            "pinball_loss": float(np.nanmean(self.pinball_BHC() / self.units_C)),
            "coverage": float(np.nanmean(self.within_BHC())),
        }


def forecast_scores(judged: Judged, channels: Sequence[str]) -> dict[str, Any]:
    """All figures with their intervals, by channel and by step ahead. Windows are drawn again for the intervals."""
    scores: dict[str, Any] = judged.figures()
    for name, values_BHC in (
        ("mean_absolute_error", judged.errors_BHC), ("scaled_error", judged.errors_BHC / judged.units_C),
        ("coverage", judged.within_BHC()),
    ):  # fmt: skip
        scores[f"{name}_low"], scores[f"{name}_high"] = mean_of_windows(values_BHC)
    alone = len(channels) == 1
    scores["leading"] = ["mean_absolute_error" if alone else "scaled_error", "scaled_error", "coverage", "pinball_loss",
                         "mean_absolute_error", "root_mean_square_error"]  # fmt: skip
    scores["interval"] = judged.levels[-1] - judged.levels[0]
    scores["by_step"] = known_mean(judged.errors_BHC / judged.units_C, (0, 2)).tolist()
    if not alone:
        scores["channels"] = {name: judged.channel(place).figures() for place, name in enumerate(channels)}
    scores["windows"] = len(judged.gold_BHC)
    return scores


def known_mean(values: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """The mean of what is known along some axes; NaN where nothing is."""
    counts = np.isfinite(values).sum(axis=axes)
    return np.where(counts > 0, np.nansum(values, axis=axes) / np.maximum(counts, 1), np.nan)


def mean_of_windows(values_BHC: np.ndarray) -> tuple[float, float]:
    """95 % of the means of resampled windows, each weighing as much as it knows."""
    totals_B, counts_B = np.nansum(values_BHC, axis=(1, 2)), np.isfinite(values_BHC).sum(axis=(1, 2))
    return middle([totals_B[own].sum() / max(counts_B[own].sum(), 1) for own in draws(len(totals_B))])
