"""Clips by reference, whose frames are opened only when they are needed; and the class that a clip belongs to."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from regard.core.errors import DataError
from regard.data.examples import OneLabelled
from regard.data.modalities.image.pictures import Picture


@runtime_checkable
class Clip(Protocol):
    """Pictures one after the other, all of one size.

    Law: ``frames(places)`` gives a picture for each place from 0 to ``count`` − 1, always the same.
    """

    @property
    def count(self) -> int: ...

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns of a frame."""
        ...

    def frames(self, places: Sequence[int]) -> Sequence[Picture | np.ndarray]: ...

    def record(self) -> dict[str, Any]:
        """As a run folder keeps it, where it can be kept."""
        ...


@dataclass(frozen=True, slots=True)
class FrameFolder:
    """Files in the order of their numbers. Two with the same digest show the same."""

    path: str
    names: tuple[str, ...]
    rows: int
    columns: int
    digest: str = field(default="", compare=False)

    def __str__(self) -> str:
        return self.path

    @property
    def count(self) -> int:
        return len(self.names)

    @property
    def size(self) -> tuple[int, int]:
        return self.rows, self.columns

    def frames(self, places: Sequence[int]) -> list[Picture]:
        return [Picture(f"{self.path}/{self.names[place]}") for place in places]

    def record(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Frames:
    """Frames that are there already: pixels_THW or pixels_THWC, bytes."""

    pixels_THWC: np.ndarray

    def __post_init__(self) -> None:
        pixels = self.pixels_THWC
        if pixels.dtype != np.uint8 or pixels.ndim not in (3, 4) or not pixels.size:
            raise DataError(
                f"an array of shape {pixels.shape} of {pixels.dtype} is not a clip; bytes of frames × rows × columns "
                "are expected, with channels as a last axis or without"
            )

    def __str__(self) -> str:
        return "a clip"

    @property
    def count(self) -> int:
        return len(self.pixels_THWC)

    @property
    def size(self) -> tuple[int, int]:
        return self.pixels_THWC.shape[1], self.pixels_THWC.shape[2]

    def frames(self, places: Sequence[int]) -> list[np.ndarray]:
        return [self.pixels_THWC[place] for place in places]

    def record(self) -> dict[str, Any]:
        raise DataError("frames are not kept in a run folder; name folders of them")


@dataclass(frozen=True, slots=True)
class LabelledClip(OneLabelled[Any]):
    """A clip and the class that it belongs to."""

    def key(self) -> Hashable:
        return self.raw.digest or self.raw.path if isinstance(self.raw, FrameFolder) else self.raw

    def record(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in ("label", "group", "line", "origin")}
        return {"raw": self.raw.record(), **own}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        fields = dict(record)
        raw = dict(fields.pop("raw"))
        return cls(FrameFolder(**{**raw, "names": tuple(raw["names"])}), **fields)
