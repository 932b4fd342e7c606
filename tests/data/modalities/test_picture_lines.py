"""Files whose every line is a picture: sheets with labels, tables of pixel values; what disagrees is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from regard.core.config import parse
from regard.core.errors import DataError, RecipeError
from regard.data.ledger import Ledger
from regard.data.modalities.image.decoding import Frame, picture_size, read_batch
from regard.data.modalities.image.lines import read_lined
from regard.data.modalities.image.pictures import LabelledPicture, Lines, Picture
from regard.data.sources.pictures import PictureFiles

SHAPE = (3, 5)
PIXELS = np.random.default_rng(7).integers(0, 256, (11, *SHAPE, 3), dtype=np.uint8)


def write_sheets(folder: Path, sizes: tuple[int, ...] = (7, 4)) -> Path:
    """Sheets of colour pictures in turn, and a JSON list with the labels of all."""
    start = 0
    for number, size in enumerate(sizes, start=1):
        Image.fromarray(PIXELS[start : start + size].reshape(size, -1, 3)).save(folder / f"batch_{number}.png")
        start += size
    (folder / "labels.json").write_text(json.dumps([place % 3 for place in range(start)]))
    return folder


def loaded(folder: Path, **table: Any) -> Any:
    usual = {"shape": SHAPE, "train": {"file": "batch_*.png", "labels": "labels.json"}, "validation_size": 0}
    data = parse(PictureFiles, {"kind": "pictures", **usual, **table})
    return data.located(folder).load(1, Ledger())


def test_every_row_of_a_sheet_is_a_picture_and_one_list_labels_several_sheets(tmp_path: Path) -> None:
    corpus = loaded(write_sheets(tmp_path), classes=("cat", "dog", "frog"))
    examples = corpus.splits["train"]
    assert [one.label for one in examples[:4]] == ["cat", "dog", "frog", "cat"]
    places = [(Path(one.raw.path).name, one.raw.index) for one in examples[6:8]]
    assert places == [("batch_1.png", 6), ("batch_2.png", 0)]
    assert examples[7].line == 8
    assert picture_size(examples[0].raw) == SHAPE
    found = read_batch([one.raw for one in examples], Frame(3, *SHAPE))
    assert (found == PIXELS.transpose(0, 3, 1, 2)).all()
    grey, larger = Frame(1, *SHAPE), Frame(3, 6, 10)
    assert read_batch([one.raw for one in examples], grey).shape == (11, 1, 3, 5)
    assert read_batch([one.raw for one in examples], larger).shape == (11, 3, 6, 10)
    ledger = corpus.ledger
    assert ledger.counts("train", str(tmp_path / "labels.json")).kept == 11
    ledger.check()


def test_labels_of_a_sheet_may_stand_beside_it_under_its_name_and_be_lines_of_text(tmp_path: Path) -> None:
    write_sheets(tmp_path, (11,))
    with pytest.raises(DataError, match=r"batch_1\.png is a sheet of pictures, and nothing says what they show; name"):
        loaded(tmp_path, train="batch_1.png")
    (tmp_path / "batch_1.txt").write_text("\n".join("cat" if place % 2 else "dog" for place in range(11)))
    assert [one.label for one in loaded(tmp_path, train="batch_1.png").splits["train"]][:2] == ["dog", "cat"]


def test_examples_of_sheets_go_through_a_record_and_others_are_recorded_as_before() -> None:
    one = LabelledPicture(Picture("sheet.png", 3, "ab", Lines(3, 5)), "cat", line=4, origin="labels.json")
    again = LabelledPicture.from_record(json.loads(json.dumps(one.record())))
    assert again == one
    assert again.raw.lines == Lines(3, 5)
    assert LabelledPicture(Picture("a.png"), "cat").record()["raw"] == {"path": "a.png", "index": -1, "digest": ""}


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("[0, 1]", r"batch_1\.png, batch_2\.png: 11 pictures, but 2 labels in \S+labels\.json; check that the files"),
        ("[0, 1", r"labels\.json is not JSON"),
        ('{"a": 1}', r"labels\.json: a list of labels is expected, numbers or names"),
        ("[" + ",".join(["7"] * 11) + "]", r"has label 7, but 2 names of classes are given, for labels 0 to 1"),
    ],
)
def test_labels_that_do_not_go_with_their_pictures_are_refused(tmp_path: Path, labels: str, message: str) -> None:
    write_sheets(tmp_path)
    (tmp_path / "labels.json").write_text(labels)
    with pytest.raises(DataError, match=message):
        loaded(tmp_path, classes=("cat", "dog"))


def test_sheets_of_another_width_broken_ones_and_missing_labels_are_refused(tmp_path: Path) -> None:
    write_sheets(tmp_path)
    told = r"is 15 pixels wide, but with data\.shape = \[4, 5\] every row of a sheet has 20"
    with pytest.raises(DataError, match=told):
        loaded(tmp_path, shape=(4, 5))
    with pytest.raises(DataError, match=r"none\.json"):
        loaded(tmp_path, train={"file": "batch_*.png", "labels": "none.json"})
    broken = tmp_path / "batch_2.png"
    broken.write_bytes(broken.read_bytes()[:-60])
    with pytest.raises(DataError, match=r"batch_2\.png is not a readable picture"):
        read_lined(broken, Lines(*SHAPE))


@pytest.mark.parametrize("header", [True, False])
def test_a_table_of_pixel_values(tmp_path: Path, header: bool) -> None:
    """Values from 0 to 16, packed, with the label in the last column."""
    generator = np.random.default_rng(3)
    values_NP, labels = generator.integers(0, 17, (9, 15)), generator.integers(0, 10, 9)
    lines = [",".join(map(str, [*own, label])) for own, label in zip(values_NP, labels, strict=True)]
    names = [",".join([*(f"pixel{place}" for place in range(15)), "digit"])] if header else []
    (tmp_path / "digits.csv.gz").write_bytes(gzip.compress("\n".join([*names, *lines, ""]).encode()))
    label = "digit" if header else 16
    examples = loaded(tmp_path, train="digits.csv.gz", brightest=16, label=label).splits["train"]
    assert [one.label for one in examples] == [str(label) for label in labels]
    found = read_batch([one.raw for one in examples], Frame(1, *SHAPE))
    assert (found[:, 0].reshape(9, -1) == np.rint(values_NP * 255 / 16)).all()
    with pytest.raises(DataError, match=r"every line is a picture of 5 × 5 = 25 values from 0 to 16"):
        loaded(tmp_path, shape=(5, 5), train="digits.csv.gz", brightest=16, label=label)
    with pytest.raises(DataError, match=r"line \d+ has values from 0 to 1[56]"):
        loaded(tmp_path, train="digits.csv.gz", brightest=9, label=label)
    with pytest.raises(DataError, match=r"digits\.csv\.gz has no column 'number' of labels among its 16"):
        loaded(tmp_path, train="digits.csv.gz", brightest=16, label="number")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"shape": [32]}, r"shape = \[32\] is no picture's; give rows and columns"),
        ({"shape": [3, 5], "train": "folder"}, r"shape has no effect: it is for files whose every line is a picture"),
        ({"shape": [], "train": {"file": "a-idx3", "labels": "x.json"}}, r"its labels = 'x\.json' is for sheets"),
        ({"shape": [3, 5], "train": "sheet.png", "brightest": 16}, r"brightest has no effect: sheets hold bytes"),
        ({"shape": [3, 5], "train": "t.csv", "image": "path"}, r"image has no effect: tables of pixel values have no"),
        ({"shape": [3, 5], "train": "sheet.png", "verify": "header"}, r"verify has no effect: sheets are always"),
    ],
)
def test_keys_without_effect_are_refused(table: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        parse(PictureFiles, {"kind": "pictures", **table})
