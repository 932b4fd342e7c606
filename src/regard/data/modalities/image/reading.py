"""Reading labelled pictures: class folders, idx files, sheets, tables of paths or of pixel values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from regard.core.errors import DataError
from regard.data.class_files import files_of_classes
from regard.data.ledger import Ledger
from regard.data.modalities import named_file
from regard.data.modalities.image.idx import is_idx, labels_beside, read_idx_images, read_idx_pair
from regard.data.modalities.image.lines import (
    is_value_table,
    label_column,
    labels_beside_sheet,
    labels_of_sheets,
    labels_of_table,
    read_lined,
)
from regard.data.modalities.image.opening import Image
from regard.data.modalities.image.pictures import LabelledPicture, Lines, Picture
from regard.data.modalities.image.verifying import Verify, digest, verify_files
from regard.data.readers import missing_files, summarise
from regard.data.tables import as_text, read_table

UNREADABLE = "not a readable picture"


AMONG_MANY = re.compile(r"(.+)\[(\d+)\]")


class PictureOptions(NamedTuple):
    """How pictures are found, where that can differ."""

    image: int | str = "image"  # the column of paths in a table, which count from the table's folder
    label: int | str = "label"
    classes: tuple[str, ...] = ()  # the names of labels 0, 1, 2 …; (): the numbers themselves
    verify: Verify = "decode"
    shape: tuple[int, ...] = ()  # rows and columns of each picture, where every line of a file is one; (): none is
    brightest: int = 255  # the value of white in a table of values


USUAL = PictureOptions()


class Found(NamedTuple):
    """A file that should be a picture."""

    path: Path
    label: str
    line: int


def read_pictures(
    path: Path, split: str, ledger: Ledger, options: PictureOptions = USUAL
) -> list[LabelledPicture]:
    """The labelled pictures at a path; files that cannot be read are skipped, counted and named in the ledger."""
    if options.shape and not path.is_dir():
        return read_lined_pictures([path], None, split, ledger, options)
    if path.is_dir():
        return read_class_folders(path, split, ledger, options.verify)
    if is_idx(path):
        return read_idx_pictures(path, labels_beside(path), split, ledger, options.classes)
    if path.is_file():
        return read_picture_table(path, split, ledger, options)
    raise missing_files([path], "Name a folder of class folders, an idx file or a table of paths and labels")


def read_class_folders(
    folder: Path, split: str, ledger: Ledger, verify: Verify = "decode"
) -> list[LabelledPicture]:
    """``folder/class/…/picture.png``: a picture's class is the name of the folder below ``folder`` that it is in."""
    files = files_of_classes(folder, "pictures", is_picture, Path("cat", "tom.png"), "a table of paths and labels")
    found = [Found(path, label, line) for line, (label, path) in enumerate(files, start=1)]
    ledger.units[str(folder)] = "files"
    return keep_readable(found, str(folder), split, ledger, verify)


def read_picture_table(
    table: Path, split: str, ledger: Ledger, options: PictureOptions = USUAL
) -> list[LabelledPicture]:
    """A path and a label in every row of a .csv, .tsv or .jsonl."""
    found = []
    rows = read_table(table, [options.image, options.label])
    for line, cells in rows:
        path, label = map(as_text, cells)
        if path and label:
            found.append(Found(table.parent / Path(path).expanduser(), label, line))
        else:
            empty = [str(name) for name, cell in ((options.image, path), (options.label, label)) if not cell]
            ledger.skip(split, str(table), line, f"no {' and no '.join(empty)}")
    ledger.record(split, str(table), read=len(rows) - len(found), kept=0)
    return keep_readable(found, str(table), split, ledger, options.verify)


def picture_among(argument: str) -> Picture | None:
    """``path[3311]``: one of the pictures of an idx file, counted from 0; None where the word names none like that."""
    found = AMONG_MANY.fullmatch(argument)
    if found is None or Path(argument).expanduser().exists():
        return None
    path = named_file(found[1], "picture")
    if not is_idx(path):
        raise DataError(f"{argument}: [{found[2]}] counts the pictures of an idx file, and {path} is none by its name")
    count, index = len(read_idx_images(path)), int(found[2])
    if index >= count:
        raise DataError(f"{path} has no picture {index}: its {count:,} pictures are counted from 0 to {count - 1}")
    return Picture(str(path), index)


def read_idx_pictures(
    images: Path, labels: Path, split: str, ledger: Ledger, names: Sequence[str] = ()
) -> list[LabelledPicture]:
    """Picture i of one idx file has label i of the other."""
    pictures, classes = read_idx_pair(images, labels)
    if names and len(classes) and int(classes.max()) >= len(names):
        raise DataError(
            f"{labels} has label {int(classes.max())}, but {len(names)} names of classes are given, for labels 0 to "
            f"{len(names) - 1}; name them all"
        )
    path = str(images)
    kept = [
        LabelledPicture(
            Picture(path, index, digest(pixels.tobytes())), names[label] if names else str(label),
            line=index + 1, origin=path,
        )
        for index, (pixels, label) in enumerate(zip(pictures, classes.tolist(), strict=True))
    ]  # fmt: skip
    ledger.units[path] = "pictures"
    ledger.record(split, path, read=len(kept), kept=len(kept))
    return kept


def read_lined_pictures(
    files: Sequence[Path], labels: Path | None, split: str, ledger: Ledger, options: PictureOptions
) -> list[LabelledPicture]:
    """Every line of these files is a picture. One file has the labels of all of them, in their order; those of a table
    stand in it, and those of a sheet that nobody names beside it."""
    rows, columns = options.shape
    if is_value_table(files[0]):
        lines = Lines(rows, columns, options.brightest, label_column(files[0], options.label))
        found = [label for path in files for label in labels_of_table(path, lines.label)]
        origin = str(files[0])
    else:
        lines = Lines(rows, columns)
        beside = [labels_beside_sheet(path) for path in files] if labels is None else [labels]
        found = [label for path in beside for label in labels_of_sheets(path)]
        origin = str(files[0] if labels is None else labels)
    held = [read_lined(path, lines) for path in files]
    count = sum(map(len, held))
    if count != len(found):
        names = ", ".join(path.name for path in files)
        raise DataError(
            f"{names}: {count:,} pictures, but {len(found):,} labels in {origin}; check that the files belong together "
            "and were downloaded completely"
        )
    found = named_classes(found, options.classes, origin)
    places = [(path, index, pixels) for path, own in zip(files, held) for index, pixels in enumerate(own)]
    kept = [
        LabelledPicture(Picture(str(path), index, digest(pixels.tobytes()), lines), label, line=line, origin=origin)
        for line, ((path, index, pixels), label) in enumerate(zip(places, found, strict=True), start=1)
    ]
    ledger.units[origin] = "pictures"
    ledger.record(split, origin, read=len(kept), kept=len(kept))
    return kept


def named_classes(labels: Sequence[str], names: Sequence[str], origin: str) -> list[str]:
    """The names of labels 0, 1, 2 …, where some are given."""
    if not names:
        return list(labels)
    wrong = sorted({label for label in labels if not label.isdecimal() or int(label) >= len(names)})
    if wrong:
        raise DataError(
            f"{origin} has {summarise([f'label {label}' for label in wrong])}, but {len(names)} names of classes are "
            f"given, for labels 0 to {len(names) - 1}; name them all, or leave data.classes out"
        )
    return [names[int(label)] for label in labels]


def keep_readable(
    found: Sequence[Found], origin: str, split: str, ledger: Ledger, verify: Verify
) -> list[LabelledPicture]:
    """The pictures that can be decoded; the others are skipped, each with its place and what is wrong with it."""
    kept, wrong = [], []
    for one, verdict in zip(found, verify_files([one.path for one in found], verify), strict=True):
        if verdict.problem:
            ledger.skip(split, origin, one.line, UNREADABLE, f"{one.path}: {verdict.problem}")
            wrong.append(f"{one.path}: {verdict.problem}")
        else:
            picture = Picture(str(one.path), digest=verdict.digest)
            kept.append(LabelledPicture(picture, one.label, line=one.line, origin=origin))
    ledger.record(split, origin, read=len(found), kept=len(kept))
    if found and not kept:
        raise DataError(f"{origin}: none of {len(found):,} files is a readable picture: {summarise(wrong)}")
    return kept


def is_picture(path: Path) -> bool:
    """By its name."""
    return path.is_file() and path.suffix.lower() in Image.registered_extensions()
