"""How well numbers are estimated: mean absolute error, root mean squared error, explained variance, correlation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.tasks.metrics.bleu import Comparison
from regard.tasks.metrics.resampling import compared, draws, interval, mean_interval


def number_scores(said_NC: np.ndarray, gold_NC: np.ndarray) -> dict[str, float]:
    """Figures of one set, in the units of the numbers; of several numbers each is the mean over them."""
    errors_N = np.abs(said_NC - gold_NC).mean(axis=1)
    low, high = mean_interval(errors_N)
    r2_low, r2_high = interval(lambda chosen_N: r_squared(said_NC[chosen_N], gold_NC[chosen_N]), len(gold_NC))
    return {
        "mean_absolute_error": float(errors_N.mean()),
        "mean_absolute_error_low": low,
        "mean_absolute_error_high": high,
        "root_mean_squared_error": root_mean_squared_error(said_NC, gold_NC),
        "r_squared": r_squared(said_NC, gold_NC),
        "r_squared_low": r2_low,
        "r_squared_high": r2_high,
        "correlation": correlation(said_NC, gold_NC),
        "rank_correlation": correlation(*(ranks(own) for own in (said_NC, gold_NC))),
    }


def root_mean_squared_error(said_NC: np.ndarray, gold_NC: np.ndarray) -> float:
    return float(np.sqrt(np.square(said_NC - gold_NC).mean(axis=0)).mean())


def r_squared(said_NC: np.ndarray, gold_NC: np.ndarray) -> float:
    """1 − squared errors / squared distances from the mean: 0 is as good as always saying the mean of what is scored.
    Where all are equal, 0."""
    errors_C = np.square(said_NC - gold_NC).sum(axis=0)
    spread_C = np.square(gold_NC - gold_NC.mean(axis=0)).sum(axis=0)
    return float(np.where(spread_C > 0, 1 - errors_C / np.where(spread_C > 0, spread_C, 1), 0.0).mean())


def correlation(said_NC: np.ndarray, gold_NC: np.ndarray) -> float:
    """Pearson's; 0 where one side is always the same."""
    one_NC, other_NC = (own - own.mean(axis=0) for own in (said_NC, gold_NC))
    length_C = np.sqrt(np.square(one_NC).sum(axis=0) * np.square(other_NC).sum(axis=0))
    products_C = (one_NC * other_NC).sum(axis=0)
    return float(np.where(length_C > 0, products_C / np.where(length_C > 0, length_C, 1), 0.0).mean())


def ranks(values_NC: np.ndarray) -> np.ndarray:
    """The rank of each number in its column; equal ones share the mean of theirs."""
    found_NC = np.zeros(values_NC.shape)
    for column, own_N in enumerate(values_NC.T):
        _, place_N, counts = np.unique(own_N, return_inverse=True, return_counts=True)
        last = np.cumsum(counts)
        found_NC[:, column] = (last - (counts - 1) / 2)[place_N]
    return found_NC


def paired_errors(
    first: Sequence[float], second: Sequence[float], *, samples: int = 1000, seed: int = 12345
) -> Comparison:
    """Whether the absolute errors of two systems differ by more than chance."""
    errors_2N = np.array([first, second], dtype=np.float64)
    score_a, score_b = map(float, errors_2N.mean(axis=1))
    gap_N = errors_2N[1] - errors_2N[0]
    gaps = np.array([gap_N[chosen_N].mean() for chosen_N in draws(len(gap_N), samples, seed)])
    return compared("mean absolute error", score_a, score_b, gaps, f"bs:{samples}|seed:{seed}").lower_is_better()
