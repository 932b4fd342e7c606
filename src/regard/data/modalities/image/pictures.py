"""Pictures by reference: a file of its own or one of many in an idx file, opened only when its pixels are needed."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from regard.data.examples import OfClass, Recorded


@dataclass(frozen=True, slots=True)
class Picture:
    """Where a picture is found. Two with the same digest show the same, wherever they are."""

    path: str
    index: int = -1  # its place in an idx file, counted from 0; -1: the file is the picture
    digest: str = field(default="", compare=False)  # of the file, or of the pixels in an idx file

    def __str__(self) -> str:
        return self.path if self.index < 0 else f"{self.path}[{self.index}]"


@dataclass(frozen=True, slots=True)
class LabelledPicture(Recorded, OfClass):
    """A picture and the class that it belongs to; ``line`` is its place in ``origin``, counted from 1."""

    raw: Picture
    label: str
    group: str = ""
    line: int = 0
    origin: str = ""

    @property
    def input(self) -> Picture:
        return self.raw

    @property
    def source(self) -> str:
        return str(self.raw)

    def key(self) -> Hashable:
        return self.raw.digest or str(self.raw)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        fields = dict(record)
        return cls(Picture(**fields.pop("raw")), **fields)

