"""Texts as bags: words and their neighbours or short strings of characters to count, and vectors of weighted words."""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

WORD = re.compile(r"\w+|[^\w\s]")
LONGEST_STRING = 4
"""Characters of the longest string that is a feature."""
FEW_WORDS = 2
"""Texts of so few words, as names and sequences without spaces are, are told apart by their characters."""
DIMENSIONS = 4096


def words_of(text: str) -> list[str]:
    """Words in lower case, and signs."""
    return WORD.findall(text.lower())


def word_features(text: str) -> list[str]:
    """Every word, and every word with its right neighbour."""
    words = words_of(text)
    return words + [f"{one} {other}" for one, other in pairwise(words)]


def character_features(text: str) -> list[str]:
    """Every string of one to four characters; spaces around the text tell its first and last ones apart."""
    whole = f" {text.lower().strip()} "
    return [
        whole[start : start + size]
        for size in range(1, LONGEST_STRING + 1)
        for start in range(len(whole) - size + 1)
    ]


def has_few_words(texts: Sequence[str]) -> bool:
    """Whether half of the texts have at most two words."""
    return not texts or float(np.median([len(text.split()) for text in texts])) <= FEW_WORDS


class WeightedWords:
    """Vectors of words, weighted by log((1 + texts) / (1 + texts with the word)) + 1 (Spärck Jones 1972), of length 1.

    The most frequent words of the texts that it is fitted on have a dimension of their own; others share what is left,
    by a checksum of the word (Weinberger et al. 2009).
    """

    def __init__(self, texts: Sequence[str], dimensions: int = DIMENSIONS) -> None:
        counts = Counter(word for text in texts for word in set(words_of(text)))
        self.dimensions = dimensions
        self.texts = len(texts)
        self.counts = counts
        kept = counts.most_common(dimensions // 2 if len(counts) > dimensions else dimensions)
        self.places = {word: place for place, (word, _) in enumerate(kept)}
        self.free = dimensions - len(self.places)

    def weight(self, word: str) -> float:
        return math.log((1 + self.texts) / (1 + self.counts[word])) + 1

    def place(self, word: str) -> int:
        """−1: there is no room for a word of its kind."""
        if word in self.places:
            return self.places[word]
        return len(self.places) + zlib.crc32(word.encode()) % self.free if self.free else -1

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        """vectors_ND; a text without known words has the zero vector."""
        found_ND = np.zeros((len(texts), self.dimensions), np.float32)
        for row_D, text in zip(found_ND, texts, strict=True):
            for word, count in Counter(words_of(text)).items():
                if (place := self.place(word)) >= 0:
                    row_D[place] += count * self.weight(word)
        lengths_N1 = np.linalg.norm(found_ND, axis=1, keepdims=True)
        return found_ND / np.maximum(lengths_N1, np.finfo(np.float32).tiny)
