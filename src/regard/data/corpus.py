"""A corpus: pairs of texts in named splits, with gold alignments and sampling weights where known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from regard.data.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Pair:
    """A source and its target; ``line`` (from 1) and ``origin`` say where they were read."""

    source: str
    target: str
    line: int = 0
    origin: str = ""


@dataclass(frozen=True, slots=True)
class GoldAlignment:
    """Which source word belongs to which target word: links (source, target); sure ones are possible too."""

    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    sure: frozenset[tuple[int, int]]
    possible: frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Splits by name: train, validation, test, perhaps more.

    ``gold[split][i]`` belongs to ``splits[split][i]``. ``weights[i]`` says how often the training pair i is
    seen in relation to others; no weights at all means that all are 1.
    """

    splits: Mapping[str, tuple[Pair, ...]]
    ledger: Ledger
    gold: Mapping[str, tuple[GoldAlignment, ...]] = field(default_factory=dict)
    weights: tuple[float, ...] = ()
    validation_was_set_aside: bool = False  # taken from the training pairs: the run folder keeps a copy

    def __post_init__(self) -> None:
        for split, alignments in self.gold.items():
            assert len(alignments) == len(self.splits[split]), f"{split}: one gold alignment a pair is needed"
        training = len(self.splits.get("train", ()))
        assert len(self.weights) in (0, training), "one weight a training pair is needed"


class CorpusPart(Protocol):
    """Settings from which a corpus is made. Law: the same seed gives the same corpus."""

    def load(self, seed: int, ledger: Ledger) -> Corpus: ...
