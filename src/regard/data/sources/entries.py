"""Entries of a split in a recipe: a file, a folder, a pattern, or a list of them, each with options if needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from glob import escape
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from regard.core.config import Config, nearest

MAGIC = frozenset("*?[")


class Entry(Config):
    """A file, a folder or a pattern; in a recipe one of them alone is written as a plain string."""

    file: str = ""

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, values: Any) -> Any:
        unknown = [key for key in values if key not in cls.model_fields] if isinstance(values, Mapping) else []
        if unknown:
            told = [f"{key!r}{nearest(key, cls.model_fields)}" for key in unknown]
            raise ValueError(f"unknown key {', '.join(told)}; valid here: {', '.join(cls.model_fields)}")
        return values

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        self.check_names()
        return self

    def check_names(self) -> None:
        if not self.file:
            raise ValueError("file is missing: name a file, a folder or a pattern")

    def names(self) -> dict[str, str]:
        """The paths in it, by key."""
        return {"file": self.file}

    def located(self, base: Callable[[str], Path]) -> Self:
        """With absolute paths; ``base`` gives the folder from which the path under a key counts."""
        return self.model_copy(update={key: str(joined(base(key), name)) for key, name in self.names().items()})

    def written(self) -> Any:
        """As it is written in a recipe: what is not said is left out."""
        tree = self.model_dump(exclude_unset=True)
        return self.file if set(tree) == {"file"} else tree


class ExampleEntry(Entry):
    """An entry whose examples may be seen more or less often in training than others."""

    weight: float = Field(default=1.0, gt=0.0, allow_inf_nan=False)


AnyEntry = TypeVar("AnyEntry", bound=Entry)
AnyExampleEntry = TypeVar("AnyExampleEntry", bound=ExampleEntry)
AnyConfig = TypeVar("AnyConfig", bound=Config)


def listed(value: Any) -> Any:
    """The entries that a split has: a string or a table alone is one of them, nothing is none."""
    if isinstance(value, str | Mapping | Entry):
        value = (value,) if value else ()
    if not isinstance(value, list | tuple):
        raise ValueError(f"a file, a folder, a pattern, or a list of them is expected, found {value!r}")
    if "" in value:
        raise ValueError("a list of files has an empty name in it; take it out")
    return tuple({"file": one} if isinstance(one, str) else one for one in value)


def written(entries: Iterable[Entry]) -> Any:
    """The shortest form that is read as the same."""
    forms = [one.written() for one in entries]
    return forms[0] if len(forms) == 1 else forms


Entries = Annotated[tuple[AnyEntry, ...], BeforeValidator(listed), PlainSerializer(written)]


def chosen(columns: type[AnyConfig], table: Config, entry: Entry) -> AnyConfig:
    """The columns that count for an entry: its own where it says so, else those of the whole table."""
    names = set(columns.model_fields)
    return columns(**{**table.model_dump(include=names), **entry.model_dump(include=names, exclude_unset=True)})


def joined(folder: Path, name: str) -> Path:
    """A file, a folder or a pattern in a folder, whose own name is never taken for a pattern."""
    path = Path(name).expanduser()
    if MAGIC & set(name) and not (folder / path).exists():
        folder = Path(escape(str(folder)))
    return folder / path


def is_pattern(path: Path) -> bool:
    return bool(MAGIC & set(str(path)))


def matching(pattern: Path) -> list[Path]:
    """The files that match, sorted by name; ``**`` stands for any number of folders."""
    plain = Path(*_before_magic(pattern))
    rest = str(pattern.relative_to(plain))
    return sorted(path for path in plain.glob(rest) if path.is_file())


def _before_magic(pattern: Path) -> list[str]:
    kept: list[str] = []
    for part in pattern.parts:
        if MAGIC & set(part):
            break
        kept.append(part)
    return kept


def below(folder: Path, suffixes: Iterable[str]) -> list[Path]:
    """The files below a folder whose names end so, sorted by name; hidden ones are left out."""
    endings = tuple(suffixes)
    found = (path for path in folder.rglob("*") if path.name.endswith(endings) and path.is_file())
    return sorted(path for path in found if not any(part.startswith(".") for part in path.relative_to(folder).parts))
