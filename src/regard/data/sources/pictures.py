"""Labelled pictures: a folder for each class, idx files, sheets, tables of paths and labels, tables of pixel values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from regard.core.config import Config
from regard.data.ledger import Ledger
from regard.data.sources.columns import columns_problem
from regard.data.sources.entries import ExampleEntry, chosen, is_pattern
from regard.data.sources.example_files import ExampleFiles
from regard.data.sources.files import Found
from regard.data.tables import TABLE_SUFFIXES, suffix

if TYPE_CHECKING:
    from regard.data.modalities.image.pictures import LabelledPicture


class PictureSource(Enum):
    """What holds labelled pictures, and how that is called."""

    FOLDER = "folders for each class"
    IDX = "idx files"
    TABLE = "tables"
    SHEET = "sheets"
    VALUES = "tables of pixel values"


HAVE_EFFECT = {
    "image": ({PictureSource.TABLE}, "have no column of paths"),
    "label": ({PictureSource.TABLE, PictureSource.VALUES}, "have no columns"),
    "classes": (
        {PictureSource.IDX, PictureSource.SHEET, PictureSource.VALUES}, "name their classes themselves",
    ),
    "verify": ({PictureSource.FOLDER, PictureSource.TABLE}, "are always read whole"),
    "labels": ({PictureSource.SHEET}, "bring their labels along"),
    "brightest": ({PictureSource.VALUES}, "hold bytes, of which 255 is white"),
}  # fmt: skip
"""By key: where it has an effect, and why not elsewhere."""


class PictureColumns(Config):
    """Which columns of a table hold what, and what the lines of a file are where each is a picture."""

    image: int | str = "image"  # paths, which count from the table's folder
    label: int | str = "label"
    shape: tuple[int, ...] = ()  # rows and columns of a picture, where every line of a file is one: of a sheet, a table
    brightest: int = Field(default=255, ge=1)  # the value of white in a table of pixel values

    @model_validator(mode="after")
    def _is_a_shape(self) -> Self:
        if self.shape and (len(self.shape) != 2 or min(self.shape) < 1):
            raise ValueError(f"shape = {list(self.shape)} is no picture's; give rows and columns, as in [32, 32]")
        problem = columns_problem({"image": self.image, "label": self.label})
        if problem and not self.shape:
            raise ValueError(problem)
        return self


class PictureEntry(PictureColumns, ExampleEntry):
    """A folder of class folders, an idx file of pictures (its labels are looked for beside it), a sheet whose labels
    stand in the file ``labels``, or a table."""

    labels: str = ""

    def names(self) -> dict[str, str]:
        return {**super().names(), **({"labels": self.labels} if self.labels else {})}

    def unused(self) -> dict[str, str]:
        if not self.shape:  # the table around it may say so
            return unused_keys({source_of(self.file)}, but=("labels", "brightest", "classes"))
        return unused_keys({source_of(self.file, self.shape)})


class PictureFiles(PictureColumns, ExampleFiles[PictureEntry, Any]):
    """Pictures with their classes; files that cannot be read are skipped, counted and named in the ledger."""

    suffixes: ClassVar[tuple[str, ...]] = TABLE_SUFFIXES
    compressions: ClassVar[tuple[str, ...]] = ()  # idx files are read packed or not, under their own names
    example: ClassVar[str] = "path/to/folder-of-class-folders"

    kind: str = "pictures"
    classes: tuple[str, ...] = ()  # the names of labels 0, 1, 2 …; (): the numbers themselves
    verify: Literal["decode", "header"] = "decode"  # how every file is looked at before training

    def unused(self) -> dict[str, str]:
        entries = [entry for entries in self.named().values() for entry in entries]
        sources = {source_of(one.file, one.shape if "shape" in one.model_fields_set else self.shape) for one in entries}
        unused = {**super().unused(), **unused_keys(sources, but=("labels",))}
        idle = [entry.labels for entry in entries if entry.labels]
        if idle and None not in sources and PictureSource.SHEET not in sources:
            unused["train"] = f"its labels = {idle[0]!r} is for sheets: set data.shape where each line is a picture"
        lined = {PictureSource.SHEET, PictureSource.VALUES, None}
        if self.shape and sources and not sources & lined:
            unused["shape"] = f"it is for files whose every line is a picture, and {named_sources(sources)} are named"
        return unused

    def files_of(self, entry: PictureEntry, key: str) -> Iterator[Found[PictureEntry]]:
        """A folder is one: its classes belong together. So are the sheets whose labels stand in one file."""
        path = self.path(entry.file)
        if path.is_dir():
            yield Found(entry, (path,))
        elif entry.labels:
            yield Found(entry, (self.path(entry.labels), *self.paths(entry.file, key)))
        else:
            yield from super().files_of(entry, key)

    def read(self, found: Found[PictureEntry], split: str, ledger: Ledger) -> list[LabelledPicture]:
        from regard.data.modalities.image.reading import (  # which need Pillow
            PictureOptions,
            read_lined_pictures,
            read_pictures,
        )

        columns = chosen(PictureColumns, self, found.entry)
        options = PictureOptions(
            columns.image, columns.label, self.classes, self.verify, columns.shape, columns.brightest
        )
        if found.entry.labels:
            labels, *files = found.paths
            return read_lined_pictures(files, labels, split, ledger, options)
        return read_pictures(found.paths[0], split, ledger, options)


def source_of(name: str, shape: Sequence[int] = ()) -> PictureSource | None:
    """What a name stands for, as far as it tells: a pattern may stand for anything."""
    path = Path(name)
    if shape and suffix(path):
        return PictureSource.VALUES if suffix(path) in TABLE_SUFFIXES else PictureSource.SHEET
    if suffix(path) in TABLE_SUFFIXES:
        return PictureSource.TABLE
    if "idx" in path.name.lower():  # a folder may be called so; idx files are numbered by their axes
        return PictureSource.IDX if re.search(r"idx\d", path.name.lower()) else None
    return None if is_pattern(path) else PictureSource.FOLDER


def unused_keys(sources: set[PictureSource | None], but: Sequence[str] = ()) -> dict[str, str]:
    """Keys that have no effect on any of these sources, each with the reason."""
    if None in sources or not sources:
        return {}
    effects: Mapping[str, Any] = {key: own for key, own in HAVE_EFFECT.items() if key not in but}
    return {key: f"{named_sources(sources)} {why}" for key, (where, why) in effects.items() if not sources & where}


def named_sources(sources: set[PictureSource | None]) -> str:
    return " and ".join(source.value for source in PictureSource if source in sources)
