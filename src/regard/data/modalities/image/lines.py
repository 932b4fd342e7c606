"""Files whose every line is a picture: sheets, of which each row of pixels is one, and tables of pixel values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from regard.core.errors import DataError
from regard.core.files import parse_json
from regard.data.modalities.image.opening import Image, opened
from regard.data.modalities.image.pictures import Lines
from regard.data.readers import missing_files, read_lines, summarise
from regard.data.tables import JSON_SUFFIXES, SEPARATORS, cut_records, suffix

HELD = 64  # files whose pictures stay in memory
WHITE = 255
LABEL_SUFFIXES = (".json", ".txt")


def is_value_table(path: Path) -> bool:
    """By its name; other files whose lines are pictures are pictures themselves."""
    return suffix(path) in SEPARATORS


@lru_cache(maxsize=HELD)
def read_lined(path: Path, lines: Lines) -> np.ndarray:
    """pictures_BHW or pictures_BHWC, bytes, held in memory."""
    return read_values(path, lines) if is_value_table(path) else read_sheet(path, lines)


def read_sheet(path: Path, lines: Lines) -> np.ndarray:
    """Each row of pixels is a picture, its own rows one after the other."""
    limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None  # a sheet is as large as a data set
    try:
        with opened(str(path)) as image:
            found = image.width
            pixels = np.asarray(image if image.mode in ("L", "RGB") else image.convert("RGB"))
    finally:
        Image.MAX_IMAGE_PIXELS = limit
    if found != lines.size:
        raise DataError(
            f"{path} is {found} pixels wide, but with data.shape = [{lines.rows}, {lines.columns}] every row of a "
            f"sheet has {lines.size}; correct the shape, or name another file"
        )
    return pixels.reshape(len(pixels), lines.rows, lines.columns, *pixels.shape[2:])


def read_values(path: Path, lines: Lines) -> np.ndarray:
    """Grey values from 0 (black) to ``brightest``, the label's column left out."""
    rows, wrong = [], []
    for line, cells in value_records(path):
        values = [cell for place, cell in enumerate(cells, start=1) if place != lines.label]
        try:
            numbers = np.array(values, np.float64)
        except ValueError:
            wrong.append(f"line {line} has cells that are not numbers")
            continue
        if len(numbers) != lines.size:
            wrong.append(f"line {line} has {len(numbers)} values")
        elif not (numbers.min() >= 0 and numbers.max() <= lines.brightest):
            wrong.append(f"line {line} has values from {numbers.min():g} to {numbers.max():g}")
        rows.append(numbers)
    if wrong or not rows:
        raise DataError(
            f"{path}: every line is a picture of {lines.rows} × {lines.columns} = {lines.size} values from 0 to "
            f"{lines.brightest} beside its label, but {summarise(wrong) if wrong else 'the file has none'}; correct "
            "data.shape, data.brightest or data.label, or the file"
        )
    bytes_NP = np.rint(np.stack(rows) * (WHITE / lines.brightest)).astype(np.uint8)
    return bytes_NP.reshape(-1, lines.rows, lines.columns)


def value_records(path: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Every line that holds values: a first one that names the columns does not."""
    for number, (line, cells) in enumerate(cut_records(path, SEPARATORS[suffix(path)], quotes=True)):
        if cells and not (number == 0 and is_header(cells)):
            yield line, cells


def is_header(cells: Sequence[str]) -> bool:
    """Names and no numbers, a column of labels aside."""
    return sum(not is_number(cell) for cell in cells) > 1


def is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def label_column(path: Path, label: int | str) -> int:
    """The number of the column of labels, counted from 1; the first line may name it."""
    first = next(cut_records(path, SEPARATORS[suffix(path)], quotes=True), None)
    cells = first.cells if first is not None else ()
    if isinstance(label, int) and 1 <= label <= len(cells):
        return label
    if label in cells:
        return cells.index(str(label)) + 1
    named = is_header(cells)
    raise DataError(
        f"{path} has no column {label!r} of labels among its {len(cells)}; "
        + ("set data.label to the name of one of them" if named else "its first line names none: set data.label to the")
        + ("" if named else f" column's number, counted from 1, as in data.label = {max(len(cells), 1)} for the last")
    )


def labels_of_table(path: Path, column: int) -> list[str]:
    return [cells[column - 1].strip() for _, cells in value_records(path)]


def labels_of_sheets(path: Path) -> list[str]:
    """A JSON list, or a text file with a label in every line."""
    if not path.is_file():
        raise missing_files([path], "It should hold a sheet's labels: a JSON list, or one in every line")
    if suffix(path) not in JSON_SUFFIXES:
        return [line.strip() for line in read_lines(path) if line.strip()]
    try:
        held = parse_json("\n".join(read_lines(path)))
    except ValueError as error:
        raise DataError(f"{path} is not JSON ({error}); a list of labels is expected, as in [6, 9, 9]") from error
    if not isinstance(held, list) or not all(isinstance(one, int | str) and one is not True for one in held):
        raise DataError(f"{path}: a list of labels is expected, numbers or names, as in [6, 9, 9]")
    return [str(one) for one in held]


def labels_beside_sheet(sheet: Path) -> Path:
    """The file of labels that has a sheet's name, where none is named."""
    for ending in LABEL_SUFFIXES:
        if sheet.with_suffix(ending).is_file():
            return sheet.with_suffix(ending)
    raise DataError(
        f"{sheet} is a sheet of pictures, and nothing says what they show; name the file of their labels, as in "
        f'train = {{file = "{sheet.name}", labels = "labels.json"}}, or put {sheet.with_suffix(".json").name} beside it'
    )
