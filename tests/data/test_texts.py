"""Running text: split without overlap, read in blocks, nothing lost, and clear words about what cannot be read."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.core.errors import DataError
from regard.data import texts
from regard.data.ledger import Ledger
from regard.data.sources.text_files import PythonCode, PythonEnglish, TextFiles
from regard.data.texts import HeldText, cut_blocks, divide_file


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
    blocks = list(HeldText("held", text).blocks())
    assert len(blocks) > 5
    assert "".join(blocks) == text


@pytest.mark.parametrize("text", ["plain text, thirty signs long.", "äöüßéñ🙂漢字かな" * 3, "a"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.34, 0.9])
def test_both_parts_of_a_file_make_the_file(tmp_path: Path, text: str, share: float) -> None:
    """Wherever the cut falls, it never goes through a character."""
    path = tmp_path / "text.txt"
    path.write_text(text, encoding="utf-8")
    parts = divide_file(path, share, at_lines=False)
    assert "".join(map(whole, parts)) == text
    assert parts[-1].ends
    if len(parts) == 2:
        assert not parts[0].ends, "the document goes on in the other split"


def test_the_cut_of_plain_text_is_where_everybody_cuts_it(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("x" * 1_003, encoding="utf-8")
    first, second = divide_file(path, 0.1, at_lines=False)
    assert (len(whole(first)), len(whole(second))) == (int(0.9 * 1_003), 101)


def test_lines_stay_whole_where_they_are_documents(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("one line\ntwo lines\nthree lines\nfour", encoding="utf-8")
    first, second = divide_file(path, 0.5, at_lines=True)
    assert whole(first) == "one line\ntwo lines\n"
    assert first.ends
    assert whole(second) == "three lines\nfour"


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "bom.txt"
    path.write_bytes(b"\xef\xbb\xbfhello")
    assert whole(divide_file(path, 0.0, at_lines=False)[0]) == "hello"


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
