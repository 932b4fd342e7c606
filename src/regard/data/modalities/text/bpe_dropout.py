"""BPE-dropout (Provilkov et al. 2020) from a seed: every epoch sees the words of a text in other pieces."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence

import numpy as np

from regard.core.errors import OptionError
from regard.data.modalities.text.tokenizers import Tokenizer

# So many cells are merged at once: few steps in Python, and little memory.
_CELLS = 1 << 22
_NO_PAIR = np.int32(2**31 - 1)
_NOTHING = np.int32(-1)


class BpeDropout:
    """Texts in random pieces, a function of (seed, epoch).

    For every distinct word, segmentations are drawn once by the paper's procedure: at each step every merge
    that could be done is dropped with the given probability, the best of the others is done, and when none is
    left the word is finished. In every epoch each occurrence of a word takes one of these.
    Departure from the paper: an occurrence chooses among ``variants`` draws (for a frequent word up to 16
    times as many), not among all possible segmentations.
    """

    def __init__(
        self, tokenizer: Tokenizer, texts: Sequence[str], probability: float, seed: int, variants: int = 16
    ) -> None:
        if not 0.0 <= probability <= 1.0 or variants < 1:
            raise OptionError(
                "BPE-dropout needs a probability from 0 to 1 and at least one variant, "
                f"found {probability} and {variants}"
            )
        self.seed = seed
        words, self._word_of_occurrence, self._first_of_text = _words(tokenizer, texts)
        self._variants = _variants(self._word_of_occurrence, len(words), variants if probability > 0.0 else 0)
        self._first_row = np.cumsum(self._variants) - self._variants
        table = _draw(words, self._variants, _Merges(tokenizer), probability, seed)
        self._pieces = np.concatenate([np.zeros(0, np.int32), *table])
        self._first_of_row = np.concatenate(([0], np.cumsum([len(row) for row in table], dtype=np.int64)))

    def encode(self, epoch: int) -> list[np.ndarray]:
        """The ids of every text, int32."""
        generator = np.random.default_rng([self.seed, 1, epoch])
        words = self._word_of_occurrence
        rows = self._first_row[words] + generator.integers(self._variants[words])
        starts, stops = self._first_of_row[rows], self._first_of_row[rows + 1]
        ends = np.concatenate(([0], np.cumsum(stops - starts)))
        ids = self._pieces[np.arange(ends[-1]) + np.repeat(starts - ends[:-1], stops - starts)]
        limits = ends[self._first_of_text].tolist()
        return [ids[start:stop] for start, stop in itertools.pairwise(limits)]


def _variants(word_of_occurrence: np.ndarray, words: int, variants: int) -> np.ndarray:
    """How many draws each word gets; frequent ones more, since a few unlucky draws would mark the corpus."""
    occurrences = np.bincount(word_of_occurrence, minlength=words)
    return np.clip(occurrences, max(variants, 1), max(16 * variants, 1))


class _Merges:
    """The merges of a tokenizer as sorted keys, looked up for many pairs at once."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        model = json.loads(tokenizer.raw.to_str())["model"]
        if model["type"] != "BPE":
            raise OptionError(
                f"BPE-dropout needs a tokenizer of byte pairs, "
                f"found {model['type']}; use tokenizer kind 'bpe'"
            )
        self.vocabulary: dict[str, int] = model["vocab"]
        self.size = len(self.vocabulary)
        triples = [
            (self.vocabulary[left], self.vocabulary[right], self.vocabulary[left + right])
            for left, right in model["merges"]
        ]
        left, right, made = np.array(triples, dtype=np.int64).reshape(-1, 3).T
        keys = left * self.size + right
        order = np.argsort(keys)
        # A last entry that no pair equals spares a check of the bounds.
        self._keys = np.append(keys[order], np.iinfo(np.int64).max)
        self._ranks = np.append(order, _NO_PAIR).astype(np.int32)
        self.made = made.astype(np.int32)

    def ranks(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The rank of each pair's merge, the lowest first; ``_NO_PAIR`` where there is none."""
        keys = left.astype(np.int64) * self.size + right
        places = np.searchsorted(self._keys, keys)
        known = (self._keys[places] == keys) & (left >= 0) & (right >= 0)
        return np.where(known, self._ranks[places], _NO_PAIR)


def _words(tokenizer: Tokenizer, texts: Sequence[str]) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The distinct words, the word of each occurrence, and where the occurrences of each text begin."""
    number: dict[str, int] = {}
    occurrences: list[int] = []
    firsts = [0]
    normalizer, pre_tokenizer = tokenizer.raw.normalizer, tokenizer.raw.pre_tokenizer
    for text in texts:
        normal = normalizer.normalize_str(text) if normalizer is not None else text
        occurrences += [
            number.setdefault(word, len(number)) for word, _ in pre_tokenizer.pre_tokenize_str(normal)
        ]
        firsts.append(len(occurrences))
    return list(number), np.array(occurrences, dtype=np.int64), np.array(firsts, dtype=np.int64)


def _draw(
    words: list[str], variants: np.ndarray, merges: _Merges, probability: float, seed: int
) -> list[np.ndarray]:
    """All variants of all words, those of one word together, in the order of the words."""
    generator = np.random.default_rng([seed, 0])
    rows: list[list[np.ndarray]] = [[] for _ in words]
    by_length = np.argsort([len(word) for word in words], kind="stable")
    while len(by_length):
        width = len(words[by_length[-1]])
        count = max(1, _CELLS // (width * int(variants.max())))
        block, by_length = by_length[-count:], by_length[:-count]
        # One column more than the longest word has signs: so there is always a pair to look up.
        ids_RT = np.full((len(block), width + 1), _NOTHING, np.int32)
        for row, word in enumerate(block):
            ids_RT[row, : len(words[word])] = [merges.vocabulary[sign] for sign in words[word]]
        merged_RT = _merge(np.repeat(ids_RT, variants[block], axis=0), merges, probability, generator)
        lengths = (merged_RT >= 0).sum(axis=1).tolist()
        for word, row, length in zip(np.repeat(block, variants[block]).tolist(), merged_RT, lengths):
            rows[word].append(row[:length])
    return list(itertools.chain.from_iterable(rows))


def _merge(
    ids_RT: np.ndarray, merges: _Merges, probability: float, generator: np.random.Generator
) -> np.ndarray:
    """Does one merge a step in every row, until each has come to a step that leaves it no merge."""
    done_RT = np.full_like(ids_RT, _NOTHING)
    active = np.arange(len(ids_RT))
    threshold = round(probability * 65536)
    while len(active):
        ranks_RT = merges.ranks(ids_RT[:, :-1], ids_RT[:, 1:])
        if threshold:
            dropped_RT = generator.integers(65536, size=ranks_RT.shape, dtype=np.uint16) < threshold
            ranks_RT[dropped_RT] = _NO_PAIR
        place = ranks_RT.argmin(axis=1)
        best = ranks_RT[np.arange(len(active)), place]
        goes_on = best != _NO_PAIR
        done_RT[active[~goes_on], : ids_RT.shape[1]] = ids_RT[~goes_on]
        active, place = active[goes_on], place[goes_on]
        ids_RT = _close(ids_RT[goes_on], place, merges.made[best[goes_on]])
    return done_RT


def _close(ids_RT: np.ndarray, place: np.ndarray, made: np.ndarray) -> np.ndarray:
    """Puts the merged piece at its place, and moves what stands after it one to the left."""
    shifted_RT = np.concatenate((ids_RT[:, 1:], np.full((len(ids_RT), 1), _NOTHING)), axis=1)
    moved_RT = np.where(np.arange(ids_RT.shape[1]) > place[:, None], shifted_RT, ids_RT)
    moved_RT[np.arange(len(ids_RT)), place] = made
    return moved_RT[:, :-1]
