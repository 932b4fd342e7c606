"""Running text: split without overlap, read in blocks, nothing lost, and clear words about what cannot be read."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from regard.core.errors import DataError
from regard.data import texts
from regard.data.ledger import Ledger
from regard.data.sources.text_files import PythonCode, PythonEnglish, TextFiles
from regard.data.texts import FileText, TextInMemory, cut_blocks, divide_file


def whole(text: texts.Text) -> str:
    return "".join(text.blocks())


@given(st.lists(st.text(alphabet="ab \n\té🙂.", max_size=30), max_size=12))
def test_blocks_are_the_text_cut_before_single_spaces(pieces: list[str]) -> None:
    blocks = list(cut_blocks(iter(pieces)))
    assert "".join(blocks) == "".join(pieces)
    for before, after in pairwise(blocks):
        assert not before[-1].isspace()
        assert after[0] == " "
        assert not after[1].isspace()


def test_a_long_text_comes_in_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "BLOCK", 64)
    text = "some words and then some more " * 30
    blocks = list(TextInMemory("held", text).blocks())
    assert len(blocks) > 5
    assert "".join(blocks) == text


@pytest.mark.parametrize("text", ["plain text, thirty signs long.", "äöüßéñ🙂漢字かな" * 3, "a"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.34, 0.9])
def test_both_parts_of_a_file_make_the_file(tmp_path: Path, text: str, share: float) -> None:
    """Wherever the cut falls, it never goes through a character."""
    path = tmp_path / "text.txt"
    path.write_text(text, encoding="utf-8")
    parts = list(divide_file(path, {"validation": share}, at_lines=False).values())
    assert "".join(map(whole, parts)) == text
    assert parts[-1].ends
    if len(parts) == 2:
        assert not parts[0].ends, "the document goes on in the other split"


def test_the_cut_of_plain_text_is_where_everybody_cuts_it(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("x" * 1_003, encoding="utf-8")
    first, second = divide_file(path, {"validation": 0.1}, at_lines=False).values()
    assert (len(whole(first)), len(whole(second))) == (int(0.9 * 1_003), 101)


def test_lines_stay_whole_where_they_are_documents(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("one line\ntwo lines\nthree lines\nfour", encoding="utf-8")
    first, second = divide_file(path, {"validation": 0.5}, at_lines=True).values()
    assert whole(first) == "one line\ntwo lines\n"
    assert first.ends
    assert whole(second) == "three lines\nfour"


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "bom.txt"
    path.write_bytes(b"\xef\xbb\xbfhello")
    assert whole(divide_file(path, {"validation": 0.0}, at_lines=False)["train"]) == "hello"


def test_a_folder_is_read_file_by_file(tmp_path: Path) -> None:
    for name, text in (("b.txt", "second file here"), ("a.txt", "first file here"), ("no.md", "not this")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "empty.txt").touch()
    ledger = Ledger()
    corpus = TextFiles(train=str(tmp_path), validation_share=0.25).load(1, ledger)
    assert "".join(map(whole, corpus.splits["train"])) == "first file " + "second file "
    assert "".join(map(whole, corpus.splits["validation"])) == "here" * 2
    assert ledger.total("skipped") == 1
    assert ledger.exceptions[0].reason == "the file is empty"


def test_files_of_their_own_for_validation_and_test(tmp_path: Path) -> None:
    for name in ("train", "validation", "test"):
        (tmp_path / name).write_text(f"this is {name}", encoding="utf-8")
    data = TextFiles(folder=str(tmp_path), train="train", validation="validation", test="test")
    corpus = data.load(1, Ledger())
    assert {split: [whole(text) for text in own] for split, own in corpus.splits.items()} == {
        split: [f"this is {split}"] for split in ("train", "validation", "test")
    }
    assert set(corpus.without_training().splits) == {"validation", "test"}


def test_what_every_python_brings_along() -> None:
    english = PythonEnglish().load(1, Ledger())
    assert sum(len(whole(text)) for text in english.splits["train"]) > 200_000
    code = PythonCode(packages=("json",)).load(1, Ledger())
    assert "def loads(" in "".join(map(whole, code.splits["train"]))


def test_unreadable_bytes_are_named(tmp_path: Path) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes("caf\xe9 ".encode("latin1") * 20)
    with pytest.raises(DataError, match=r"latin\.txt is not UTF-8 near byte 3; convert it"):
        TextFiles(train=str(path)).load(1, Ledger())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, r"needs something to train on: --set data\.train=path/to/file\.txt"),
        ({"train": []}, r"needs something to train on: --set data\.train=path/to/file\.txt"),
        ({"train": "nowhere.txt"}, "nowhere.txt"),
        ({"train": "nowhere", "folder": "gone"}, r"no file .*gone/nowhere; the folder .*gone does not exist"),
        ({"train": "here"}, r"data\.train = 'here': no file in this folder ends in \.txt; for others give a pat"),
        ({"train": "**/*.nothing"}, r"data\.train = '\*\*/\*\.nothing': no file matches \(looked for at /.*\)"),
        ({"train": "empty.txt"}, "there is no text to train on: .*empty.txt is empty"),
    ],
)
def test_what_cannot_be_read_is_said(
    settings: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.txt").touch()
    Path("here").mkdir()
    Path("here/.hidden.txt").write_text("not this")
    with pytest.raises(DataError, match=message):
        TextFiles(**settings).load(1, Ledger())


@settings(max_examples=50)
@given(st.text(alphabet="ab \n\té🙂", max_size=60), st.floats(0, 0.5), st.floats(0, 0.49), st.booleans())
def test_what_tests_stands_behind_what_validates_and_nothing_is_lost(
    text: str, validation: float, test: float, at_lines: bool
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "text.txt"
        path.write_bytes(text.encode())
        parts = divide_file(path, {"validation": validation, "test": test}, at_lines=at_lines)
        assert "".join(map(whole, parts.values())) == text
        assert list(parts) == [split for split in ("train", "validation", "test") if split in parts]
        assert [part.ends for part in parts.values()][-1]
        for part in parts.values():
            assert FileText.from_record(json.loads(json.dumps(part.record()))) == part


def test_the_end_of_a_file_is_set_aside_for_testing(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("".join(f"{number:03}\n" for number in range(200)), encoding="utf-8")
    corpus = TextFiles(train=str(path), test_share=0.2, documents="line").load(1, Ledger())
    found = {split: "".join(map(whole, own)).split() for split, own in corpus.splits.items()}
    assert {split: (lines[0], lines[-1]) for split, lines in found.items()} == {
        "train": ("000", "139"), "validation": ("140", "159"), "test": ("160", "199"),
    }  # fmt: skip
    assert corpus.set_aside == ("validation", "test")
    with pytest.raises(ValidationError, match="test_share leave nothing to train on; together they must be below 1"):
        TextFiles(train=str(path), test_share=0.9)


def test_a_stretch_that_was_set_aside_stays_where_it_was_while_its_file_grows_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one two three four five six seven eight nine ten", encoding="utf-8")
    kept = divide_file(path, {"test": 0.2}, at_lines=False)["test"].record()
    before = whole(FileText.from_record(kept))
    path.write_text(path.read_text() + " eleven twelve", encoding="utf-8")
    assert whole(FileText.from_record(kept)) == before
    path.write_text("zero " + path.read_text(), encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.txt no longer holds, from byte 38 to 48, the text that was set aside"):
        FileText.from_record(kept)
