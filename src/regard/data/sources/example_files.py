"""Makes a corpus of examples from files: weights, duplicates, validation and test splits."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, Self

from pydantic import Field, model_validator

from regard.core.errors import DataError
from regard.data.corpus import Corpus
from regard.data.examples import AnyExample
from regard.data.ledger import Ledger
from regard.data.sources.entries import AnyExampleEntry
from regard.data.sources.files import FileData, Found
from regard.data.splits import Overlap, arrange, note_duplicates

SHOWN = 10


class ExampleFiles(FileData[AnyExampleEntry], Generic[AnyExampleEntry, AnyExample]):
    """Files of examples. Where none are named for validation (or test), some training examples are set aside for it."""

    dividing: ClassVar[tuple[str, ...]] = ("validation_size", "test_size", "overlap", "rows")

    validation_size: int = Field(default=1000, ge=0)  # how many at most, and at most a tenth
    test_size: int = Field(default=0, ge=0)  # the same for a test split
    overlap: Overlap = "warn"

    def unused(self) -> dict[str, str]:
        unused = super().unused()
        sizes = {"validation": self.validation_size, "test": self.test_size}
        for split in sizes.keys() & self.named().keys():
            if sizes[split]:
                unused[f"{split}_size"] = f"it says how many examples are set aside, and data.{split} names files"
        if self.train and len(self.named()) == 1:
            unused["overlap"] = "no split but data.train is named"
        return unused

    @model_validator(mode="after")
    def _weights_are_for_training(self) -> Self:
        unused = [
            f"data.{key}"
            for key, entries in self.named().items()
            if key != "train" and any("weight" in entry.model_fields_set for entry in entries)
        ]
        if unused:
            raise ValueError(
                f"weight has no effect on {', '.join(unused)}: weights say how often training examples are seen; leave "
                "it out"
            )
        return self

    @abstractmethod
    def read(self, found: Found[AnyExampleEntry], split: str, ledger: Ledger) -> Sequence[AnyExample]:
        """The examples of one file, or of two that belong together; what is skipped is listed in the ledger."""

    def load(self, seed: int, ledger: Ledger) -> Corpus[AnyExample]:
        found = self.found()
        check_listed_once(found)
        splits: dict[str, list[AnyExample]] = {}
        for split, files in found.items():
            splits[split] = [example for one in files for example in self.read(one, split, ledger)]
        if not splits["train"]:
            raise nothing_in([one.paths[0] for one in found["train"]], ledger, "train on", "check data.train")
        return arrange(
            splits, ledger, seed=seed, validation_size=self.validation_size, test_size=self.test_size,
            overlap=self.overlap, weights={str(one.paths[0]): one.entry.weight for one in found["train"]},
        )  # fmt: skip

    def load_test(self, split: str, ledger: Ledger) -> Corpus[AnyExample]:
        files = self.files()["test"]
        examples = [example for one in files for example in self.read(one, split, ledger)]
        if not examples:
            raise nothing_in([one.paths[0] for one in files], ledger, "score", "give files with examples")
        note_duplicates(split, examples, ledger)
        ledger.splits[split] = len(examples)
        ledger.check()
        return Corpus({split: tuple(examples)}, ledger)


def nothing_in(paths: Sequence[Path], ledger: Ledger, verb: str, remedy: str) -> DataError:
    reasons = "; ".join(f"line {one.line}: {one.reason}" for one in ledger.exceptions[:SHOWN])
    names = ", ".join(str(path) for path in paths[:SHOWN])
    return DataError(f"there is nothing to {verb} in {names} ({reasons or 'empty'}); {remedy}")


def check_listed_once(found: Mapping[str, Sequence[Found[Any]]]) -> None:
    """Lines and weights are known by their first file, so that one must belong to one entry of a split."""
    for split, files in found.items():
        seen: dict[Path, Found[Any]] = {}
        for one in files:
            first, *others = one.paths
            before = seen.setdefault(first, one)
            if before is one:
                continue
            if before.paths == one.paths:
                raise DataError(f"{first} is listed twice for {split}; list it once and give it a weight")
            raise DataError(
                f"{first} is the source of two entries of {split}, with {before.paths[1]} and with {others[0]}; its "
                "lines could not be distinguished: give it a second name (a link will do) for one of them"
            )
