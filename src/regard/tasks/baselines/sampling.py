"""How much of the training data a simple method is fitted on: evenly spaced, always the same, and told in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

Item = TypeVar("Item")


class Sample(NamedTuple):
    """The places of the examples that are used, and of how many they were taken."""

    places: np.ndarray
    available: int

    def of(self, examples: Sequence[Item]) -> list[Item]:
        return [examples[place] for place in self.places]

    def describe(self, unit: str) -> str:
        """In words: "27,000 texts", "20,000 of 300,000 texts"."""
        if len(self.places) < self.available:
            return f"{len(self.places):,} of {self.available:,} {unit}"
        return f"{self.available:,} {unit}"


def evenly(available: int, most: int) -> Sample:
    """At most so many places, evenly spaced from the first to the last."""
    count = min(available, most)
    return Sample(np.arange(count) * available // max(count, 1), available)


def within(examples: Sequence[Item], size: Callable[[Item], int], budget: int, most: int) -> Sample:
    """As many evenly spaced examples as have about ``budget`` of ``size`` together, and no more than ``most``."""
    looked_at = evenly(len(examples), 1000)
    mean = sum(map(size, looked_at.of(examples))) / max(len(looked_at.places), 1)
    return evenly(len(examples), min(most, int(budget / max(mean, 1))))
