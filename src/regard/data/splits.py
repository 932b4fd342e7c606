"""Splits kept apart: a validation split where none is given, and pairs that stand twice or in two splits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np

from regard.core.errors import DataError
from regard.data.corpus import Pair
from regard.data.ledger import Ledger

Overlap = Literal["warn", "remove"]
LARGEST_SHARE = 10


def arrange(
    splits: Mapping[str, Sequence[Pair]], validation_size: int, overlap: Overlap, seed: int, ledger: Ledger
) -> tuple[dict[str, list[Pair]], bool]:
    """The splits with all that must be known of them in the ledger, and whether validation was set aside from training.

    It is where there are no validation pairs and ``validation_size`` asks for some. Splits without pairs go.
    """
    made = {split: list(pairs) for split, pairs in splits.items()}
    note_duplicates("train", made["train"], ledger)
    setting_aside = not made["validation"] and validation_size > 0
    if setting_aside:
        made["train"], made["validation"] = set_aside(made["train"], validation_size, seed, ledger)
    made = {split: pairs for split, pairs in made.items() if pairs}
    ledger.splits.update({split: len(pairs) for split, pairs in made.items()})
    made = keep_apart(made, overlap, ledger)
    ledger.check()
    return made, setting_aside


def set_aside(pairs: Sequence[Pair], size: int, seed: int, ledger: Ledger) -> tuple[list[Pair], list[Pair]]:
    """Training and validation pairs, at most ``size`` and at most a tenth of all in the second.

    All pairs of one source go the same way, so that no sentence stands in both.
    """
    chosen = _choose(pairs, min(size, len(pairs) // LARGEST_SHARE), seed)
    if not chosen:
        different = len({pair.source for pair in pairs})
        raise DataError(
            f"{len(pairs)} training pairs with {different} different sources are too few to set a tenth "
            "aside for validation; name validation files, or do without with --set data.validation_size=0"
        )
    for index in chosen:
        ledger.move("train", "validation", pairs[index].origin)
    ledger.notes.append(
        f"{len(chosen)} of {len(pairs)} training pairs were set aside for validation (seed {seed}), "
        "since no validation files are named"
    )
    return (
        [pair for index, pair in enumerate(pairs) if index not in chosen],
        [pair for index, pair in enumerate(pairs) if index in chosen],
    )


def _choose(pairs: Sequence[Pair], room: int, seed: int) -> set[int]:
    by_source: dict[str, list[int]] = {}
    for index, pair in enumerate(pairs):
        by_source.setdefault(pair.source, []).append(index)
    groups = list(by_source.values())
    chosen: set[int] = set()
    for group in np.random.default_rng(seed).permutation(len(groups)):
        if len(chosen) + len(groups[group]) <= room:
            chosen.update(groups[group])
        if len(chosen) == room:
            break
    return chosen


def note_duplicates(split: str, pairs: Iterable[Pair], ledger: Ledger) -> None:
    """Names in the ledger every pair that stands earlier in the same split."""
    first: dict[tuple[str, str], Pair] = {}
    for pair in pairs:
        before = first.setdefault((pair.source, pair.target), pair)
        if before is not pair:
            reason = "same source and target as earlier"
            ledger.duplicate(split, pair.origin, pair.line, reason, _place(before))


def keep_apart(
    splits: Mapping[str, Sequence[Pair]], overlap: Overlap, ledger: Ledger
) -> dict[str, list[Pair]]:
    """Names in the ledger what stands in two splits; with "remove" it leaves the training split."""
    kept = {split: list(pairs) for split, pairs in splits.items()}
    names = list(kept)
    for earlier, split in enumerate(names):
        for other in names[earlier + 1 :]:
            removing = split == "train" and overlap == "remove"
            kept[split] = _compare(split, kept[split], other, kept[other], removing, ledger)
    return kept


def _compare(
    split: str, pairs: list[Pair], other: str, others: list[Pair], removing: bool, ledger: Ledger
) -> list[Pair]:
    """The pairs of a split that stay in it, after each was looked up in another split."""
    whole = {(pair.source, pair.target): pair for pair in reversed(others)}
    sources = {pair.source: pair for pair in reversed(others)}
    stay = []
    for pair in pairs:
        twin = whole.get((pair.source, pair.target))
        found = twin or sources.get(pair.source)
        if found is not None:
            reason = f"{'source and target stand' if twin else 'the source stands'} also in {other}"
            ledger.overlap(split, pair.origin, pair.line, reason, _place(found))
            if removing:
                ledger.drop(split, pair.origin, pair.line, reason, _place(found))
                continue
        stay.append(pair)
    return stay


def _place(pair: Pair) -> str:
    return f"{pair.origin} line {pair.line}"
