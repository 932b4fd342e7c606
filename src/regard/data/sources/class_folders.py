"""Text files in a folder for each class: a file is a text, and its folder's name the label."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from regard.core.errors import DataError
from regard.data.class_files import class_files
from regard.data.examples import Labelled
from regard.data.ledger import Ledger
from regard.data.modalities.text.modality import PICTURES
from regard.data.readers import COMPRESSIONS, read_lines, summarise


def check_no_pictures(folder: Path, files: Sequence[Path]) -> None:
    pictures = [path for path in files if path.suffix.lower() in PICTURES]
    if pictures:
        raise DataError(
            f"{folder}: {len(pictures):,} of {len(files):,} files are pictures, such as {pictures[0]}, and texts are "
            "read here; take them out, name another folder, or use a run or recipe for pictures"
        )


def read_class_folders(folder: Path, split: str, ledger: Ledger) -> list[Labelled[str]]:
    """The texts of all classes, numbered in the order of their names; those without a text are skipped and listed."""
    files = class_files(folder)
    check_no_pictures(folder, [path for _, path in files])
    ledger.units[str(folder)] = "files"
    kept, wrong = [], []
    for number, (label, path) in enumerate(files, start=1):
        try:
            text = "\n".join(read_lines(path)).strip()
        except DataError as error:
            wrong.append(str(error))
            continue
        if text:
            kept.append(Labelled(text, label, line=number, origin=str(folder)))
        else:
            ledger.skip(split, str(folder), number, "no text", str(path))
    if wrong:
        raise DataError(
            f"{folder}: {len(wrong):,} of {len(files):,} files cannot be read as texts: {summarise(wrong)}. Correct "
            f"these files, or take them out of the folder (names may end "
            f"in {', '.join(COMPRESSIONS)} where they are packed)"
        )
    ledger.record(split, str(folder), read=len(files), kept=len(kept))
    return kept
