"""Guesses where an answer is: near words of the question, weighted by how rare they are."""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

SPAN = re.compile(r"\S+")
AROUND = 10
"""Words on either side of an answer among which those of the question count."""


class NearSpans(NamedTuple):
    """How long answers are, and in how many contexts each word stands."""

    words: int
    contexts: int
    counts: Counter[str]

    def weight(self, word: str) -> float:
        return math.log((1 + self.contexts) / (1 + self.counts[word]))

    def answer(self, question: str, context: str) -> str:
        """The stretch of so many words, none of them asked with, that has most of the question around it.

        A word of the question counts its weight divided by its distance; of equals the first stretch is taken.
        """
        places = [found.span() for found in SPAN.finditer(context)]
        asked = set(bare_words(question))
        words = bare_words(context)
        weights_N = np.array([self.weight(word) if word in asked else 0.0 for word in words])
        scores = [
            _nearness(weights_N, start, start + self.words)
            if not asked.intersection(words[start : start + self.words]) else -1.0
            for start in range(max(len(words) - self.words + 1, 1))
        ]  # fmt: skip
        start = int(np.argmax(scores))
        own = places[start : start + self.words]
        return context[own[0][0] : own[-1][1]].strip(string.punctuation) if own else ""


def fit_near_spans(contexts: Iterable[str], answers: Sequence[str]) -> NearSpans:
    """Answers are as long as half of them at most are in training."""
    different = dict.fromkeys(contexts)
    counts = Counter(word for context in different for word in set(bare_words(context)))
    lengths = [len(answer.split()) for answer in answers] or [1]
    return NearSpans(max(1, int(np.median(lengths))), len(different), counts)


def bare_words(text: str) -> list[str]:
    """What whitespace parts, in lower case and without signs around it."""
    return [word.strip(string.punctuation).lower() for word in SPAN.findall(text)]


def _nearness(weights_N: np.ndarray, start: int, stop: int) -> float:
    before_N, after_N = weights_N[max(start - AROUND, 0) : start][::-1], weights_N[stop : stop + AROUND]
    return float(sum((own_N / np.arange(1, len(own_N) + 1)).sum() for own_N in (before_N, after_N)))
