"""Toy problems, learned in seconds: copy, reverse or sort a sequence of symbols, or recall one of them."""

from __future__ import annotations

import itertools
import string
from collections import Counter
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from regard.core.errors import DataError
from regard.data import MOST_MADE, DataPart
from regard.data.corpus import Corpus, GoldAlignment, Pair
from regard.data.ledger import Ledger
from regard.data.splits import gathered

Sequence = tuple[int, ...]
LONGEST = 100_000  # symbols, and how many there are
MOST_ROUNDS = 1000  # of drawing what is still missing; with few symbols hardly any sequence has a question


class Toy(DataPart):
    """Sequences of symbols (letters up to 26 of them, numbers beyond) and what the problem makes of them."""

    files_kind: ClassVar[str] = "pairs"

    kind: str = "toy"
    problem: Literal["copy", "reverse", "sort", "middle", "recall"] = "reverse"  # middle: its symbol alone
    symbols: int = Field(default=20, ge=1, le=LONGEST)
    min_length: int = Field(default=3, ge=1, le=LONGEST)
    max_length: int = Field(default=10, ge=1, le=LONGEST)
    train_size: int = Field(default=10_000, ge=1, le=MOST_MADE)
    validation_size: int = Field(default=500, ge=0, le=MOST_MADE)
    test_size: int = Field(default=500, ge=0, le=MOST_MADE)

    @model_validator(mode="after")
    def _lengths_in_order(self) -> Toy:
        if self.min_length > self.max_length:
            raise ValueError(
                f"min_length {self.min_length} is greater than max_length {self.max_length}"
            )
        if self.problem == "recall" and self.min_length < 3:
            raise ValueError("recall needs a min_length of 3: a symbol, its follower, and the question")
        return self

    def load(self, seed: int, ledger: Ledger) -> Corpus[Pair]:
        sizes = {"train": self.train_size, "validation": self.validation_size, "test": self.test_size}
        drawn = iter(self._distinct(sum(sizes.values()), np.random.default_rng(seed)))
        names, origin = _names(self.symbols), f"toy {self.problem}"
        golden = {
            split: tuple(
                _gold(*self._solve(sequence), names, self.problem) for sequence in itertools.islice(drawn, size)
            )
            for split, size in sizes.items()
        }
        splits = {
            split: [
                Pair(" ".join(one.source_words), " ".join(one.target_words), line, origin)
                for line, one in enumerate(own, start=1)
            ]
            for split, own in golden.items()
        }
        gold = {split: own for split, own in golden.items() if split != "train" and own}
        return Corpus(gathered(splits, origin, ledger), ledger, gold)

    def _pose(self, drawn: Sequence) -> Sequence:
        """The sequence as it is asked about; a recall ends in a question, an earlier symbol that occurs once."""
        if self.problem != "recall":
            return drawn
        body, chance = drawn[:-1], drawn[-1]
        single = [symbol for symbol, count in Counter(body[:-1]).items() if count == 1 and symbol != body[-1]]
        return (*body, single[chance % len(single)]) if single else ()

    def _solve(self, source: Sequence) -> tuple[Sequence, list[int]]:
        """A sequence, and which of its positions stands at each position of the answer."""
        if self.problem == "recall":
            return source, [source.index(source[-1]) + 1]
        if self.problem == "middle":
            return source, [len(source) // 2]
        order = list(range(len(source)))
        if self.problem == "reverse":
            order.reverse()
        elif self.problem == "sort":
            order.sort(key=lambda position: source[position])
        return source, order

    def _distinct(self, wanted: int, generator: np.random.Generator) -> list[Sequence]:
        """Sequences without repetition, so that the splits share nothing; lengths are drawn evenly."""
        lengths = range(self.min_length, self.max_length + 1)
        possible = sum(self.symbols**length for length in lengths)
        if possible < wanted:
            raise DataError(
                f"{self.symbols} symbols in lengths {lengths[0]} to {lengths[-1]} give only {possible:,} "
                f"different sequences, but {wanted:,} are wanted for train_size, validation_size and test_size "
                "together; use more symbols, a greater max_length, or smaller splits"
            )
        # Drawing until enough are new would take long where nearly all are wanted.
        if possible <= 4 * wanted:
            symbols = range(self.symbols)
            every = [row for length in lengths for row in itertools.product(symbols, repeat=length)]
            posed = dict.fromkeys(self._pose(every[index]) for index in generator.permutation(possible))
            return self._enough([row for row in posed if row], wanted)
        found: dict[Sequence, None] = {}
        for _ in range(MOST_ROUNDS):
            for length in generator.integers(lengths[0], lengths[-1] + 1, size=wanted - len(found)):
                posed_row = self._pose(tuple(generator.integers(self.symbols, size=length).tolist()))
                if posed_row:
                    found[posed_row] = None
            if len(found) >= wanted:
                break
        return self._enough(list(found), wanted)

    def _enough(self, found: list[Sequence], wanted: int) -> list[Sequence]:
        if len(found) < wanted:
            raise DataError(
                f"{self.problem} found only {len(found):,} different questions with {self.symbols} symbols, but "
                f"{wanted:,} are wanted for train_size, validation_size and test_size together; use more symbols or "
                "smaller splits"
            )
        return found[:wanted]


def _names(symbols: int) -> list[str]:
    if symbols <= len(string.ascii_lowercase):
        return list(string.ascii_lowercase[:symbols])
    return [str(number) for number in range(symbols)]


def _gold(source: Sequence, order: list[int], names: list[str], problem: str) -> GoldAlignment:
    """A target symbol is linked to where it came from; after sorting, that may be any equal symbol."""
    sure = {(origin, position) for position, origin in enumerate(order)}
    possible = set(sure)
    if problem == "sort":
        count = Counter(source)
        sure = {(origin, position) for origin, position in sure if count[source[origin]] == 1}
        possible = {(other, position) for position, origin in enumerate(order)
                    for other, symbol in enumerate(source) if symbol == source[origin]}
    words = tuple(names[symbol] for symbol in source)
    answer = tuple(words[origin] for origin in order)
    return GoldAlignment(words, answer, frozenset(sure), frozenset(possible))
