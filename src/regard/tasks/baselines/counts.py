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


def fit_columns(counts: Sequence[Mapping[str, float]], most: int = MOST_COLUMNS) -> CountColumns:
    """A column for each name, for those that most inputs have where there are too many."""
    inputs = Counter(name for own in counts for name in own)
    kept = sorted(inputs, key=lambda name: (-inputs[name], name))[:most]
    return CountColumns(tuple(sorted(kept)))
