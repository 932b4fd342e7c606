"""A corpus: pairs of texts in named splits, with gold alignments and sampling weights where known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

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


    def training_texts(self, joint: bool) -> tuple[Iterator[str], ...]:
        """What tokenizers are trained on: one stream of texts for both sides, or one for each."""
        pairs = self.splits["train"]
        if joint:
            return ((text for pair in pairs for text in (pair.source, pair.target)),)
        return (pair.source for pair in pairs), (pair.target for pair in pairs)

    def without_training(self) -> Corpus:
        """All that can be scored; encoding the training pairs again would cost more than the scores."""
        kept = {split: pairs for split, pairs in self.splits.items() if split != "train" and pairs}
        gold = {split: alignments for split, alignments in self.gold.items() if split in kept}
        return replace(self, splits=kept, gold=gold, weights=())


class CorpusPart(Protocol):
    """Settings from which a corpus is made, of pairs or of running text. Law: the same seed gives the same corpus."""

    def load(self, seed: int, ledger: Ledger) -> Any: ...
