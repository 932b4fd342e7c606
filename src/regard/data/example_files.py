"""From files, or from the small world, to a corpus of examples: splits, duplicates, a validation split set aside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from regard.core.config import Part
from regard.core.errors import DataError
from regard.data.examples import AnyExample, ExampleCorpus
from regard.data.ledger import Ledger
from regard.data.readers import find_file, missing_files
from regard.data.splits import Overlap, keep_apart, note_duplicates, set_aside

WORLD = "small-world"


class SplitFiles(Part):
    """A file for each split. Where none is named for validation, a part of the training examples is set aside."""

    train: str = ""
    validation: str = ""
    test: str = ""
    validation_size: int = Field(default=1000, ge=0)
    overlap: Overlap = "warn"

    def paths(self) -> dict[str, Path]:
        if not self.train:
            raise DataError(
                f"data kind {self.kind!r} needs a file to train on: --set data.train=path/to/file (and data.validation "
                "and data.test where you have them)"
            )
        named = {"train": self.train, "validation": self.validation, "test": self.test}
        found = {split: find_file(Path(name).expanduser()) for split, name in named.items() if name}
        missing = [path for path in found.values() if not path.is_file()]
        if missing:
            raise missing_files(missing, "Check data.train, data.validation and data.test")
        return found

    def gather(
        self, read: Callable[[Path, str], Sequence[AnyExample]], seed: int, ledger: Ledger
    ) -> ExampleCorpus[AnyExample]:
        """All splits, what ``read`` makes of each file."""
        splits: dict[str, list[Any]] = {"train": [], "validation": []}
        for split, path in self.paths().items():
            splits[split] = list(read(path, split))
        return divided(splits, self.validation_size, self.overlap, seed, ledger)


def divided(
    splits: dict[str, list[Any]], validation_size: int, overlap: Overlap, seed: int, ledger: Ledger
) -> ExampleCorpus[Any]:
    """Splits as they were read become splits that are kept apart; what stands twice is named in the ledger."""
    if not splits["train"]:
        raise DataError("there is nothing to train on: every row was empty; check data.train and the names of columns")
    note_duplicates("train", splits["train"], ledger)
    setting_aside = not splits["validation"] and validation_size > 0
    if setting_aside:
        splits["train"], splits["validation"] = set_aside(splits["train"], validation_size, seed, ledger)
    splits = {split: own for split, own in splits.items() if own}
    ledger.splits.update({split: len(own) for split, own in splits.items()})
    kept = keep_apart(splits, overlap, ledger)
    ledger.check()
    return ExampleCorpus({split: tuple(own) for split, own in kept.items()}, ledger, setting_aside)


class WorldPart(Part):
    """How many sentences of the small world stand in each split; made, not read."""

    train: int = Field(default=20_000, ge=1)
    validation: int = Field(default=500, ge=1)
    test: int = Field(default=500, ge=0)
    compositional: int = Field(default=500, ge=0)

    def gather(
        self, make: Callable[[Any, int], Iterable[AnyExample]], seed: int, ledger: Ledger
    ) -> ExampleCorpus[AnyExample]:
        """What ``make`` finds in each sentence, which comes with its number."""
        from regard.data.world import splits as draw  # the grammar is only built where it is wanted

        world = draw(self.train, self.validation, self.test, self.compositional, seed)
        splits: dict[str, tuple[AnyExample, ...]] = {}
        for split in ("train", "validation", "test", "compositional"):
            made = [one for line, pair in enumerate(getattr(world, split), start=1) for one in make(pair, line)]
            if made:
                splits[split] = tuple(made)
                ledger.record(split, WORLD, read=len(made), kept=len(made))
        ledger.splits.update({split: len(own) for split, own in splits.items()})
        ledger.check()
        return ExampleCorpus(splits, ledger)
