"""Origins: from where forecasts are made, in every series of a split, each with what it may read and must say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.core.errors import DataError
from regard.data.modalities.series.series import SeriesSplit, Window

SHOWN = 5


@dataclass(frozen=True, eq=False)
class Origins(Sequence[Window]):
    """Windows by reference: places_N2 says of each in which series it lies, and the first step that is forecast."""

    parts: Sequence[SeriesSplit]
    places_N2: np.ndarray
    context: int
    horizon: int

    @classmethod
    def of(
        cls, parts: Sequence[SeriesSplit], split: str, context: int, horizon: int, stride: int, channels: Sequence[int]
    ) -> Origins:
        """All windows whose steps ahead lie within a part, as far as something is known before and after; a split
        without any is refused."""
        found = []
        for number, part in enumerate(parts):
            known = np.isfinite(part.series.values_NC[:, channels]).any(axis=1)
            sums = np.concatenate(([0], np.cumsum(known)))
            origins = np.arange(max(part.first, context), part.last - horizon + 1, stride)
            before, after = sums[origins] - sums[origins - context], sums[origins + horizon] - sums[origins]
            origins = origins[(before > 0) & (after > 0)]
            found.append(np.stack((np.full(len(origins), number), origins), axis=1))
        made = cls(parts, np.concatenate(found) if found else np.zeros((0, 2), np.int64), context, horizon)
        if parts and not len(made):
            raise too_short(parts, split, context, horizon)
        return made

    def __len__(self) -> int:
        return len(self.places_N2)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        number, origin = self.places_N2[place].tolist()
        return Window(self.parts[number].series, origin - self.context, origin, self.horizon)


def too_short(parts: Sequence[SeriesSplit], split: str, context: int, horizon: int) -> DataError:
    sizes = ", ".join(
        f"{part.series.name} has {part.last - part.first:,} steps for {split}, and {part.first:,} before"
        for part in parts[:SHOWN]
    )
    return DataError(
        f"nothing can be forecast in the {split} split: {sizes}; task.context = {context} steps with a value in them "
        f"and task.horizon = {horizon} after them are needed. Set shorter ones, or give more data"
    )
