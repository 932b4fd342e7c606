"""Pictures by reference: a file of its own or one of many in a file, opened only when its pixels are needed."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Self

from regard.data.examples import OneLabelled


class Lines(NamedTuple):
    """How a file is read whose every line is a picture of this shape: a sheet, or a table of pixel values."""

    rows: int
    columns: int
    brightest: int = 255  # the value of white in a table
    label: int = 0  # a table's column of labels, counted from 1; 0: there is none

    @property
    def size(self) -> int:
        return self.rows * self.columns


@dataclass(frozen=True, slots=True)
class Picture:
    """Where a picture is found. Two with the same digest show the same, wherever they are."""

    path: str
    index: int = -1  # its place in a file of many, counted from 0; -1: the file is the picture
    digest: str = field(default="", compare=False)  # of the file, or of the pixels in a file of many
    lines: Lines | None = None  # how a file of many is read; None: it is an idx file

    def __str__(self) -> str:
        return self.path if self.index < 0 else f"{self.path}[{self.index}]"


@dataclass(frozen=True, slots=True)
class LabelledPicture(OneLabelled[Picture]):
    """A picture and the class that it belongs to."""

    def key(self) -> Hashable:
        return self.raw.digest or str(self.raw)

    def record(self) -> dict[str, Any]:
        """Without ``lines`` where there are none, as runs of older versions keep it."""
        fields = asdict(self)
        if self.raw.lines is None:
            del fields["raw"]["lines"]
        return fields

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        fields = dict(record)
        raw = dict(fields.pop("raw"))
        lines = Lines(*raw.pop("lines")) if raw.get("lines") else None
        return cls(Picture(**{key: value for key, value in raw.items() if key != "lines"}, lines=lines), **fields)

