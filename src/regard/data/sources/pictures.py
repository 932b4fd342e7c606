"""Labelled pictures: a folder for each class, idx files, or a table of paths and labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from regard.core.config import Config
from regard.data.ledger import Ledger
from regard.data.sources.entries import ExampleEntry, chosen
from regard.data.sources.example_files import ExampleFiles
from regard.data.sources.files import Found
from regard.data.tables import TABLE_SUFFIXES

if TYPE_CHECKING:
    from regard.data.modalities.image.pictures import LabelledPicture


class PictureColumns(Config):
    """Which columns of a table hold what."""

    image: str = Field(default="image", min_length=1)  # paths, which count from the table's folder
    label: str = Field(default="label", min_length=1)


class PictureEntry(PictureColumns, ExampleEntry):
    """A folder of class folders, an idx file of pictures (its labels are looked for beside it), or a table."""


class PictureFiles(PictureColumns, ExampleFiles[PictureEntry, Any]):
    """Pictures with their classes; files that cannot be read are skipped, counted and named in the ledger."""

    suffixes: ClassVar[tuple[str, ...]] = TABLE_SUFFIXES
    compressions: ClassVar[tuple[str, ...]] = ()  # idx files are read packed or not, under their own names
    example: ClassVar[str] = "path/to/folder-of-class-folders"

    kind: str = "pictures"
    classes: tuple[str, ...] = ()  # the names of an idx file's labels 0, 1, 2 …; (): the numbers themselves
    verify: Literal["decode", "header"] = "decode"  # how every file is looked at before training

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
