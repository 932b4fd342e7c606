"""Reading sounds: a folder for each class, or a table of paths beside labels or texts; each file is decoded once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from regard.core.errors import DataError
from regard.data.class_files import files_of_classes
from regard.data.ledger import Ledger
from regard.data.modalities.audio.decoding import Truncated, is_silent, is_sound, read_sound
from regard.data.modalities.audio.sounds import LabelledSound, SoundFile, SpokenText
from regard.data.prefetch import prefetch
from regard.data.readers import missing_files, summarise
from regard.data.tables import as_text, read_table

UNREADABLE, TRUNCATED, SILENT = "not a readable sound", "truncated", "silent"
DIGEST_BYTES = 16


class Found(NamedTuple):
    """A file that should be a sound, and what is to be said of it."""

    path: Path
    answer: str
    line: int


class Verdict(NamedTuple):
    """A file that was decoded; or why it is left out, as a class of cases and in detail."""

    sound: SoundFile | None = None
    reason: str = ""
    detail: str = ""


def labelled(found: Sequence[Found], origin: str, split: str, ledger: Ledger) -> list[LabelledSound]:
    """Sounds whose answers are classes."""
    return [
        LabelledSound(sound, one.answer, line=one.line, origin=origin)
        for one, sound in keep_readable(found, origin, split, ledger)
    ]


def spoken(found: Sequence[Found], origin: str, split: str, ledger: Ledger) -> list[SpokenText]:
    """Sounds whose answers are texts."""
    return [
        SpokenText(sound, one.answer, line=one.line, origin=origin)
        for one, sound in keep_readable(found, origin, split, ledger)
    ]


def in_class_folders(folder: Path, ledger: Ledger) -> list[Found]:
    """``folder/class/…/clip.wav``: a sound's class is the name of the folder below ``folder`` that it is in."""
    files = files_of_classes(folder, "sounds", is_sound, Path("yes", "clip.wav"), "a table of paths")
    ledger.units[str(folder)] = "files"
    return [Found(path, label, line) for line, (label, path) in enumerate(files, start=1)]


def in_table(table: Path, columns: tuple[str, str], split: str, ledger: Ledger) -> list[Found]:
    """A path, which counts from the table's folder, and an answer in every row of a .csv, .tsv or .jsonl."""
    if not table.is_file():
        raise missing_files([table], "Name a folder of class folders, or a table of paths")
    found, rows = [], read_table(table, list(columns))
    for line, cells in rows:
        path, answer = map(as_text, cells)
        if path and answer:
            found.append(Found(table.parent / Path(path).expanduser(), answer, line))
        else:
            empty = [name for name, cell in zip(columns, (path, answer), strict=True) if not cell]
            ledger.skip(split, str(table), line, f"no {' and no '.join(empty)}")
    ledger.record(split, str(table), read=len(rows) - len(found), kept=0)
    return found


def keep_readable(
    found: Sequence[Found], origin: str, split: str, ledger: Ledger
) -> list[tuple[Found, SoundFile]]:
    """The sounds that can be decoded and heard; the others are skipped, each with its place and what is wrong."""
    kept, wrong = [], []
    for one, said in zip(found, verdicts([one.path for one in found]), strict=True):
        if said.sound is None:
            ledger.skip(split, origin, one.line, said.reason, said.detail)
            wrong.append(said.detail)
        else:
            kept.append((one, said.sound))
    ledger.record(split, origin, read=len(found), kept=len(kept))
    if found and not kept:
        raise DataError(f"{origin}: none of {len(found):,} files is a readable sound: {summarise(wrong)}")
    return kept


def verdicts(paths: Sequence[Path]) -> Iterator[Verdict]:
    """In order; the next files are read while one is looked at."""
    return prefetch(verdict, paths, ahead=8)


def verdict(path: Path) -> Verdict:
    try:
        samples_N, rate = read_sound(path)
    except Truncated as error:
        return Verdict(reason=TRUNCATED, detail=str(error))
    except DataError as error:
        return Verdict(reason=UNREADABLE, detail=str(error))
    if is_silent(samples_N):
        return Verdict(reason=SILENT, detail=f"{path}: nothing is louder than 80 dB below the loudest possible")
    digest = hashlib.blake2b(samples_N.tobytes(), digest_size=DIGEST_BYTES).hexdigest()
    return Verdict(SoundFile(str(path), rate, len(samples_N), digest))
