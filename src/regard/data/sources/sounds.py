"""Sounds from files: with their classes, in a folder for each or in a table; or with what is said, in a table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from regard.core.config import Config
from regard.data.ledger import Ledger
from regard.data.sources.entries import ExampleEntry, chosen, is_pattern
from regard.data.sources.example_files import ExampleFiles
from regard.data.sources.files import Found
from regard.data.tables import TABLE_SUFFIXES, suffix

if TYPE_CHECKING:
    from regard.data.modalities.audio.sounds import LabelledSound, SpokenText


class SoundColumns(Config):
    """Which columns of a table hold what."""

    sound: str = Field(default="sound", min_length=1)  # paths, which count from the table's folder
    label: str = Field(default="label", min_length=1)


class SoundEntry(SoundColumns, ExampleEntry):
    """A folder of class folders, or a table."""

    def unused(self) -> dict[str, str]:
        return unused_columns([self.file])


class SoundFiles(SoundColumns, ExampleFiles[SoundEntry, Any]):
    """Sounds with their classes; files that cannot be read or heard are skipped, counted and named in the ledger."""

    suffixes: ClassVar[tuple[str, ...]] = TABLE_SUFFIXES
    compressions: ClassVar[tuple[str, ...]] = ()
    example: ClassVar[str] = "path/to/folder-of-class-folders"

    kind: str = "sounds"

    def unused(self) -> dict[str, str]:
        return {**super().unused(), **unused_columns(self.names())}

    def files_of(self, entry: SoundEntry, key: str) -> Iterator[Found]:
        """A folder is one: its classes belong together."""
        path = self.path(entry.file)
        if path.is_dir():
            yield Found(entry, (path,))
        else:
            yield from super().files_of(entry, key)

    def read(self, found: Found, split: str, ledger: Ledger) -> list[LabelledSound]:
        from regard.data.modalities.audio.reading import in_class_folders, in_table, labelled

        columns, path = chosen(SoundColumns, self, found.entry), found.paths[0]
        if path.is_dir():
            files = in_class_folders(path, ledger)
        else:
            files = in_table(path, (columns.sound, columns.label), split, ledger)
        return labelled(files, str(path), split, ledger)


class SpeechColumns(Config):
    """Which columns of a table hold what."""

    sound: str = Field(default="sound", min_length=1)  # paths, which count from the table's folder
    text: str = Field(default="text", min_length=1)


class SpeechEntry(SpeechColumns, ExampleEntry):
    """A table of paths and texts."""


class SpeechFiles(SpeechColumns, ExampleFiles[SpeechEntry, Any]):
    """Sounds with what is said in them: a path and a text in every row of a table."""

    suffixes: ClassVar[tuple[str, ...]] = TABLE_SUFFIXES
    compressions: ClassVar[tuple[str, ...]] = ()
    example: ClassVar[str] = "path/to/table.csv"

    kind: str = "speech"

    def read(self, found: Found, split: str, ledger: Ledger) -> list[SpokenText]:
        from regard.data.modalities.audio.reading import in_table, spoken

        columns, path = chosen(SpeechColumns, self, found.entry), found.paths[0]
        return spoken(in_table(path, (columns.sound, columns.text), split, ledger), str(path), split, ledger)


def unused_columns(names: list[str]) -> dict[str, str]:
    """Columns have no effect where only folders are named, as far as names tell."""
    paths = [Path(name) for name in names]
    if not paths or any(is_pattern(path) or suffix(path) in TABLE_SUFFIXES for path in paths):
        return {}
    return dict.fromkeys(("sound", "label"), "folders for each class have no columns")
