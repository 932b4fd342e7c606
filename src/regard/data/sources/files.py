"""Data from files: which files each split has, where they are searched, and which keys have no effect."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from regard.core.config import parse, without
from regard.core.errors import DataError
from regard.data import DataPart
from regard.data.readers import COMPRESSIONS, find_file, missing_files
from regard.data.sources.entries import AnyEntry, Entries, below, is_pattern, joined, matching

HERE = "."
SPLITS = ("train", "validation", "test")


class Found(NamedTuple, Generic[AnyEntry]):
    """What is read at once: a file, or two that belong together, and the entry that named it."""

    entry: AnyEntry
    paths: tuple[Path, ...]


class FileData(DataPart, Generic[AnyEntry]):
    """Splits that are read from files.

    Relative paths count from ``folder``; by default that is the recipe's own folder, and for what is given on the
    command line the current one. An empty ``folder`` is still to be given.
    """

    suffixes: ClassVar[tuple[str, ...]] = ()  # what the files of a folder end in
    compressions: ClassVar[tuple[str, ...]] = COMPRESSIONS
    example: ClassVar[str] = "path/to/file"
    dividing: ClassVar[tuple[str, ...]] = ()  # settings of a subclass that divide examples into splits

    folder: str = HERE
    train: Entries[AnyEntry] = ()
    validation: Entries[AnyEntry] = ()
    test: Entries[AnyEntry] = ()
    other_splits: dict[str, Entries[AnyEntry]] = Field(default_factory=dict)

    # -- what a recipe says -----------------------------------------------------------------------------------

    def named(self) -> dict[str, tuple[AnyEntry, ...]]:
        """The entries of every split that has some, under the key that names them."""
        splits = {"train": self.train, "validation": self.validation, "test": self.test}
        splits |= {f"other_splits.{split}": entries for split, entries in self.other_splits.items()}
        return {key: entries for key, entries in splits.items() if entries}

    def names(self) -> list[str]:
        """All files, folders and patterns, as they are written."""
        return [name for entries in self.named().values() for entry in entries for name in entry.names().values()]

    def unused(self) -> dict[str, str]:
        """Keys that have no effect beside the others, each with the reason. Written out they are refused."""
        names = self.names()
        if self.folder not in (HERE, "") and names and all(Path(name).expanduser().is_absolute() for name in names):
            return {"folder": "all files are named by absolute paths"}
        return {}

    @model_validator(mode="after")
    def _has_effect(self) -> Self:
        reserved = [split for split in self.other_splits if split in SPLITS]
        if reserved:
            raise ValueError(f"other_splits.{reserved[0]}: this split has a key of its own, data.{reserved[0]}")
        empty = [split for split, entries in self.other_splits.items() if not entries]
        if empty:
            raise ValueError(f"other_splits.{empty[0]} names no file; name one, or take it out")
        return self

    @model_serializer(mode="wrap")
    def _without_unused_keys(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return without(handler(self), [*self.unused(), *(() if self.other_splits else ("other_splits",))])

    def table_for(self, files: Sequence[str]) -> dict[str, Any]:
        """Columns are those of the test files, else of the others; what has no effect on these files is left out."""
        table = {"kind": self.kind, "test": list(files)}
        own = type(self).model_fields.keys() - FileData.model_fields.keys() - {*self.dividing}
        named = self.named()
        first = next((named[split][0] for split in reversed(SPLITS) if split in named), None)
        options = first.model_dump(exclude_unset=True) if first is not None else {}
        idle = parse(type(self), table, "data").unused()
        columns = {key: options.get(key, value) for key, value in self.model_dump().items() if key in own - {*idle}}
        return {**table, **columns}

    # -- where the files are ----------------------------------------------------------------------------------

    def located(self, folder: Path, given: Collection[str] = ()) -> Self:
        if not self.folder:
            return self

        def base(key: str) -> Path:
            from_command_line = any(one in ("", key) or key.startswith(f"{one}.") for one in given)
            return Path.cwd() if from_command_line else folder.absolute()

        if self.folder != HERE or "folder" in given:
            return self.model_copy(update={"folder": str(base("folder") / Path(self.folder).expanduser())})

        def placed(key: str, entries: tuple[AnyEntry, ...]) -> tuple[AnyEntry, ...]:
            return tuple(entry.located(lambda field: base(f"{key}.{field}")) for entry in entries)

        splits = {split: placed(split, entries) for split, entries in self.named().items() if split in SPLITS}
        others = {
            split: placed(f"other_splits.{split}", entries) for split, entries in self.other_splits.items()
        }
        return self.model_copy(update={**splits, "other_splits": others} if others else splits)

    def found(self) -> dict[str, list[Found[AnyEntry]]]:
        """The files of every split that has some; one error names all that are missing."""
        self.check_named()
        return self.files()

    def files(self) -> dict[str, list[Found[AnyEntry]]]:
        """The same where there may be nothing to train on."""
        found: dict[str, list[Found[AnyEntry]]] = {}
        missing: dict[str, list[Path]] = {}
        for key, entries in self.named().items():
            files = found.setdefault(key.removeprefix("other_splits."), [])
            for entry in entries:
                for one in self.files_of(entry, f"data.{key}"):
                    files.append(one)
                    lacking = [path.absolute() for path in one.paths if not path.exists()]
                    missing.setdefault(f"data.{key}", []).extend(lacking)
        lost = [path for paths in missing.values() for path in paths]
        if lost:
            keys = ", ".join(key for key, paths in missing.items() if paths)
            raise missing_files(
                lost,
                f"Check {keys}. Paths in a recipe count from data.folder, by default the recipe's own folder; on the "
                f"command line from the current folder, {Path.cwd()}",
            )
        return found

    def check_named(self) -> None:
        if not self.train:
            raise DataError(
                f"data kind {self.kind!r} needs something to train on: --set data.train={self.example} (and "
                "data.validation and data.test where you have them)"
            )
        if not self.folder:
            raise DataError(
                f"data kind {self.kind!r} needs to know where the files are: --set data.folder=path/to/folder "
                f"(with {', '.join(self.names())})"
            )

    def files_of(self, entry: AnyEntry, key: str) -> Iterator[Found[AnyEntry]]:
        """What an entry stands for, file by file."""
        for path in self.paths(entry.file, key):
            yield Found(entry, (path,))

    def paths(self, name: str, key: str) -> list[Path]:
        """A file, also compressed; the files of a folder that end as those of this kind do; what matches a pattern."""
        path = self.path(name)
        if path.is_dir():
            found = below(path, self.endings())
            problem = f"no file in this folder ends in {', '.join(self.suffixes)}; for others give a pattern, as in "
            problem += f'"{name}/**/*.abc"'
        elif is_pattern(path) and not self.packed_or_plain(path).is_file():
            found, problem = matching(path), "no file matches"
        else:
            return [self.packed_or_plain(path)]
        if not found:
            raise DataError(f"{key} = {name!r}: {problem} (looked for at {path.absolute()})")
        return found

    def path(self, name: str) -> Path:
        return joined(Path(self.folder).expanduser(), name)

    def packed_or_plain(self, path: Path) -> Path:
        return find_file(path) if self.compressions else path

    def endings(self) -> tuple[str, ...]:
        return tuple(suffix + packed for suffix in self.suffixes for packed in ("", *self.compressions))
