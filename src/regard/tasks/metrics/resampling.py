"""Intervals of any figure and paired tests by resampling (Efron 1979, Koehn 2004)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from regard.tasks.metrics.bleu import Comparison

RESAMPLES = 1000


def draws(size: int, samples: int = RESAMPLES, seed: int = 1) -> Iterator[np.ndarray]:
    """chosen_N: as many examples as there are, drawn with replacement, again and again; the same for the same seed."""
    generator = np.random.default_rng(seed)
    return (generator.integers(size, size=size) for _ in range(samples))


def middle(figures: list[float] | np.ndarray) -> tuple[float, float]:
    """Between which two values 95 % of the figures lie."""
    low, high = np.quantile(figures, (0.025, 0.975))
    return float(low), float(high)


def interval(figure: Callable[[np.ndarray], float], size: int) -> tuple[float, float]:
    """95 % of what ``figure`` gives for resampled sets."""
    return middle([figure(chosen_N) for chosen_N in draws(size)])


def mean_interval(values_N: np.ndarray) -> tuple[float, float]:
    return interval(lambda chosen_N: values_N[chosen_N].mean(), len(values_N))


def compared(metric: str, score_a: float, score_b: float, gaps: np.ndarray, signature: str) -> Comparison:
    """Two systems on the same examples; ``gaps`` are the second's resampled scores less the first's.

    The p-value is how often a resampled difference is as far from the observed one as that is from nothing.
    """
    difference = score_b - score_a
    beyond = int((np.abs(gaps - difference) >= abs(difference)).sum())
    return Comparison(metric, score_a, score_b, difference, (beyond + 1) / (len(gaps) + 1), signature)
