"""Typed answers: what a task predicts for one input; the command line renders each by its type."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer. ``text`` says it in one line, whatever its type; ``log_probability`` is its total, ``score`` what it
    was ranked by."""

    text: str
    log_probability: float
    score: float

    @property
    def probability(self) -> float:
        return math.exp(self.log_probability)


@dataclass(frozen=True, slots=True)
class LabelAnswer(Answer):
    """A class that the input may belong to; the score is its probability (or another figure that was asked for)."""

    @property
    def label(self) -> str:
        return self.text


class TaggedWord(NamedTuple):
    """A word with its tag; it stands at ``text[start:stop]``."""

    word: str
    tag: str
    probability: float
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class TagsAnswer(Answer):
    """Every word of the text with its tag; the score is the mean probability of the tags."""

    words: tuple[TaggedWord, ...] = ()


@dataclass(frozen=True, slots=True)
class SpanAnswer(Answer):
    """An answer exactly as it stands between these characters of the context; empty: the context has none."""

    start: int = 0
    stop: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class VectorAnswer(Answer):
    """The vector of an input."""

    vector_D: np.ndarray = field(default_factory=lambda: np.zeros(0, np.float32))


@dataclass(frozen=True, slots=True)
class NumberAnswer(Answer):
    """A number, such as the cosine of two texts; it is the score. Where there are several, ``values`` are all of them,
    and the score is the first."""

    values: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class NumbersAnswer(Answer):
    """What is to come: values_HCQ by step ahead, channel and level, in the user's units. ``times`` say when, ``past``
    what was read before."""

    times: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    levels: tuple[float, ...] = ()
    values_HCQ: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 0)))
    past_times: tuple[str, ...] = ()
    past_NC: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))  # of the same channels, NaN where missing

    @property
    def medians_HC(self) -> np.ndarray:
        return self.values_HCQ[..., self.levels.index(0.5)]
