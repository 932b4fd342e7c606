"""The files that a user names, and which of them are for training, validation and testing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.core.errors import DataError
from regard.data.readers import COMPRESSIONS, missing_files

TRAIN, VALIDATION, TEST = SPLITS = ("train", "validation", "test")
ROLES = {
    **dict.fromkeys(("train", "training", "trainset"), TRAIN),
    **dict.fromkeys(("validation", "valid", "val", "dev", "devel", "development", "devset", "validset"), VALIDATION),
    **dict.fromkeys(("test", "testing", "testset"), TEST),
}
NOTES = re.compile(r"(readme|licen[cs]e|copying|notice|changelog|citation|authors|contributing)\b", re.IGNORECASE)
WORD = re.compile(r"[^\W_]+")
SHOWN = 5


@dataclass(frozen=True, slots=True)
class GivenFiles:
    """What was named: files and folders in the order of the command line, and the files that are found by it."""

    paths: tuple[Path, ...]
    files: tuple[Path, ...]  # those that are named, and those in folders, hidden ones and notes aside
    aside: tuple[Path, ...] = ()  # notes in folders: README, LICENSE

    @classmethod
    def of(cls, paths: Iterable[Path]) -> GivenFiles:
        """One error for all that are not there, and for folders without a file."""
        named = tuple(Path(path).expanduser().absolute() for path in paths)
        if not named:
            raise DataError("name a file or a folder to learn from")
        missing = [path for path in named if not path.exists()]
        if missing:
            raise missing_files(missing)
        odd = [path for path in named if not (path.is_file() or path.is_dir())]
        if odd:
            raise DataError(
                f"{listed(odd)}: neither a file nor a folder, but a pipe, a socket or a device, which can be read only "
                "once; write what comes out of it into a file first"
            )
        files: list[Path] = []
        aside: list[Path] = []
        for path in named:
            if not path.is_dir():
                files.append(path)
                continue
            inside = visible_files(path)
            if not inside:
                raise DataError(f"{path} has no files in it; name a file or a folder with something to learn from")
            notes = [one for one in inside if one.parent == path and NOTES.match(one.name)]
            kept = [one for one in inside if one not in set(notes)]
            files += kept or inside
            aside += notes if kept else ()
        return cls(named, tuple(dict.fromkeys(files)), tuple(aside))

    @property
    def folder(self) -> Path | None:
        """The one folder that was named, where it was one and nothing else."""
        return self.paths[0] if len(self.paths) == 1 and self.paths[0].is_dir() else None

    def ignored_files(self) -> tuple[str, ...]:
        return (f"left aside: {listed(self.aside)}",) if self.aside else ()


def visible_files(folder: Path) -> list[Path]:
    """All files below a folder, sorted; hidden ones, and those in hidden folders, are left out."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in found if not any(part.startswith(".") for part in path.relative_to(folder).parts))


def listed(paths: Sequence[Path]) -> str:
    names = ", ".join(path.name for path in paths[:SHOWN])
    return f"{names} and {len(paths) - SHOWN:,} more" if len(paths) > SHOWN else names


def ending(path: Path) -> str:
    """In small letters, a compression's ending aside."""
    return (path.with_suffix("") if path.suffix in COMPRESSIONS else path).suffix.lower()


# -- splits -----------------------------------------------------------------------------------------------------


def role_word(name: str) -> str:
    """The one word of a name that says which split it is, such as "test2016"; "" where none does, or more than one."""
    words = [word for word in WORD.findall(name) if word.lower().rstrip("0123456789") in ROLES]
    return words[0] if len({role_of_word(word) for word in words}) == 1 else ""


def role_of_word(word: str) -> str:
    return ROLES.get(word.lower().rstrip("0123456789"), "")


def role_of(path: Path, within: Path | None = None) -> str:
    """The split that a file belongs to by its name, or by that of the nearest folder below ``within``."""
    parts = path.relative_to(within).parts if within and path.is_relative_to(within) else (path.name,)
    return next((role_of_word(word) for part in reversed(parts) if (word := role_word(part))), "")


def without_role(name: str) -> str:
    """A name without the word for its split: the same for all that belong together."""
    word = role_word(name)
    return name.replace(word, "", 1) if word else name


def siblings(path: Path) -> list[Path]:
    """Files beside one for training that are named like it but for the split, such as test.csv beside train.csv."""
    if role_of(path) != TRAIN:
        return []
    beside = sorted(one for one in path.parent.iterdir() if one.is_file() and role_of(one) in (VALIDATION, TEST))
    return [one for one in beside if without_role(one.name) == without_role(path.name)]


@dataclass(frozen=True, slots=True)
class SplitFiles:
    """The files of each split, and how they were told apart."""

    train: tuple[Path, ...]
    validation: tuple[Path, ...] = ()
    test: tuple[Path, ...] = ()
    others: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)  # further tests, by name
    beside: tuple[Path, ...] = ()  # those of them that were not named, but are beside what was
    reasons: tuple[str, ...] = ()
    aside: tuple[Path, ...] = ()  # files of a folder that are none of the splits

    @classmethod
    def of(cls, given: GivenFiles, files: Sequence[Path], *, strict: bool = False) -> SplitFiles:
        """Splits by the names of these files; one alone is for training, whatever its name is. ``strict``: in a folder
        names tell only where some are for training and others are not, since a text about testing may be called so."""
        within = given.folder
        if len(files) == 1:
            beside = tuple(siblings(files[0])) if within is None else ()
            return cls._by_role((files[0],), beside, beside, ())
        roles = {path: role_of(path, within) for path in files}
        train = tuple(path for path in files if roles[path] == TRAIN)
        unnamed = tuple(path for path in files if not roles[path])
        held = tuple(path for path in files if roles[path] in (VALIDATION, TEST))
        if not train and not unnamed:
            raise DataError(
                f"{listed(files)}: all are named for validation or testing, and none for training; name a file to "
                "learn from, too, such as train.csv"
            )
        if within is not None and not (train and held) and (strict or not held):
            return cls(tuple(files))
        if within is not None and train:
            return cls._by_role(train, held, (), unnamed)
        beside = tuple(siblings(train[0])) if within is None and len(train) == 1 and not held else ()
        return cls._by_role((*train, *unnamed), held + beside, beside, ())

    @classmethod
    def _by_role(
        cls, train: tuple[Path, ...], held: tuple[Path, ...], beside: tuple[Path, ...], aside: tuple[Path, ...]
    ) -> SplitFiles:
        validation = tuple(path for path in held if _held_role(path) == VALIDATION)
        tests: dict[str, list[Path]] = {}
        for path in held:
            if _held_role(path) == TEST:
                tests.setdefault(_held_word(path).lower(), []).append(path)
        first = TEST if TEST in tests else next(iter(tests), "")
        others = {name: tuple(own) for name, own in tests.items() if name != first}
        reasons = [
            f"{listed(own)} {verb} {what}, by {'its name' if len(own) == 1 else 'their names'}"
            for own, verb, what in (
                (validation, "validates" if len(validation) == 1 else "validate", "what is learned"),
                (tuple(tests.get(first, ())), "tests" if len(tests.get(first, ())) == 1 else "test", "it at the end"),
            )
            if own
        ]
        if beside:
            reasons.append(f"found beside {train[0].name}: {listed(beside)}")
        return cls(train, validation, tuple(tests.get(first, ())), others, beside, tuple(reasons), aside)

    def by_name(self) -> dict[str, tuple[Path, ...]]:
        """The files of every split that has some."""
        splits = {TRAIN: self.train, VALIDATION: self.validation, TEST: self.test, **self.others}
        return {name: paths for name, paths in splits.items() if paths}

    def without(self, paths: Iterable[Path]) -> SplitFiles:
        """The same without files that do not go with the others."""
        gone = set(paths)
        held = tuple(path for own in (self.validation, self.test, *self.others.values()) for path in own)
        beside = tuple(path for path in self.beside if path not in gone)
        return SplitFiles._by_role(
            self.train, tuple(path for path in held if path not in gone), beside, self.aside
        )

    def ignored_files(self) -> tuple[str, ...]:
        return (f"left aside: {listed(self.aside)}",) if self.aside else ()


def _held_word(path: Path) -> str:
    """The word for its split in a file's name, or in that of a folder around it."""
    return next((word for part in reversed(path.parts) if (word := role_word(part))), "")


def _held_role(path: Path) -> str:
    return role_of_word(_held_word(path))


def entries_of(paths: Sequence[Any]) -> Any:
    """The entries of a split as a recipe writes them: one alone is no list."""
    return paths[0] if len(paths) == 1 else [*paths]


def split_table(by_name: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """The keys of [data] that name the splits, from the entries of each."""
    table = {name: entries_of(own) for name, own in by_name.items() if name in SPLITS}
    others = {name: entries_of(own) for name, own in by_name.items() if name not in SPLITS}
    return {**table, "other_splits": others} if others else table
