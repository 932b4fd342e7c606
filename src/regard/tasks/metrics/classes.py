"""Scores of classification: accuracy, F1, the confusion matrix, and calibration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.tasks.metrics.bleu import Comparison
from regard.tasks.metrics.resampling import compared, draws, interval
from regard.tasks.metrics.text import wilson_interval

BINS = 15


def class_scores(probabilities_NC: np.ndarray, gold_N: np.ndarray, labels: Sequence[str]) -> dict[str, Any]:
    """All figures of one set; ``gold_N`` are places in ``labels``."""
    predicted_N = probabilities_NC.argmax(axis=1)
    counts_CC = confusion(gold_N, predicted_N, len(labels))
    hits, total = int(np.trace(counts_CC)), len(gold_N)
    low, high = wilson_interval(hits, total)
    f1_low, f1_high = interval(
        lambda chosen_N: macro_f1(confusion(gold_N[chosen_N], predicted_N[chosen_N], len(labels))), total
    )
    given_N = probabilities_NC[np.arange(total), gold_N]
    return {
        "accuracy": hits / total,
        "accuracy_low": low,
        "accuracy_high": high,
        "macro_f1": macro_f1(counts_CC),
        "macro_f1_low": f1_low,
        "macro_f1_high": f1_high,
        "loss": float(-np.log(np.maximum(given_N, 1e-30)).mean()),
        "calibration_error": calibration_error(probabilities_NC.max(axis=1), predicted_N == gold_N),
        "brier": brier(probabilities_NC, gold_N),
        "always_the_most_frequent": float(counts_CC.sum(axis=1).max() / total),
        "examples": total,
        "classes": per_class(counts_CC, labels),
        "confusion": counts_CC.tolist(),
        "labels": list(labels),
    }


def confusion(gold_N: np.ndarray, predicted_N: np.ndarray, classes: int) -> np.ndarray:
    """counts_CC: how many of the row's class were taken for the column's."""
    return np.bincount(gold_N * classes + predicted_N, minlength=classes**2).reshape(classes, classes)


def precision_recall_f1(counts_CC: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By class; 0 where nothing was found or nothing was there."""
    hits_C = np.diag(counts_CC).astype(np.float64)
    found_C, there_C = counts_CC.sum(axis=0), counts_CC.sum(axis=1)
    precision_C = np.divide(hits_C, found_C, out=np.zeros_like(hits_C), where=found_C > 0)
    recall_C = np.divide(hits_C, there_C, out=np.zeros_like(hits_C), where=there_C > 0)
    both_C = found_C + there_C
    return precision_C, recall_C, np.divide(2 * hits_C, both_C, out=np.zeros_like(hits_C), where=both_C > 0)


def macro_f1(counts_CC: np.ndarray) -> float:
    """The mean of the classes' F1, over classes that are there or were found: a rare class counts as much as any."""
    present_C = (counts_CC.sum(axis=0) + counts_CC.sum(axis=1)) > 0
    return float(precision_recall_f1(counts_CC)[2][present_C].mean())


def per_class(counts_CC: np.ndarray, labels: Sequence[str]) -> dict[str, dict[str, float]]:
    columns = zip(*precision_recall_f1(counts_CC), counts_CC.sum(axis=1), strict=True)
    return {
        label: {"precision": float(precision), "recall": float(recall), "f1": float(f1), "examples": int(there)}
        for label, (precision, recall, f1, there) in zip(labels, columns, strict=True)
    }


def calibration_error(confidence_N: np.ndarray, right_N: np.ndarray, bins: int = BINS) -> float:
    """Expected calibration error: |confidence − accuracy| in bins of equal width, weighted (Guo et al. 2017, eq. 3)."""
    place_N = np.minimum((confidence_N * bins).astype(np.int64), bins - 1)
    gap_N = np.bincount(place_N, weights=confidence_N - right_N, minlength=bins)
    return float(np.abs(gap_N).sum() / len(confidence_N))


def brier(probabilities_NC: np.ndarray, gold_N: np.ndarray) -> float:
    """The mean squared distance between what was said and what is so, summed over classes (Brier 1950)."""
    truth_NC = np.eye(probabilities_NC.shape[1])[gold_N]
    return float(((probabilities_NC - truth_NC) ** 2).sum(axis=1).mean())


def paired_hits(
    first: Sequence[bool], second: Sequence[bool], *, metric: str = "% accuracy", samples: int = 1000, seed: int = 12345
) -> Comparison:
    """Whether two systems are right equally often, but for chance, in per cent."""
    rights_2N = 100.0 * np.array([first, second], dtype=np.float64)
    score_a, score_b = map(float, rights_2N.mean(axis=1))
    gap_N = rights_2N[1] - rights_2N[0]
    gaps = np.array([gap_N[chosen_N].mean() for chosen_N in draws(len(gap_N), samples, seed)])
    return compared(metric, score_a, score_b, gaps, f"bs:{samples}|seed:{seed}")
