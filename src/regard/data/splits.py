"""Keeps splits apart: sets aside validation and test examples, and finds duplicates within and between splits."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

import numpy as np

from regard.core.errors import DataError
from regard.data.corpus import Corpus
from regard.data.examples import AnyExample, Example
from regard.data.ledger import Ledger

Overlap = Literal["warn", "remove"]
LARGEST_SHARE = 10
ALL_ALIKE: Mapping[str, float] = MappingProxyType({})


def arrange(
    splits: Mapping[str, Sequence[AnyExample]],
    ledger: Ledger,
    *,
    seed: int = 0,
    validation_size: int = 0,
    test_size: int = 0,
    overlap: Overlap = "warn",
    weights: Mapping[str, float] = ALL_ALIKE,
) -> Corpus[AnyExample]:
    """A corpus of splits as they were read, with all that must be known of them in the ledger.

    Where there are no test examples and ``test_size`` asks for some, they are set aside from training, and then
    validation examples in the same way. No training example has the same input as one that was set aside.
    Splits without examples are left out. ``weights`` are those of training files, by the origin of their examples.
    """
    made = {split: list(splits.get(split, ())) for split in ("train", "validation", "test")}
    made |= {split: list(own) for split, own in splits.items() if split not in made}
    note_duplicates("train", made["train"], ledger)
    sizes = {"test": test_size, "validation": validation_size}
    aside = [split for split, size in sizes.items() if size > 0 and not made[split]]
    for split in aside:
        made["train"], made[split] = set_aside(made["train"], split, sizes[split], seed, ledger)
    made = {split: own for split, own in made.items() if own}
    ledger.splits.update({split: len(own) for split, own in made.items()})
    made = check_overlap(made, overlap, ledger)
    ledger.check()
    even = set(weights.values()) <= {1.0}
    return Corpus(
        {split: tuple(own) for split, own in made.items()},
        ledger,
        weights=() if even else tuple(weights[one.origin] for one in made["train"]),
        set_aside=tuple(aside),
    )


def gathered(
    splits: Mapping[str, Sequence[AnyExample]], origin: str, ledger: Ledger
) -> dict[str, tuple[AnyExample, ...]]:
    """Splits of examples that were generated, not read, counted in the ledger; those without examples are left out."""
    made = {split: tuple(own) for split, own in splits.items() if own}
    for split, own in made.items():
        ledger.record(split, origin, read=len(own), kept=len(own))
    ledger.splits.update({split: len(own) for split, own in made.items()})
    ledger.check()
    return made


def set_aside(
    examples: Sequence[AnyExample], split: str, size: int, seed: int, ledger: Ledger
) -> tuple[list[AnyExample], list[AnyExample]]:
    """Training examples and those of another split, at most ``size`` and at most a tenth of all.

    All examples with one key go the same way, so that none is in both.
    """
    most = len(examples) // LARGEST_SHARE
    chosen = _choose(examples, min(size, most), seed)
    if not chosen:
        different = len({one.key() for one in examples})
        raise DataError(
            f"{len(examples)} training examples with {different} different inputs are too few to set a tenth "
            f"aside for {split}; name {split} files, or do without with --set data.{split}_size=0"
        )
    for index in chosen:
        ledger.move("train", split, examples[index].origin)
    ledger.notes.append(
        f"{len(chosen)} of {len(examples)} training examples were set aside for {split} (seed {seed}), "
        f"since no {split} files are named"
        + (f"; a tenth at most, so not the {size:,} of data.{split}_size" if size > most else "")
    )
    return (
        [one for index, one in enumerate(examples) if index not in chosen],
        [one for index, one in enumerate(examples) if index in chosen],
    )


def _choose(examples: Sequence[Example], room: int, seed: int) -> set[int]:
    by_key: dict[Hashable, list[int]] = {}
    for index, one in enumerate(examples):
        by_key.setdefault(one.key(), []).append(index)
    groups = list(by_key.values())
    chosen: set[int] = set()
    for group in np.random.default_rng(seed).permutation(len(groups)):
        if len(chosen) + len(groups[group]) <= room:
            chosen.update(groups[group])
        if len(chosen) == room:
            break
    return chosen


def note_duplicates(split: str, examples: Iterable[Example], ledger: Ledger) -> None:
    """Names in the ledger every example that is there earlier in the same split."""
    first: dict[Hashable, Example] = {}
    for one in examples:
        before = first.setdefault((one.key(), one.answer()), one)
        if before is not one:
            reason = "the same as an earlier example"
            ledger.duplicate(split, one.origin, one.line, reason, ledger.place(before.origin, before.line))


def check_overlap(
    splits: Mapping[str, Sequence[AnyExample]], overlap: Overlap, ledger: Ledger
) -> dict[str, list[AnyExample]]:
    """Names in the ledger what is in two splits; with "remove" it leaves the training split."""
    kept = {split: list(own) for split, own in splits.items()}
    names = list(kept)
    for earlier, split in enumerate(names):
        for other in names[earlier + 1 :]:
            removing = split == "train" and overlap == "remove"
            kept[split] = _compare(split, kept[split], other, kept[other], removing, ledger)
    return kept


def _compare(
    split: str, examples: list[AnyExample], other: str, others: list[AnyExample], removing: bool, ledger: Ledger
) -> list[AnyExample]:
    """The examples of a split that stay in it, after each was looked up in another split."""
    whole = {(one.key(), one.answer()): one for one in reversed(others)}
    keys = {one.key(): one for one in reversed(others)}
    stay = []
    for one in examples:
        twin = whole.get((one.key(), one.answer()))
        found = twin or keys.get(one.key())
        if found is not None:
            reason = f"also in {other}" if twin else f"also in {other}, with another answer"
            place = ledger.place(found.origin, found.line)
            ledger.overlap(split, one.origin, one.line, reason, place)
            if removing:
                ledger.drop(split, one.origin, one.line, reason, place)
                continue
        stay.append(one)
    return stay
