"""Training, validation and test pairs of the small world, and known words in combinations never seen."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from regard.core.errors import RegardError

from .combinations import held_out
from .pairs import Structure, WorldPair, sample

# How many sentences in a row may hold an unknown word before we say that the training set is too small.
_PATIENCE = 2000


@dataclass(frozen=True, slots=True)
class WorldSplits:
    """Four sets that share no English sentence; only `compositional` has held-out combinations."""

    train: tuple[WorldPair, ...]
    validation: tuple[WorldPair, ...]
    test: tuple[WorldPair, ...]
    compositional: tuple[WorldPair, ...]


def splits(train: int, validation: int, test: int, compositional: int, seed: int) -> WorldSplits:
    """Draw the splits; `compositional` has held-out combinations of words that `train` knows singly."""
    kept_back = held_out()
    seen: set[str] = set()
    source = random.Random(f"regard small world splits {seed}")
    ordinary = sample(source, seen, kept_back.isdisjoint)
    learnt = tuple(islice(ordinary, train))
    known = frozenset(word for pair in learnt for word in (*pair.source_words, *pair.target_words))

    def uncommon(structure: Structure) -> bool:
        return not kept_back.isdisjoint(structure)

    return WorldSplits(
        train=learnt,
        validation=tuple(islice(ordinary, validation)),
        test=tuple(islice(ordinary, test)),
        compositional=tuple(islice(_familiar(sample(source, seen, uncommon), known), compositional)),
    )


def _familiar(pairs: Iterator[WorldPair], known: frozenset[str]) -> Iterator[WorldPair]:
    """Only pairs whose every word on both sides is known."""
    failures = 0
    for pair in pairs:
        if known.issuperset(pair.source_words) and known.issuperset(pair.target_words):
            failures = 0
            yield pair
        elif (failures := failures + 1) >= _PATIENCE:
            raise RegardError(
                f"the training split knows only {len(known)} words, too few for compositional sentences: "
                f"{_PATIENCE} in a row held an unknown one; ask for more training pairs or none of these"
            )
