"""Data that the small world generates: the size of each split, and sentence pairs in two languages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from regard.data import MOST_MADE, DataPart
from regard.data.corpus import Corpus, GoldAlignment, Pair
from regard.data.examples import AnyExample
from regard.data.ledger import Ledger
from regard.data.splits import gathered

if TYPE_CHECKING:
    from regard.data.world.pairs import WorldPair

WORLD = "small-world"


class WorldSizes(DataPart):
    """How many sentences of the small world each split has; made, not read."""

    train_size: int = Field(default=20_000, ge=1, le=MOST_MADE)
    validation_size: int = Field(default=500, ge=1, le=MOST_MADE)
    test_size: int = Field(default=500, ge=0, le=MOST_MADE)


class WorldData(WorldSizes):
    """Sentences of the small world; ``compositional`` ones combine words as no training sentence does."""

    compositional_size: int = Field(default=500, ge=0, le=MOST_MADE)

    def drawn(self, seed: int) -> dict[str, tuple[WorldPair, ...]]:
        """The sentences of every split, in order."""
        from regard.data.world import splits  # the grammar is only built where it is wanted

        world = splits(self.train_size, self.validation_size, self.test_size, self.compositional_size, seed)
        return {
            "train": world.train,
            "validation": world.validation,
            "test": world.test,
            "compositional": world.compositional,
        }

    def gather(
        self, make: Callable[[WorldPair, int], Iterable[AnyExample]], seed: int, ledger: Ledger
    ) -> Corpus[AnyExample]:
        """A corpus of what ``make`` finds in each sentence, which comes with its number."""
        made = {
            split: [one for line, pair in enumerate(pairs, start=1) for one in make(pair, line)]
            for split, pairs in self.drawn(seed).items()
        }
        return Corpus(gathered(made, WORLD, ledger), ledger)


class WorldPairs(WorldData):
    """Pairs for a model that writes, which takes more sentences than to tell classes apart."""

    train_size: int = Field(default=60_000, ge=1, le=MOST_MADE)
    validation_size: int = Field(default=1000, ge=1, le=MOST_MADE)
    test_size: int = Field(default=1000, ge=0, le=MOST_MADE)
    compositional_size: int = Field(default=1000, ge=0, le=MOST_MADE)


class SmallWorld(WorldPairs):
    """Sentences of the small world in two languages, with gold alignments."""

    files_kind: ClassVar[str] = "pairs"

    kind: str = "small-world"

    def load(self, seed: int, ledger: Ledger) -> Corpus[Pair]:
        drawn = self.drawn(seed)
        splits = {
            split: [Pair(pair.source, pair.target, line, WORLD) for line, pair in enumerate(pairs, start=1)]
            for split, pairs in drawn.items()
        }
        gold = {
            split: tuple(gold_of(pair) for pair in pairs)
            for split, pairs in drawn.items()
            if split != "train" and pairs
        }
        return Corpus(gathered(splits, WORLD, ledger), ledger, gold)


def gold_of(pair: WorldPair) -> GoldAlignment:
    return GoldAlignment(pair.source_words, pair.target_words, pair.sure, pair.possible)
