"""Metrics by which runs of a task are compared: their titles, and whether more or less is better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure of ``Task.score`` and how it is written; ``NAME_low`` and ``NAME_high`` beside it are its interval."""

    name: str
    title: str
    digits: int = 3
    percent: bool = False  # a fraction of 1 that is written as a fraction of 100
    higher_is_better: bool = True

    def number(self, value: float) -> str:
        """The figure without its unit."""
        return f"{value * (100 if self.percent else 1):.{self.digits}f}"

    def formatted(self, value: float) -> str:
        return f"{self.number(value)} %" if self.percent else self.number(value)


def share(name: str, title: str) -> Metric:
    """A fraction of 1, which is written in percent; more is better."""
    return Metric(name, title, digits=1, percent=True)


@dataclass(frozen=True, slots=True)
class Details:
    """The scores of a split, and what they come from: the answers, the seconds in which they were found, and the
    quality of groups of inputs, the shortest first."""

    scores: Mapping[str, Any]
    seconds: float
    answers: tuple[str, ...] = ()
    by_length: tuple[Mapping[str, float], ...] = field(default=())
