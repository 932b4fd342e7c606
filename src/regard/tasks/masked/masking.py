"""Stretches of running text with masked tokens: where they are cut, which are chosen, what replaces them.

All of it is a function of (seed, epoch, place): another epoch hides other words, a resumed run hides the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

Ids = np.ndarray


class Hidden(NamedTuple):
    """Tokens as the model reads them, the positions that it is asked about, and what stood there."""

    tokens: Ids
    chosen: Ids
    answers: Ids


@dataclass(frozen=True)
class Masking:
    """How much is hidden, and behind what (Devlin et al. 2019, section 3.1).

    Of the ``share`` that is chosen, the part ``masked`` becomes the mask, the part ``random`` any ordinary symbol, the
    rest is left. ``ordinary_W`` says of every symbol whether it is no special one; ``goes_on_W`` whether it belongs to
    the word before it: where that is given, whole words are chosen.
    """

    share: float
    masked: float
    random: float
    mask: int
    ordinary_W: Ids
    goes_on_W: Ids | None = None

    @cached_property
    def others(self) -> Ids:
        """The ordinary symbols."""
        return np.flatnonzero(self.ordinary_W)

    def quota(self, lengths_N: Ids) -> Ids:
        """How many of so many tokens are chosen; of whole words at most so many, but at least one word."""
        return np.maximum(1, np.rint(self.share * lengths_N)).astype(np.int64)

    def choose(self, tokens: Ids, generator: np.random.Generator) -> Ids:
        """Positions in order; special symbols are never asked for."""
        places = np.flatnonzero(self.ordinary_W[tokens])
        count = int(self.quota(np.array(len(tokens))))
        if self.goes_on_W is None:
            return np.sort(generator.permutation(places)[:count])
        _, word_of, sizes = np.unique(
            np.cumsum(~self.goes_on_W[tokens])[places], return_inverse=True, return_counts=True
        )
        return places[np.isin(word_of, some(sizes, count, generator))]

    def hide(self, tokens: Ids, generator: np.random.Generator) -> Hidden:
        chosen = self.choose(tokens, generator)
        answers, shown = tokens[chosen], tokens.copy()
        draws = generator.random(len(chosen))
        others = self.others[generator.integers(len(self.others), size=len(chosen))]
        instead = np.where(draws < self.masked + self.random, others, answers)
        shown[chosen] = np.where(draws < self.masked, self.mask, instead)
        return Hidden(shown, chosen, answers)


def some(sizes: Ids, count: int, generator: np.random.Generator) -> list[int]:
    """Words in random order while they fit into ``count`` tokens; the first one in any case."""
    taken: list[int] = []
    left = count
    for word in generator.permutation(len(sizes)).tolist():
        if not taken or sizes[word] <= left:
            taken.append(word)
            left -= int(sizes[word])
        if left <= 0:
            break
    return taken


class MaskedWindows(Sequence[Hidden]):
    """A token stream in stretches between ``opening`` and ``closing``; what is hidden in one depends on its place."""

    def __init__(
        self, tokens: Ids, spans_N2: Ids, masking: Masking, opening: int, closing: int, key: tuple[int, ...]
    ) -> None:
        self.tokens, self.spans_N2, self.masking = tokens, spans_N2, masking
        self.opening, self.closing, self.key = opening, closing, key

    def __len__(self) -> int:
        return len(self.spans_N2)

    def __getitem__(self, place: Any) -> Any:
        hidden = self.masking.hide(self.plain(place)[1:-1], np.random.default_rng((*self.key, int(place))))
        return Hidden(self.enclosed(hidden.tokens), hidden.chosen + 1, hidden.answers)

    def plain(self, place: int) -> Ids:
        """As it stands in the text, with nothing hidden."""
        if not 0 <= place < len(self):
            raise IndexError(place)
        start, stop = self.spans_N2[place]
        return self.enclosed(self.tokens[start:stop].astype(np.int64))

    def enclosed(self, tokens: Ids) -> Ids:
        return np.concatenate(([self.opening], tokens, [self.closing]))

    def lengths(self) -> Ids:
        """lengths_N2: about how many are chosen, and how many tokens are read."""
        inside_N = self.spans_N2[:, 1] - self.spans_N2[:, 0]
        return np.stack((self.masking.quota(inside_N), inside_N + 2), axis=1)


def joined_spans(tokens: Ids, room: int, first: int = 0) -> Ids:
    """spans_N2 of at most ``room`` tokens that meet, the first of them ``first`` tokens long (0: like the others).

    The closing symbol before the first document is left out.
    """
    cuts = np.unique(np.append(np.arange(1 + first, len(tokens), room), [1, len(tokens)]))
    return np.stack((cuts[:-1], cuts[1:]), axis=1) if len(tokens) > 1 else np.zeros((0, 2), np.int64)


def document_spans(tokens: Ids, closing: int, room: int) -> Ids:
    """spans_N2 of single documents, without what closes them; longer ones in several pieces."""
    ends = np.append(np.flatnonzero(tokens == closing), len(tokens))
    starts, stops = ends[:-1] + 1, ends[1:]
    pieces = -(-(stops - starts) // room)
    number_N = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    starts_N = np.repeat(starts, pieces) + number_N * room
    return np.stack((starts_N, np.minimum(starts_N + room, np.repeat(stops, pieces))), axis=1)
