"""An n-gram model of any tokens: interpolated Kneser–Ney (Kneser & Ney 1995, as Chen & Goodman 1999 interpolate it)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

LONGEST = 6
"""Tokens of the longest n-gram."""
MOSTLY_NEW = 0.8
"""From this share of different n-grams on, longer ones say nothing more."""
HELD_OUT = 10
"""One in so many tokens is held out to choose the longest n-gram."""


class Counts(NamedTuple):
    """How often n-grams of one length stand there, with what a context needs: the sum over what follows it, and how
    many different tokens do."""

    of_G: np.ndarray
    total_H: np.ndarray
    kinds_H: np.ndarray
    discount: float

    @classmethod
    def made(cls, of_G: np.ndarray, contexts_G: np.ndarray, contexts: int) -> Counts:
        """D = n₁ / (n₁ + 2 n₂), n₁ and n₂ being how many n-grams have a count of one and of two (Ney et al. 1994)."""
        total_H = np.bincount(contexts_G, weights=of_G, minlength=contexts)
        kinds_H = np.bincount(contexts_G[of_G > 0], minlength=contexts)
        once, twice = int((of_G == 1).sum()), int((of_G == 2).sum())
        return cls(of_G, total_H, kinds_H, once / (once + 2 * twice) if once else 0.5)

    def interpolated(self, grams_T: np.ndarray, contexts_T: np.ndarray, shorter_T: np.ndarray) -> np.ndarray:
        """p(token | context) of tokens whose n-gram and context have these numbers (−1: never seen)."""
        total_T = np.where(contexts_T >= 0, self.total_H[contexts_T], 0)
        count_T = np.where(grams_T >= 0, self.of_G[grams_T], 0)
        held_T = np.maximum(count_T - self.discount, 0) + self.discount * self.kinds_H[contexts_T] * shorter_T
        return np.where(total_T > 0, held_T / np.maximum(total_T, 1), shorter_T)


class Level(NamedTuple):
    """N-grams of one length, known by context × vocabulary + token, in order: how often each stands there, and after
    how many different tokens, which is what counts where a longer context was not seen."""

    keys_G: np.ndarray
    plain: Counts
    continued: Counts


class NGrams(NamedTuple):
    """The levels from single tokens up."""

    levels: tuple[Level, ...]
    vocabulary: int

    def probabilities(self, tokens_N: np.ndarray) -> list[np.ndarray]:
        """For each longest n-gram 1, 2 …: the probability of every token but the first, given those before it."""
        tokens_N = tokens_N.astype(np.int64)
        shorter_T = np.full(len(tokens_N) - 1, 1 / self.vocabulary)
        found, grams_N = [], np.zeros(len(tokens_N), np.int64)  # the empty context, before and at every place
        for level in self.levels:
            contexts_N = np.concatenate(([0 if level is self.levels[0] else -1], grams_N[:-1]))
            grams_N = _number(level.keys_G, contexts_N, tokens_N, self.vocabulary)
            given = grams_N[1:], contexts_N[1:]
            found.append(level.plain.interpolated(*given, shorter_T))
            shorter_T = level.continued.interpolated(*given, shorter_T)
        return found

    def losses(self, tokens_N: np.ndarray) -> list[float]:
        """The mean of −log p over all tokens but the first, for each longest n-gram."""
        return [float(-np.log(own_T).mean()) for own_T in self.probabilities(tokens_N)]


class FittedNGrams(NamedTuple):
    """A model, and how long its longest n-grams should be."""

    model: NGrams
    longest: int

    def loss(self, tokens_N: np.ndarray) -> float:
        return self.model.losses(tokens_N)[self.longest - 1]


def fit_ngrams(tokens_N: np.ndarray, vocabulary: int, longest: int = LONGEST) -> NGrams:
    """From a stream of numbers below ``vocabulary``."""
    tokens_N = tokens_N.astype(np.int64)
    contexts_N = np.zeros(len(tokens_N), np.int64)
    keys, counts, suffixes = [], [], []
    shorter_N = contexts_N
    for length in range(1, longest + 1):
        # contexts_N[i] is the number of the (length − 1)-gram before token i + length − 1
        keys_G, first_G, grams_N, of_G = np.unique(
            contexts_N * vocabulary + tokens_N[length - 1 :],
            return_index=True, return_inverse=True, return_counts=True,
        )  # fmt: skip
        keys.append(keys_G)
        counts.append(of_G)
        suffixes.append(shorter_N[first_G])
        if len(keys_G) > MOSTLY_NEW * len(grams_N) or len(grams_N) < 2:
            break
        contexts_N, shorter_N = grams_N[:-1], grams_N[1:]
    return NGrams(tuple(_levels(keys, counts, suffixes, vocabulary)), vocabulary)


def _levels(
    keys: Sequence[np.ndarray], counts: Sequence[np.ndarray], suffixes: Sequence[np.ndarray], vocabulary: int
) -> list[Level]:
    """``suffixes[k]`` says of every n-gram of length k + 1 which one it is without its first token."""
    made = []
    for place, (keys_G, of_G) in enumerate(zip(keys, counts, strict=True)):
        contexts_G, contexts = keys_G // vocabulary, len(keys[place - 1]) if place else 1
        plain = Counts.made(of_G, contexts_G, contexts)
        after_G = np.bincount(suffixes[place + 1], minlength=len(keys_G)) if place + 1 < len(keys) else of_G
        made.append(Level(keys_G, plain, Counts.made(after_G, contexts_G, contexts)))
    return made


def fit_ngrams_of_best_length(tokens_N: np.ndarray, vocabulary: int, longest: int = LONGEST) -> FittedNGrams:
    """All tokens are counted, after their last tenth has said how long the longest n-grams should be."""
    kept = len(tokens_N) - len(tokens_N) // HELD_OUT
    model, best = fit_ngrams(tokens_N, vocabulary, longest), 1
    if len(tokens_N) - kept > 1:
        losses = fit_ngrams(tokens_N[:kept], vocabulary, longest).losses(tokens_N[kept:])
        best = 1 + int(np.argmin(losses))
    return FittedNGrams(model, min(best, len(model.levels)))


def _number(keys_G: np.ndarray, contexts_N: np.ndarray, tokens_N: np.ndarray, vocabulary: int) -> np.ndarray:
    """The numbers of n-grams by their context and token; −1: never seen."""
    wanted_N = contexts_N * vocabulary + tokens_N
    place_N = np.minimum(np.searchsorted(keys_G, wanted_N), len(keys_G) - 1)
    return np.where((contexts_N >= 0) & (keys_G[place_N] == wanted_N), place_N, -1)
