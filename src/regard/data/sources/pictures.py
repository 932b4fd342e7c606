"""Labelled pictures: a folder for each class, idx files, or a table of paths and labels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from regard.core.config import Config
from regard.data.ledger import Ledger
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


HAVE_EFFECT = {
    "image": ({PictureSource.TABLE}, "have no columns"),
    "label": ({PictureSource.TABLE}, "have no columns"),
    "classes": ({PictureSource.IDX}, "name their classes themselves"),
    "verify": ({PictureSource.FOLDER, PictureSource.TABLE}, "are always read whole"),
}
"""By key: where it has an effect, and why not elsewhere."""


class PictureColumns(Config):
    """Which columns of a table hold what."""

    image: str = Field(default="image", min_length=1)  # paths, which count from the table's folder
    label: str = Field(default="label", min_length=1)


class PictureEntry(PictureColumns, ExampleEntry):
    """A folder of class folders, an idx file of pictures (its labels are looked for beside it), or a table."""

    def unused(self) -> dict[str, str]:
        return unused_keys([self.file])


class PictureFiles(PictureColumns, ExampleFiles[PictureEntry, Any]):
    """Pictures with their classes; files that cannot be read are skipped, counted and named in the ledger."""

    suffixes: ClassVar[tuple[str, ...]] = TABLE_SUFFIXES
    compressions: ClassVar[tuple[str, ...]] = ()  # idx files are read packed or not, under their own names
    example: ClassVar[str] = "path/to/folder-of-class-folders"

    kind: str = "pictures"
    classes: tuple[str, ...] = ()  # the names of an idx file's labels 0, 1, 2 …; (): the numbers themselves
    verify: Literal["decode", "header"] = "decode"  # how every file is looked at before training

    def unused(self) -> dict[str, str]:
        return {**super().unused(), **unused_keys(self.names())}

    def files_of(self, entry: PictureEntry, key: str) -> Iterator[Found]:
        """A folder is one: its classes belong together."""
        path = self.path(entry.file)
        if path.is_dir():
            yield Found(entry, (path,))
        else:
            yield from super().files_of(entry, key)

    def read(self, found: Found, split: str, ledger: Ledger) -> list[LabelledPicture]:
        from regard.data.modalities.image.reading import PictureOptions, read_pictures  # which need Pillow

        columns = chosen(PictureColumns, self, found.entry)
        options = PictureOptions(columns.image, columns.label, self.classes, self.verify)
        return read_pictures(found.paths[0], split, ledger, options)


def source_of(name: str) -> PictureSource | None:
    """What a name stands for, as far as it tells: a pattern may stand for anything."""
    path = Path(name)
    if suffix(path) in TABLE_SUFFIXES:
        return PictureSource.TABLE
    if "idx" in path.name.lower():  # a folder may be called so; idx files are numbered by their axes
        return PictureSource.IDX if re.search(r"idx\d", path.name.lower()) else None
    return None if is_pattern(path) else PictureSource.FOLDER


def unused_keys(names: Sequence[str]) -> dict[str, str]:
    """Keys that have no effect on any of the files or folders with these names, each with the reason."""
    sources = {source_of(name) for name in names}
    there = [source for source in PictureSource if source in sources]
    if None in sources or not there:
        return {}
    told = " and ".join(source.value for source in there)
    return {key: f"{told} {why}" for key, (where, why) in HAVE_EFFECT.items() if not sources & where}
