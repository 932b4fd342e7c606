"""Exact match with its interval, and word and character error rates by edit distance."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from regard.core.errors import DataError

NORMAL_95 = 1.959963984540054  # the 97.5 % quantile of the normal distribution


@dataclass(frozen=True, slots=True)
class Proportion:
    """So many hits of so many, from 0 to 1, with a 95 % interval."""

    rate: float
    low: float
    high: float
    hits: int
    total: int


@dataclass(frozen=True, slots=True)
class ErrorRate:
    """Edits divided by the length of the references; above 1 if more was invented than was there."""

    rate: float
    edits: int
    length: int


def exact_match(hypotheses: Sequence[str], references: Sequence[str]) -> Proportion:
    """How many hypotheses are their reference, character by character; nothing is normalised."""
    _check_pairs(hypotheses, references)
    hits = sum(hypothesis == reference for hypothesis, reference in zip(hypotheses, references))
    low, high = wilson_interval(hits, len(references))
    return Proportion(hits / len(references), low, high, hits, len(references))


def wilson_interval(hits: int, total: int) -> tuple[float, float]:
    """The 95 % score interval of a proportion (Wilson 1927), sound also near 0 and 1 and for few examples."""
    assert 0 <= hits <= total
    assert total > 0
    rate, squared = hits / total, NORMAL_95**2
    centre = rate + squared / (2 * total)
    reach = NORMAL_95 * math.sqrt(rate * (1 - rate) / total + squared / (4 * total**2))
    scale = 1 + squared / total
    # Rounding must not push the ends past the rate itself when all or nothing is hit.
    return max(min((centre - reach) / scale, rate), 0.0), min(max((centre + reach) / scale, rate), 1.0)


def word_error_rate(hypotheses: Sequence[str], references: Sequence[str]) -> ErrorRate:
    """Edits between words (split at whitespace), summed over the corpus, by the references' words."""
    return _error_rate([text.split() for text in hypotheses], [text.split() for text in references], "words")


def character_error_rate(hypotheses: Sequence[str], references: Sequence[str]) -> ErrorRate:
    """Edits between Unicode code points, spaces included, summed over the corpus, by the references'."""
    return _error_rate(hypotheses, references, "characters")


def edit_distance(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """Levenshtein's distance: the fewest insertions, deletions and substitutions that make one the other.

    The bit-parallel method of Myers (1999) in Hyyrö's form (2003): one column of the table of distances is
    two integers, the bits of which say where it rises and where it falls by one going down. A Python integer
    is as wide as it must be, so a column costs a dozen operations whatever the length of ``first``.
    """
    if not first:
        return len(second)
    occurrences: dict[Hashable, int] = {}
    for index, symbol in enumerate(first):
        occurrences[symbol] = occurrences.get(symbol, 0) | (1 << index)
    every, bottom = (1 << len(first)) - 1, 1 << (len(first) - 1)
    rises, falls, distance = every, 0, len(first)
    for symbol in second:
        matches = occurrences.get(symbol, 0)
        steady = matches | falls
        diagonal = (((matches & rises) + rises) ^ rises) | matches
        rises_across = falls | (every & ~(diagonal | rises))
        falls_across = rises & diagonal
        distance += bool(rises_across & bottom) - bool(falls_across & bottom)
        rises_across = (rises_across << 1) | 1  # the top row of the table rises by one with every symbol
        falls_across <<= 1
        rises = every & (falls_across | ~(steady | rises_across))
        falls = every & rises_across & steady
    return distance


def _error_rate(
    hypotheses: Sequence[Sequence[Hashable]], references: Sequence[Sequence[Hashable]], unit: str
) -> ErrorRate:
    _check_pairs(hypotheses, references)
    length = sum(len(reference) for reference in references)
    if length == 0:
        raise DataError(f"the references hold no {unit}: an error rate cannot be given")
    edits = sum(edit_distance(reference, hypothesis) for hypothesis, reference in zip(hypotheses, references))
    return ErrorRate(edits / length, edits, length)


def _check_pairs(hypotheses: Sequence[object], references: Sequence[object]) -> None:
    if len(hypotheses) != len(references):
        raise DataError(
            f"{len(hypotheses)} hypotheses against {len(references)} references: "
            "one hypothesis for each reference is needed"
        )
    if not references:
        raise DataError("there is nothing to score: hypotheses and references must not be empty")
