"""The pairs of a corpus as token ids, epoch by epoch: which are used, how often, and how they are segmented."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np

from regard.core.batch import Examples
from regard.core.errors import DataError
from regard.core.seams import max_lengths_of
from regard.data.corpus import Corpus, Pair
from regard.data.examples import HasTarget
from regard.data.modalities.text.bpe_dropout import BpeDropout
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.data.padding import Ids

NAMED = 10
"""Pairs that a message names before it only counts."""


@dataclass(frozen=True, slots=True)
class EncodedPair:
    """A pair as numbers, without special symbols."""

    source: Ids
    target: Ids

    @property
    def longer(self) -> int:
        """Pieces of the side that has more."""
        return max(len(self.source), len(self.target))

    def swapped(self) -> EncodedPair:
        return EncodedPair(self.target, self.source)


def check_pairs(corpus: Corpus, task: str) -> None:
    """Examples without a text to be written are refused, with the data that has them."""
    if any(not isinstance(one, HasTarget) for own in corpus.splits.values() for one in own[:1]):
        raise DataError(
            f'task.kind = "{task}" learns from pairs of a source and a target text, which this data has not; choose '
            'data.kind = "pairs" (or small-world, toy), or another task.kind'
        )


class EncodedPairs:
    """Every split of a corpus, encoded once; training pairs anew each epoch where BPE-dropout is asked for.

    ``max_length`` pieces a side are learned from; in the first ``both_ways`` epochs a pair is learned backwards, too.
    """

    def __init__(self, corpus: Corpus, vocabularies: Vocabularies, max_length: int, both_ways: int = 0) -> None:
        self.corpus = corpus
        self.vocabularies = vocabularies
        self.both_ways = both_ways
        self._most = max_length
        self._pairs: dict[str, Sequence[Pair]] = dict(corpus.splits)
        self._encoded = {split: self.encode(pairs) for split, pairs in corpus.splits.items()}
        self._weights: tuple[float, ...] = corpus.weights
        self._dropout: tuple[BpeDropout, ...] = ()
        if "train" in corpus.splits:
            self._leave_out_long()

    def encode(self, pairs: Sequence[Pair]) -> list[EncodedPair]:
        sources = self.vocabularies.source.encode_batch([pair.source for pair in pairs])
        targets = self.vocabularies.target.encode_batch([pair.target for pair in pairs])
        return [
            EncodedPair(np.asarray(source, np.int64), np.asarray(target, np.int64))
            for source, target in zip(sources, targets, strict=True)
        ]

    def _leave_out_long(self) -> None:
        """Pairs beyond the maximum length leave the training split; the ledger lists each of them."""
        pairs, encoded = self._pairs["train"], self._encoded["train"]
        fits = [one.longer <= self._most for one in encoded]
        for pair, one, fitting in zip(pairs, encoded, fits):
            if not fitting:
                detail = f"{len(one.source)} source and {len(one.target)} target pieces"
                reason = f"longer than task.max_length = {self._most} pieces"
                self.corpus.ledger.drop("train", pair.origin, pair.line, reason, detail)
        self._pairs["train"] = list(compress(pairs, fits))
        self._encoded["train"] = list(compress(encoded, fits))
        self._weights = tuple(compress(self._weights, fits))

    def resample_pieces(self, rate: float, seed: int) -> None:
        """From now on every epoch sees the training pairs in other pieces."""
        pairs, vocabularies = self._pairs["train"], self.vocabularies
        self._dropout = (
            BpeDropout(vocabularies.source, [pair.source for pair in pairs], rate, seed),
            BpeDropout(vocabularies.target, [pair.target for pair in pairs], rate, seed + 1),
        )

    def check_lengths(self, model: Any, batch_tokens: int) -> None:
        """Pairs that the model has no positions for, or a training step no tokens, are named before the first step."""
        room = batch_tokens - 1  # one is the closing symbol's
        remedy = f"leave such pairs out with task.max_length={room}, or raise training.batch_tokens"
        why = f"training.batch_tokens = {batch_tokens} has room for {room} pieces"
        self._check_lengths(room, ("train",), why, remedy)
        self._most = min(self._most, room)
        limits = [limit for limit in max_lengths_of(model) if limit]
        if limits:
            room = min(limits) - 1
            remedy = (
                f"leave such training pairs out with task.max_length={room}, cut or split the others, or raise "
                "model.position.max_length"
            )
            self._check_lengths(room, self._encoded, f"the model has positions for {room} pieces", remedy)
            self._most = min(self._most, room)

    def _check_lengths(self, room: int, splits: Iterable[str], why: str, remedy: str) -> None:
        places = [
            f"{pair.origin or split} line {pair.line} ({len(one.source)} and {len(one.target)})"
            for split in splits
            for pair, one in zip(self._pairs[split], self._encoded[split], strict=True)
            if one.longer > room
        ]
        if places:
            more = f" and {len(places) - NAMED} others" if len(places) > NAMED else ""
            raise DataError(f"{why}; more have (source and target): {', '.join(places[:NAMED])}{more}; {remedy}")

    def examples(self, split: str, epoch: int) -> Examples:
        if split != "train":
            return self.gathered(self._encoded.get(split, []))
        pairs = self._resample(epoch) if self._dropout else self._encoded[split]
        if epoch < self.both_ways:
            return self.gathered([*pairs, *(pair.swapped() for pair in pairs)], self._weights * 2)
        return self.gathered(pairs, self._weights)

    @staticmethod
    def gathered(pairs: Sequence[EncodedPair], weights: Sequence[float] = ()) -> Examples:
        """Each side with its closing (or opening) symbol."""
        lengths = [(len(pair.source) + 1, len(pair.target) + 1) for pair in pairs]
        return Examples(pairs, np.array(lengths, np.int64).reshape(-1, 2), weights)

    def _resample(self, epoch: int) -> list[EncodedPair]:
        """Dropout makes more pieces of a text: where they are too many, the exact ones stand in for it."""
        cut = map(EncodedPair, *(dropout.encode(epoch) for dropout in self._dropout))
        exact = self._encoded["train"]
        return [one if one.longer <= self._most else whole for one, whole in zip(cut, exact, strict=True)]
