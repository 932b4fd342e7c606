"""Examples that are more than pairs: a corpus of texts with what is to be said about them, in named splits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from regard.data.ledger import Ledger
from regard.data.texts import HeldText, TextCorpus


class Example(Protocol):
    """Something to learn from. Two with the same ``source`` are the same question; ``line`` and ``origin`` say where
    it was read.
    """

    @property
    def line(self) -> int: ...

    @property
    def origin(self) -> str: ...

    @property
    def source(self) -> str: ...

    @property
    def target(self) -> str: ...

    def texts(self) -> tuple[str, ...]:
        """What a tokenizer has to read."""
        ...


AnyExample = TypeVar("AnyExample", bound=Example)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text, or two of them, and the class that it belongs to; ``group`` names a part of the data to score apart."""

    text: str
    label: str
    second: str = ""
    group: str = ""
    line: int = 0
    origin: str = ""

    @property
    def source(self) -> str:
        return f"{self.text}\t{self.second}" if self.second else self.text

    @property
    def target(self) -> str:
        return self.label

    @property
    def raw(self) -> tuple[str, ...]:
        """What a modality encodes."""
        return self.texts()

    def texts(self) -> tuple[str, ...]:
        return (self.text, self.second) if self.second else (self.text,)


@dataclass(frozen=True, slots=True)
class ExampleCorpus(Generic[AnyExample]):
    """Splits by name: train, validation, test, perhaps more."""

    splits: Mapping[str, tuple[AnyExample, ...]]
    ledger: Ledger
    validation_was_set_aside: bool = False

    def training_texts(self, joint: bool) -> tuple[Iterator[str], ...]:
        """What tokenizers are trained on: one vocabulary."""
        return (text for example in self.splits["train"] for text in example.texts()),

    def without_training(self) -> ExampleCorpus[AnyExample]:
        return replace(self, splits={split: own for split, own in self.splits.items() if split != "train" and own})

    def as_texts(self) -> TextCorpus:
        """The texts alone, each a document, for those who learn a language from them."""
        splits = {
            split: tuple(HeldText(one.origin, text) for one in examples for text in one.texts())
            for split, examples in self.splits.items()
        }
        return TextCorpus(splits, self.ledger, validation_was_set_aside=False)
