"""Counts of whatever inputs are made of, as columns: those that most training inputs have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

MOST_COLUMNS = 2000


class CountColumns(NamedTuple):
    """The names of the columns, in order."""

    names: tuple[str, ...]

    def features(self, counts: Sequence[Mapping[str, float]]) -> np.ndarray:
        """features_NF; what has no column is left out."""
        places = {name: place for place, name in enumerate(self.names)}
        found_NF = np.zeros((len(counts), len(self.names)))
        for row, own in enumerate(counts):
            for name, count in own.items():
                if name in places:
                    found_NF[row, places[name]] = count
        return found_NF


def count_features(
    counts: Mapping[str, Sequence[Mapping[str, float]]], others: Mapping[str, Sequence[Mapping[str, float]]]
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """By the name of each way to count, features of the inputs that columns are made for, and of others. A way that
    counts the same as one before it is left out."""
    columns: dict[CountColumns, str] = {}
    for name, own in counts.items():
        columns.setdefault(fit_columns(own), name)
    return {name: (own.features(counts[name]), own.features(others[name])) for own, name in columns.items()}


def fit_columns(counts: Sequence[Mapping[str, float]], most: int = MOST_COLUMNS) -> CountColumns:
    """A column for each name, for those that most inputs have where there are too many."""
    inputs = Counter(name for own in counts for name in own)
    kept = sorted(inputs, key=lambda name: (-inputs[name], name))[:most]
    return CountColumns(tuple(sorted(kept)))
