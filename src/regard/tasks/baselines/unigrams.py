"""How frequent every token is, whatever its neighbours."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Unigrams(NamedTuple):
    """log p of every token of a vocabulary."""

    log_probability_W: np.ndarray

    @property
    def usual(self) -> int:
        """The most frequent token; of equals the first."""
        return int(self.log_probability_W.argmax())

    def loss(self, tokens_N: np.ndarray) -> float:
        return float(-self.log_probability_W[tokens_N].mean())

    def accuracy(self, tokens_N: np.ndarray) -> float:
        """How often the most frequent token is right."""
        return float((tokens_N == self.usual).mean())


def fit_unigrams(tokens_N: np.ndarray, vocabulary: int) -> Unigrams:
    """With add-one smoothing."""
    counts_W = 1 + np.bincount(tokens_N, minlength=vocabulary)
    return Unigrams(np.log(counts_W / counts_W.sum()))
