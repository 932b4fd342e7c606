"""Scores of rankings: how far what is so stands before what is not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from regard.tasks.metrics.resampling import interval


def roc_auc(scores_N: np.ndarray, right_N: np.ndarray) -> float:
    """How probably one that is so is scored above one that is not; a tie is half of it (Hanley & McNeil 1982)."""
    positives, negatives = int(right_N.sum()), int((~right_N).sum())
    if not positives or not negatives:
        return float("nan")
    _, places_N, counts = np.unique(scores_N, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    total = float(ranks[places_N][right_N].sum())
    return (total - positives * (positives + 1) / 2) / (positives * negatives)


def average_precision(scores_N: np.ndarray, right_N: np.ndarray) -> float:
    """Σ (R_n − R_{n−1}) P_n over thresholds, those of a tie at once."""
    order_N = np.argsort(-scores_N, kind="stable")
    sorted_N, right_N = scores_N[order_N], right_N[order_N]
    last_N = np.append(np.flatnonzero(np.diff(sorted_N)), len(sorted_N) - 1)
    hits = np.cumsum(right_N)[last_N]
    if not hits[-1]:
        return float("nan")
    return float((np.diff(hits, prepend=0) / hits[-1] * (hits / (last_N + 1))).sum())


def ranking_scores(scores_N: np.ndarray, right_N: np.ndarray) -> dict[str, float]:
    """Both, with intervals."""
    found: dict[str, float] = {}
    for name, measure in (("roc_auc", roc_auc), ("average_precision", average_precision)):
        resampled = partial(of_chosen, measure, scores_N, right_N)
        found[name] = measure(scores_N, right_N)
        found[f"{name}_low"], found[f"{name}_high"] = interval(resampled, len(scores_N))
    return found


def of_chosen(
    measure: Callable[[np.ndarray, np.ndarray], float], scores_N: np.ndarray, right_N: np.ndarray, chosen_N: np.ndarray
) -> float:
    return measure(scores_N[chosen_N], right_N[chosen_N])
