"""How many examples are set aside for validation and testing where no files are named for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from regard.data.discovery.found import numbered
from regard.data.discovery.given import TEST, TRAIN, VALIDATION

MOST = 1000
SHARE = 10  # at most a tenth
FEWEST_INPUTS = 20  # different ones; with fewer, no tenth could be taken without dividing equal ones


class SetAside(NamedTuple):
    """The keys of [data] that say it, the examples of all splits after it, and why."""

    table: Mapping[str, Any]
    examples: Mapping[str, int]
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]


def set_aside(counts: Mapping[str, int], inputs: int) -> SetAside:
    """``counts`` are the examples of the splits that have files, ``inputs`` the different ones for training."""
    table: dict[str, Any] = {}
    examples = dict(counts)
    wanted = [split for split in (TEST, VALIDATION) if split not in counts]
    if wanted and inputs < FEWEST_INPUTS:
        told = " and ".join(reversed(wanted))
        none = {f"{split}_size": 0 for split in wanted if split == VALIDATION}
        warning = (
            f"{numbered(inputs, 'different training example')}: too few to set some aside for {told}, so nothing will "
            "tell how well new ones are answered; give more, or files for it"
        )
        return SetAside(none, examples, (), (warning,))
    reasons = []
    for split in wanted:
        size = min(MOST, examples[TRAIN] // SHARE)
        table[f"{split}_size"] = size
        examples[TRAIN] -= size
        examples[split] = size
        told = f"{numbered(size, 'example')} of {counts[TRAIN]:,} set aside for it"
        reasons.append(f"no file is named for {split}: {told}")
    order = [name for name in (TRAIN, VALIDATION, TEST, *examples) if name in examples]
    return SetAside(table, {name: examples[name] for name in dict.fromkeys(order)}, tuple(reasons), ())
