"""Reading pictures: class folders, idx files and tables; broken files are named in the ledger, wrong ones refused."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from regard.core.errors import DataError
from regard.data.ledger import Ledger
from regard.data.modalities.image.idx import labels_beside, read_idx, read_idx_pair
from regard.data.modalities.image.pictures import LabelledPicture, Picture
from regard.data.modalities.image.reading import PictureOptions, read_pictures
from regard.data.modalities.image.verifying import verify_files

PIXELS = np.random.default_rng(7).integers(0, 256, (5, 3, 4), dtype=np.uint8)


def draw(path: Path, seed: int = 0, size: tuple[int, int] = (9, 7)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    return path


def write_idx(path: Path, array: np.ndarray, kind: int = 0x08) -> Path:
    data = bytes([0, 0, kind, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    draw(tmp_path / "cat" / "a.png", 1)
    draw(tmp_path / "cat" / "deep" / "b.jpg", 2)
    draw(tmp_path / "dog" / "c.gif", 3)
    return tmp_path


def test_a_folder_for_each_class(folder: Path) -> None:
    ledger = Ledger()
    pictures = read_pictures(folder, "train", ledger)
    assert [(Path(one.raw.path).name, one.label, one.line) for one in pictures] == [
        ("a.png", "cat", 1), ("b.jpg", "cat", 2), ("c.gif", "dog", 3),
    ]  # fmt: skip
    assert {one.origin for one in pictures} == {str(folder)}
    assert len({one.key() for one in pictures}) == 3
    assert ledger.counts("train", str(folder)).kept == 3
    ledger.check()


@pytest.mark.parametrize("name", ["cut.png", "cut.jpg", "cut.bmp", "cut.tiff", "cut.webp"])
def test_a_truncated_file_is_skipped_counted_and_named(folder: Path, name: str) -> None:
    path = draw(folder / "dog" / name, size=(90, 70))
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 3 // 4])
    ledger = Ledger()
    assert len(read_pictures(folder, "train", ledger)) == 3
    counts = ledger.counts("train", str(folder))
    assert (counts.read, counts.kept, counts.skipped) == (4, 3, 1)
    (exception,) = ledger.exceptions
    assert exception.reason == "not a readable picture"
    assert str(path) in exception.detail
    ledger.check()


def test_what_is_no_picture_is_skipped_and_named(folder: Path) -> None:
    (folder / "dog" / "notes.txt").write_text("woof")
    (folder / "dog" / "empty.png").touch()
    ledger = Ledger()
    assert len(read_pictures(folder, "train", ledger)) == 3
    assert [exception.detail for exception in ledger.exceptions] == [
        f"{folder / 'dog' / 'empty.png'}: no known format", f"{folder / 'dog' / 'notes.txt'}: no known format",
    ]  # fmt: skip


def test_the_header_alone_is_read_where_that_is_enough(folder: Path) -> None:
    path = draw(folder / "dog" / "cut.jpg", size=(90, 70))
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 3 // 4])
    assert [bool(one.problem) for one in verify_files([path], "header")] == [False]
    assert [bool(one.problem) for one in verify_files([path], "decode")] == [True]


def test_the_same_picture_in_two_places_has_one_key(folder: Path) -> None:
    twin = folder / "dog" / "twin.png"
    twin.write_bytes((folder / "cat" / "a.png").read_bytes())
    by_name = {Path(one.raw.path).name: one for one in read_pictures(folder, "train", Ledger())}
    assert by_name["a.png"].key() == by_name["twin.png"].key()
    assert by_name["a.png"].answer() != by_name["twin.png"].answer()


def test_a_folder_without_classes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no folder with pictures in it; a folder for each class is expected"):
        read_pictures(tmp_path, "train", Ledger())
    draw(tmp_path / "a.png")
    with pytest.raises(DataError, match="but 1 pictures of its own"):
        read_pictures(tmp_path, "train", Ledger())


def test_a_folder_with_nothing_readable_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cat").mkdir()
    (tmp_path / "cat" / "a.png").write_bytes(b"\x89PNG")
    with pytest.raises(DataError, match=r"none of 1 files is a readable picture: .*a\.png: no known format"):
        read_pictures(tmp_path, "train", Ledger())


@pytest.mark.parametrize("name", ["list.csv", "list.tsv", "list.jsonl"])
def test_a_table_of_paths_and_labels(folder: Path, name: str) -> None:
    absolute = folder / "dog" / "c.gif"
    rows = [("cat/a.png", "cat"), (str(absolute), "dog"), ("cat/none.png", "cat"), ("", "cat")]
    if name.endswith("jsonl"):
        text = "".join(f'{{"file": "{path}", "animal": "{label}"}}\n' for path, label in rows)
    else:
        separator = "," if name.endswith("csv") else "\t"
        text = "".join(f"{path}{separator}{label}\n" for path, label in [("file", "animal"), *rows])
    table = folder / name
    table.write_text(text)
    ledger = Ledger()
    pictures = read_pictures(table, "train", ledger, PictureOptions(image="file", label="animal"))
    first = 1 if name.endswith("jsonl") else 2
    assert [(one.raw.path, one.label, one.line) for one in pictures] == [
        (str(folder / "cat" / "a.png"), "cat", first), (str(absolute), "dog", first + 1),
    ]  # fmt: skip
    assert sorted((one.line, one.reason) for one in ledger.exceptions) == [
        (first + 2, "not a readable picture"), (first + 3, "no file"),
    ]  # fmt: skip
    assert "no such file" in next(one.detail for one in ledger.exceptions if one.line == first + 2)
    ledger.check()


def test_a_path_where_nothing_is_found(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no file .*pictures"):
        read_pictures(tmp_path / "pictures", "train", Ledger())


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_idx_files_plain_and_packed(tmp_path: Path, suffix: str) -> None:
    images = write_idx(tmp_path / f"train-images-idx3-ubyte{suffix}", PIXELS)
    write_idx(tmp_path / f"train-labels-idx1-ubyte{suffix}", np.array([2, 0, 1, 2, 0], np.uint8))
    ledger = Ledger()
    pictures = read_pictures(images, "train", ledger, PictureOptions(classes=("shirt", "shoe", "bag")))
    assert [one.label for one in pictures] == ["bag", "shirt", "shoe", "bag", "shirt"]
    assert [(one.raw.index, one.line) for one in pictures] == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    assert (read_idx(images) == PIXELS).all()
    assert isinstance(read_idx(images), np.memmap) == (not suffix)
    assert [one.label for one in read_pictures(images, "train", ledger)] == ["2", "0", "1", "2", "0"]
    ledger.check()


def test_idx_counts_that_disagree_are_refused_with_both(tmp_path: Path) -> None:
    images = write_idx(tmp_path / "t10k-images.idx3-ubyte", PIXELS)
    labels = write_idx(tmp_path / "t10k-labels.idx1-ubyte", np.zeros(4, np.uint8))
    with pytest.raises(DataError, match=r"t10k-images\S+ holds 5 pictures, but \S+t10k-labels\S+ 4 labels"):
        read_idx_pair(images, labels)


def test_broken_idx_files_are_refused(tmp_path: Path) -> None:
    labels = write_idx(tmp_path / "labels", np.zeros(5, np.uint8))
    whole = write_idx(tmp_path / "images", PIXELS).read_bytes()
    for name, data, message in (
        ("short", whole[:-3], r"announces 5×3×4 values, 60 bytes, but 57 bytes follow"),
        ("long", whole + b"x", r"60 bytes, but 61 bytes follow"),
        ("foreign", b"P5 28 28", r"is not an idx file: it begins with b'P5 2'"),
        ("empty", b"", r"is not an idx file: it begins with b''"),
        ("packed.gz", gzip.compress(whole)[:-12], r"packed.gz: the compressed file is truncated or broken"),
        ("flat", labels.read_bytes(), r"holds an array of 1 axes of uint8, but pictures are bytes with 3 axes"),
    ):
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(DataError, match=message):
            read_idx_pair(path, labels)
    floats = write_idx(tmp_path / "floats", np.zeros(5, ">f4"), 0x0D)
    with pytest.raises(DataError, match="of float32, but labels are a list of integers"):
        read_idx_pair(tmp_path / "images", floats)


def test_labels_are_found_beside_their_images(tmp_path: Path) -> None:
    images = write_idx(tmp_path / "train-images-idx3-ubyte", PIXELS)
    with pytest.raises(DataError, match="holds pictures only; their labels are expected beside it"):
        labels_beside(images)
    labels = write_idx(tmp_path / "train-labels-idx1-ubyte.gz", np.zeros(5, np.uint8))
    assert labels_beside(images) == labels
    with pytest.raises(DataError, match="found by its name, which should hold 'images'"):
        labels_beside(tmp_path / "train.idx")


def test_labels_without_a_name_are_refused(tmp_path: Path) -> None:
    images = write_idx(tmp_path / "images-idx3", PIXELS)
    write_idx(tmp_path / "labels-idx1", np.array([0, 1, 2, 3, 4], np.uint8))
    with pytest.raises(DataError, match="has label 4, but 2 names of classes are given, for labels 0 to 1"):
        read_pictures(images, "train", Ledger(), PictureOptions(classes=("a", "b")))


def test_an_example_goes_through_a_record_and_comes_back() -> None:
    example = LabelledPicture(Picture("a.png", digest="ab"), "cat", line=3, origin="list.csv")
    assert LabelledPicture.from_record(example.record()) == example
    assert LabelledPicture.from_record(example.record()).key() == "ab"
    assert LabelledPicture(Picture("images-idx3", 7), "cat").key() == "images-idx3[7]"
