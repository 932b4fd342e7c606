"""Words and their pieces: which piece represents a word, and in which window of a long sentence it is tagged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from regard.data.modalities.text.tokenizers import Tokenizer

TaggedPiece = Literal["first", "last"]
"""The piece of a word whose state stands for the word."""
NONE = -1
SPACE = "▁"


@dataclass(frozen=True, slots=True)
class Pieces:
    """A sentence in pieces; ``tagged_N`` is the place of the piece that speaks for each word (−1: it has none)."""

    ids: np.ndarray
    tagged_N: np.ndarray
    begins: np.ndarray  # places at which a word begins, in order


class WordWindow(NamedTuple):
    """A window over pieces, from ``start`` to ``stop``, and the words that are decided in it."""

    start: int
    stop: int
    words: np.ndarray


def pieces_of(
    tokenizer: Tokenizer, sentences: Sequence[Sequence[str]], tagged_piece: TaggedPiece = "first"
) -> list[Pieces]:
    """Sentences are read whole, with a space between words: so a word has the pieces that it has in running text."""
    made = tokenizer.raw.encode_batch([" ".join(words) for words in sentences], add_special_tokens=False)
    pairs = zip(sentences, made, strict=True)
    return [_pieces(tokenizer, words, one.ids, one.offsets, tagged_piece) for words, one in pairs]


def _pieces(
    tokenizer: Tokenizer,
    words: Sequence[str],
    ids: Sequence[int],
    offsets: Sequence[tuple[int, int]],
    tagged_piece: TaggedPiece,
) -> Pieces:
    word_P = words_of(words, offsets)
    firsts_N, lasts_N = np.full(len(words), NONE), np.full(len(words), NONE)
    for place, word in enumerate(word_P):
        if word >= 0:
            firsts_N[word] = place if firsts_N[word] < 0 else firsts_N[word]
            lasts_N[word] = place
    if len(words) and lasts_N[0] > firsts_N[0] and tokenizer.token(ids[firsts_N[0]]) == SPACE:
        firsts_N[0] += 1  # the space that some tokenizers put before a text counts as its first character
    begins = np.sort(firsts_N[firsts_N >= 0])
    return Pieces(np.array(ids, np.int64), firsts_N if tagged_piece == "first" else lasts_N, begins)


def words_of(words: Sequence[str], offsets: Sequence[tuple[int, int]]) -> np.ndarray:
    """The word of every piece of the joined words, by characters; −1 for a space that became a piece of its own."""
    stops_N = np.cumsum([len(word) + 1 for word in words]) - 1
    starts_N = stops_N - np.array([len(word) for word in words], np.int64)
    place_P2 = np.array(offsets, np.int64).reshape(-1, 2)
    if not len(words):
        return np.full(len(place_P2), NONE)
    word_P = np.searchsorted(stops_N, place_P2[:, 0], side="right")  # the first that ends after the piece begins
    inside_P = (word_P < len(words)) & (starts_N[np.minimum(word_P, len(words) - 1)] < place_P2[:, 1])
    return np.where(inside_P, word_P, NONE)


def first_window(pieces: Pieces, room: int) -> WordWindow:
    """The start of a sentence, and the words that speak within it."""
    tagged_N = pieces.tagged_N
    return WordWindow(0, min(room, len(pieces.ids)), np.flatnonzero((tagged_N >= 0) & (tagged_N < room)))


def all_windows(pieces: Pieces, room: int) -> list[WordWindow]:
    """Windows that overlap by half, which together hear every word with a piece exactly once.

    A word is decided where it has most context: the nearer end of the window is farthest from it, and the ends of the
    sentence are no ends. Of equals the earlier window has it.
    """
    count, bounds = len(pieces.ids), window_bounds(len(pieces.ids), room, pieces.begins)
    there = np.flatnonzero(pieces.tagged_N >= 0)
    places_M = pieces.tagged_N[there]
    most_M, best_M = np.full(len(there), -np.inf), np.zeros(len(there), np.int64)
    for number, (start, stop) in enumerate(bounds):
        inside = slice(*np.searchsorted(places_M, (start, stop)))
        before = places_M[inside] - start if start else np.inf
        after = stop - 1 - places_M[inside] if stop < count else np.inf
        context = np.minimum(before, after)
        better = context > most_M[inside]
        most_M[inside] = np.where(better, context, most_M[inside])
        best_M[inside] = np.where(better, number, best_M[inside])
    found = [WordWindow(*own, there[best_M == number]) for number, own in enumerate(bounds)]
    return [one for one in found if len(one.words)]


def window_bounds(count: int, room: int, begins: np.ndarray) -> list[tuple[int, int]]:
    """Half a window apart, and where a word begins not far before, from there on; the last one reaches the end."""
    step = max(room // 2, 1)
    bounds: list[tuple[int, int]] = []
    wanted = 0
    while count and (not bounds or bounds[-1][1] < count):
        before = begins[np.searchsorted(begins, wanted, side="right") - 1] if len(begins) else 0
        start = int(before) if 0 <= wanted - before <= step // 2 else wanted
        bounds.append((start, min(start + room, count)))
        wanted += step
    return bounds
