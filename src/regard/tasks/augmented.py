"""Encoded examples that are changed by chance in every epoch, where their modality does that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import numpy as np

from regard.core.batch import Examples
from regard.core.seams.modality import AugmentsEncoded, Modality


class HasItem(Protocol):
    """An example, a named tuple, with an item as its modality encodes it."""

    @property
    def item(self) -> Any: ...

    def _replace(self, **changes: Any) -> Any: ...


AnyItem = TypeVar("AnyItem", bound=HasItem)


class Augmented(Sequence[AnyItem]):
    """Encoded examples, changed by (key, place) when they are asked for."""

    def __init__(self, modality: Modality, encoded: Sequence[AnyItem], key: tuple[int, ...]) -> None:
        self.modality, self.encoded, self.key = modality, encoded, key

    def __len__(self) -> int:
        return len(self.encoded)

    def __getitem__(self, place: Any) -> Any:
        one = self.encoded[place]
        generator = np.random.default_rng((*self.key, int(place)))
        return one._replace(item=self.modality.augment(one.item, generator))


def augmented(examples: Examples, modality: Modality, key: tuple[int, ...]) -> Examples:
    """The examples of an epoch; as they are encoded where the modality changes nothing."""
    if not (isinstance(modality, AugmentsEncoded) and modality.augments):
        return examples
    return replace(examples, items=Augmented(modality, examples.items, key))
