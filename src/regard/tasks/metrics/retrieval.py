"""Scores of retrieval: the rank of the right text among all texts of the other side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.core.errors import DataError
from regard.tasks.metrics.resampling import mean_interval
from regard.tasks.metrics.text import wilson_interval

ROWS_AT_ONCE = 1024


def retrieval_scores(
    sources_ND: np.ndarray, targets_ND: np.ndarray, sources: Sequence[str] = (), targets: Sequence[str] = ()
) -> dict[str, Any]:
    """Both directions, and over both together; row i of one side belongs to row i of the other. Texts that stand there
    twice, where they are given, do not compete with one another."""
    if len(sources_ND) != len(targets_ND) or not len(sources_ND):
        raise DataError(f"{len(sources_ND)} sources against {len(targets_ND)} targets; give equally many, at least one")
    there_N = pair_ranks(sources_ND, targets_ND, targets)
    back_N = pair_ranks(targets_ND, sources_ND, sources)
    both = figures(np.concatenate([there_N, back_N]))
    return {**both, "source_to_target": figures(there_N), "target_to_source": figures(back_N), "pairs": len(there_N)}


def pair_ranks(queries_ND: np.ndarray, others_ND: np.ndarray, texts: Sequence[str] = ()) -> np.ndarray:
    """ranks_N, from 1; who is as near as the mate stands before it, so that equal vectors earn nothing."""
    numbers: dict[str, int] = {}
    kinds_N = np.array([numbers.setdefault(text, len(numbers)) for text in texts] or range(len(others_ND)))
    ranks_N = np.zeros(len(queries_ND), np.int64)
    for first in range(0, len(queries_ND), ROWS_AT_ONCE):
        rows_B = np.arange(first, min(first + ROWS_AT_ONCE, len(queries_ND)))
        scores_BN = queries_ND[rows_B] @ others_ND.T
        near_BN = scores_BN >= scores_BN[np.arange(len(rows_B)), rows_B][:, None]
        near_BN &= kinds_N[rows_B][:, None] != kinds_N
        ranks_N[rows_B] = 1 + near_BN.sum(axis=1)
    return ranks_N


def figures(ranks_N: np.ndarray) -> dict[str, float]:
    """The share of mates at rank 1, and the mean of 1/rank (Voorhees 1999)."""
    hits = int((ranks_N == 1).sum())
    low, high = wilson_interval(hits, len(ranks_N))
    rank_low, rank_high = mean_interval(1 / ranks_N)
    return {
        "retrieval_accuracy": hits / len(ranks_N),
        "retrieval_accuracy_low": low,
        "retrieval_accuracy_high": high,
        "mean_reciprocal_rank": float((1 / ranks_N).mean()),
        "mean_reciprocal_rank_low": rank_low,
        "mean_reciprocal_rank_high": rank_high,
    }
