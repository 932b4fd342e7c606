"""What is known of nodes or edges becomes numbers: columns of numbers, and a column for each word that training has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from regard.core.config import nearest
from regard.core.errors import DataError
from regard.data.modalities.graph.graphs import Features

Scale: TypeAlias = Literal["standard", "rows", "none"]
"""What is done to numbers: mean 0 and spread 1 over training; rows that sum to 1 (counts of words); nothing."""
LEAST = 1e-6


@dataclass(frozen=True)
class Columns:
    """What of nodes (or edges) a model reads: numbers by name with their mean and spread, and the known words."""

    what: str
    scale: Scale
    names: tuple[str, ...] = ()
    mean: tuple[float, ...] = ()
    spread: tuple[float, ...] = ()
    words: Mapping[str, tuple[str, ...]] | None = None

    @classmethod
    def fit(cls, every: Sequence[Features], what: str, scale: Scale) -> Columns:
        """From what training graphs have; a name must mean numbers in all of them, or words in all of them."""
        numbers = {name: None for own in every for name in own.names}
        words: dict[str, dict[str, None]] = {}
        for own in every:
            for name, values in own.words.items():
                words.setdefault(name, {}).update(dict.fromkeys(values))
        both = [name for name in numbers if name in words]
        if both:
            raise DataError(
                f"{', '.join(both)} of {what} are numbers in some graphs and words in others; write them alike"
            )
        known = {name: tuple(sorted(value for value in own if value)) for name, own in words.items()}
        rows = [aligned(own, tuple(numbers)) for own in every]
        values_MF = np.concatenate([*rows, np.zeros((0, len(numbers)), np.float32)]).astype(np.float64)
        if scale != "standard" or not len(values_MF):
            mean_F, spread_F = np.zeros(len(numbers)), np.ones(len(numbers))
        else:
            there_MF = ~np.isnan(values_MF)
            counts_F = np.maximum(there_MF.sum(axis=0), 1)
            mean_F = np.where(there_MF, values_MF, 0).sum(axis=0) / counts_F
            spread_F = np.sqrt((np.where(there_MF, values_MF - mean_F, 0) ** 2).sum(axis=0) / counts_F)
            spread_F[spread_F < LEAST] = 1
        return cls(what, scale, tuple(numbers), tuple(mean_F.tolist()), tuple(spread_F.tolist()), known)

    @property
    def known(self) -> Mapping[str, tuple[str, ...]]:
        return self.words or {}

    @property
    def width(self) -> int:
        return len(self.names) + sum(map(len, self.known.values()))

    def check(self, features: Features, graph: str) -> None:
        """What the model knows must be there, in numbers or words as it was in training."""
        needed = {**dict.fromkeys(self.names, "numbers"), **dict.fromkeys(self.known, "words")}
        there = {**dict.fromkeys(features.names, "numbers"), **dict.fromkeys(features.words, "words")}
        if len(features) == 0:
            return
        missing = [f"{name!r}{nearest(name, there)}" for name in needed if name not in there]
        if missing:
            raise DataError(
                f"{graph}: its {self.what} lack {', '.join(missing[:10])}, which the model was trained on; they "
                f"have {', '.join(there) or 'nothing'}"
            )
        other = [f"{name!r} are {there[name]} and were {kind}" for name, kind in needed.items() if there[name] != kind]
        if other:
            told = f"of its {self.what}, {', '.join(other[:10])} in training"
            raise DataError(f"{graph}: {told}; write them as they were")

    def values(self, features: Features) -> np.ndarray:
        """values_NC: the numbers, then a 1 for each word that is known."""
        numbers_NF = aligned(features, self.names)
        numbers_NF = (numbers_NF - np.array(self.mean, np.float32)) / np.array(self.spread, np.float32)
        numbers_NF = np.nan_to_num(numbers_NF.astype(np.float32), nan=0.0)
        if self.scale == "rows":
            numbers_NF = numbers_NF / np.maximum(np.abs(numbers_NF).sum(axis=1, keepdims=True), LEAST)
        parts = [numbers_NF]
        for name, known in self.known.items():
            places = {word: place for place, word in enumerate(known)}
            found_NC = np.zeros((len(features), len(known)), np.float32)
            for row, word in enumerate(features.words.get(name, ("",) * len(features))):
                if word in places:
                    found_NC[row, places[word]] = 1
            parts.append(found_NC)
        return np.concatenate(parts, axis=1)

    def record(self) -> dict[str, Any]:
        words = {name: list(own) for name, own in self.known.items()}
        return {"names": list(self.names), "mean": list(self.mean), "spread": list(self.spread), "words": words}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], what: str, scale: Scale) -> Columns:
        names, mean, spread = (tuple(record[key]) for key in ("names", "mean", "spread"))
        return cls(what, scale, names, mean, spread, {name: tuple(own) for name, own in record["words"].items()})


def aligned(features: Features, names: Sequence[str]) -> np.ndarray:
    """numbers_NF under these names, in this order; not-a-number where there are none."""
    if features.names == tuple(names):
        return features.numbers_NF
    found_NF = np.full((len(features), len(names)), np.nan, np.float32)
    for place, name in enumerate(names):
        if name in features.names:
            found_NF[:, place] = features.numbers_NF[:, features.names.index(name)]
    return found_NF
