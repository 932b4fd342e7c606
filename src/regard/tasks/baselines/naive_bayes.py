"""Multinomial naive Bayes: the class under which a bag of words is most probable, its words being independent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

MOST_FEATURES = 200_000
MOST_NUMBERS = 20_000_000
"""Of the table of classes by features: with many classes, fewer features are kept."""


class NaiveBayes(NamedTuple):
    """log p(class), and log p(feature | class) of the features that are known, by their place."""

    places: dict[str, int]
    log_prior_C: np.ndarray
    log_likelihood_FC: np.ndarray

    def scores(self, bag: Sequence[str]) -> np.ndarray:
        """scores_C = log p(class) + Σ log p(feature | class), over the known features of the bag."""
        known = [place for feature in bag if (place := self.places.get(feature, -1)) >= 0]
        return self.log_prior_C + self.log_likelihood_FC[known].sum(axis=0)

    def predict(self, bags: Sequence[Sequence[str]]) -> np.ndarray:
        """The most probable class of each bag; of equals the first."""
        return np.array([self.scores(bag).argmax() for bag in bags], np.int64)


def fit_naive_bayes(bags: Sequence[Sequence[str]], labels_N: np.ndarray, classes: int) -> NaiveBayes:
    """With add-one smoothing (McCallum & Nigam 1998, eq. 6); features that are too many lose the rarest."""
    most = max(1, min(MOST_FEATURES, MOST_NUMBERS // max(classes, 1)))
    kept = Counter(feature for bag in bags for feature in bag).most_common(most)
    places = {feature: place for place, (feature, _) in enumerate(kept)}
    flat = [
        place * classes + int(label)
        for bag, label in zip(bags, labels_N, strict=True)
        for feature in bag
        if (place := places.get(feature, -1)) >= 0
    ]
    size = len(places) * classes
    counts_FC = 1 + np.bincount(np.array(flat, np.int64), minlength=size).reshape(-1, classes)
    likelihood_FC = np.log(counts_FC) - np.log(counts_FC.sum(axis=0))
    priors_C = np.bincount(labels_N, minlength=classes)
    with np.errstate(divide="ignore"):  # a class without training examples is never chosen
        log_prior_C = np.log(priors_C / max(len(labels_N), 1))
    return NaiveBayes(places, log_prior_C, likelihood_FC.astype(np.float32))
