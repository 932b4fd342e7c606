"""A corpus: examples in named splits, with gold alignments and sampling weights where known."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, Self

from regard.core.errors import DataError
from regard.data.examples import AnyExample, HasTexts, Recorded
from regard.data.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Pair(Recorded):
    """A source and its target; ``line`` (from 1) and ``origin`` say where they were read."""

    source: str
    target: str
    line: int = 0
    origin: str = ""

    def key(self) -> Hashable:
        return self.source

    def answer(self) -> Hashable:
        return self.target

    def sides(self) -> tuple[Iterable[str], ...]:
        return (self.source,), (self.target,)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        return cls(**record)


@dataclass(frozen=True, slots=True)
class GoldAlignment:
    """Which source word belongs to which target word: links (source, target); sure ones are possible too."""

    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    sure: frozenset[tuple[int, int]]
    possible: frozenset[tuple[int, int]]


class Method(Protocol):
    """A simple method for data of one kind, which a model should be better than: it answers texts to raw inputs.

    Law: it is fitted on training examples alone, and the same ones give the same method.
    """

    def fit(self, inputs: Sequence[Any], targets: Sequence[str]) -> Callable[[Any], str]: ...

    def fitted_on(self, examples: int) -> str:
        """What of so many training examples it learned from, in words."""
        ...


@dataclass(frozen=True, slots=True)
class Corpus(Generic[AnyExample]):
    """Splits by name: train, validation, test, perhaps more. A split is any sequence, so it may decode its examples as
    they are asked for.

    ``gold[split][i]`` belongs to ``splits[split][i]``. ``weights[i]`` says how often the training example i is seen in
    relation to others; no weights at all means that all are 1. ``methods`` are those that are known for such data.
    """

    splits: Mapping[str, Sequence[AnyExample]]
    ledger: Ledger
    gold: Mapping[str, tuple[GoldAlignment, ...]] = field(default_factory=dict)
    weights: tuple[float, ...] = ()
    set_aside: tuple[str, ...] = ()  # splits taken from the training examples: the run folder keeps a copy of them
    methods: Mapping[str, Method] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for split, alignments in self.gold.items():
            assert len(alignments) == len(self.splits[split]), f"{split}: one gold alignment a pair is needed"
        training = len(self.splits.get("train", ()))
        assert len(self.weights) in (0, training), "one weight a training example is needed"

    def training_texts(self, joint: bool) -> tuple[Iterator[str], ...]:
        """What tokenizers are trained on: one stream of texts for all, or where examples have two sides and the
        vocabulary is not joint, one for each."""
        examples = check_have_texts(self.splits["train"])
        sides = len(examples[0].sides()) if examples else 1
        if joint or sides == 1:
            return ((text for example in examples for side in example.sides() for text in side),)
        return tuple(one_side(examples, side) for side in range(sides))

    def without_training(self) -> Self:
        """All that can be scored; encoding the training examples again would cost more than the scores."""
        kept = {split: own for split, own in self.splits.items() if split != "train" and own}
        gold = {split: alignments for split, alignments in self.gold.items() if split in kept}
        return replace(self, splits=kept, gold=gold, weights=())


def one_side(examples: Sequence[HasTexts], side: int) -> Iterator[str]:
    return (text for example in examples for text in example.sides()[side])


def check_have_texts(examples: Sequence[Any]) -> Sequence[HasTexts]:
    """The same examples, after a look at the first of them."""
    if examples and not isinstance(examples[0], HasTexts):
        raise DataError(
            f"a tokenizer learns from texts, and these examples ({type(examples[0]).__name__}) have none; choose data "
            "with texts for this task"
        )
    return examples
