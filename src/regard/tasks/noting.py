"""What of a split's inputs is not read as it is, listed in the ledger: cut ones, and those that are corrected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from regard.core.seams.modality import Corrects, Modality
from regard.data.ledger import Ledger


class HasPlace(Protocol):
    """An example that knows where it was read."""

    @property
    def input(self) -> Any: ...

    @property
    def line(self) -> int: ...

    @property
    def origin(self) -> str: ...


def note_changes(
    modality: Modality, examples: Sequence[HasPlace], items: Sequence[Any], split: str, ledger: Ledger
) -> None:
    most, unit = modality.max_length, "tokens" if modality.max_length else "positions"
    reason = f"longer than task.max_length = {most} tokens" if most else f"longer than a {modality.name} may be"
    for one, item in zip(examples, items, strict=True):
        if cut := modality.cut(item):
            ledger.truncate(split, one.origin, one.line, reason, f"{cut} {unit} were cut")
        if isinstance(modality, Corrects) and (told := modality.correction(one.input)):
            ledger.correct(split, one.origin, one.line, told, str(one.input))
