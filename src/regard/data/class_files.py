"""Files in a folder for each class: which there are, and what is said where there are none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from regard.core.errors import DataError


def class_files(folder: Path) -> list[tuple[str, Path]]:
    """``folder/class/…/name``: every file that is not hidden, after the name of the folder below ``folder``."""
    classes = sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    return [
        (own.name, path)
        for own in classes
        for path in sorted(own.rglob("*"))
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(own).parts)
    ]


def files_of_classes(
    folder: Path, what: str, is_one: Callable[[Path], bool], example: Path, otherwise: str
) -> list[tuple[str, Path]]:
    """The same, of which there must be some; ``what`` they are called, and what else could be named."""
    if found := class_files(folder):
        return found
    loose = sum(is_one(entry) for entry in folder.iterdir())
    raise DataError(
        f"{folder} has no folder with {what} in it{f', but {loose:,} {what} of its own' if loose else ''}; a folder "
        f"for each class is expected, as in {folder / example}, or {otherwise}"
    )
