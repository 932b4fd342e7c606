"""Scores of transcripts: error rates of characters and words, and how many are right as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.tasks.metrics.bleu import Comparison
from regard.tasks.metrics.resampling import RESAMPLES, compared, draws, interval
from regard.tasks.metrics.text import character_error_rate, edit_distance, exact_match, word_error_rate


def transcript_figures(said: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    return {
        "character_error_rate": character_error_rate(said, references).rate,
        "word_error_rate": word_error_rate(said, references).rate,
        "exact_match": exact_match(said, references).rate,
    }


def transcript_scores(said: Sequence[str], references: Sequence[str]) -> dict[str, Any]:
    """The same with 95 % intervals over the transcripts."""
    edits_N, lengths_N = edits_of(said, references)
    low, high = interval(lambda chosen_N: rate_of(edits_N[chosen_N], lengths_N[chosen_N]), len(references))
    same = exact_match(said, references)
    return {
        "leading": ["character_error_rate"],
        **transcript_figures(said, references),
        "character_error_rate_low": low,
        "character_error_rate_high": high,
        "exact_match_low": same.low,
        "exact_match_high": same.high,
        "examples": len(references),
    }


def paired_transcripts(
    first: Sequence[str], second: Sequence[str], references: Sequence[str], seed: int = 12345
) -> Comparison:
    """Whether two systems make equally many errors, but for chance, in per cent of the characters."""
    (first_N, lengths_N), (second_N, _) = (edits_of(own, references) for own in (first, second))
    scores = [100 * rate_of(edits_N, lengths_N) for edits_N in (first_N, second_N)]
    gaps = [
        100 * (rate_of(second_N[chosen_N], lengths_N[chosen_N]) - rate_of(first_N[chosen_N], lengths_N[chosen_N]))
        for chosen_N in draws(len(references), seed=seed)
    ]
    return compared("% character errors", scores[0], scores[1], np.array(gaps), f"bs:{RESAMPLES}|seed:{seed}")


def edits_of(said: Sequence[str], references: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """edits_N and the lengths of the references."""
    edits = [edit_distance(reference, own) for own, reference in zip(said, references, strict=True)]
    return np.array(edits), np.array([len(reference) for reference in references])


def rate_of(edits_N: np.ndarray, lengths_N: np.ndarray) -> float:
    return float(edits_N.sum() / max(lengths_N.sum(), 1))
