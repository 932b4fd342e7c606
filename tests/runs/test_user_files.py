"""Files of one's own are read as a run's data are: columns, kinds, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from regard.core.errors import DataError, OptionError, RecipeError
from regard.data.corpus import Corpus
from regard.runs.recipe import Recipe
from regard.runs.user_files import user_corpus


def corpus_of(recipe: dict[str, Any], *files: Path, settings: tuple[str, ...] = ()) -> Corpus[Any]:
    return user_corpus(Recipe.of(recipe), files, settings)


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def examples_of(recipe: dict[str, Any], *files: Path, settings: tuple[str, ...] = ()) -> list[Any]:
    corpus = corpus_of(recipe, *files, settings=settings)
    assert list(corpus.splits) == ["given"]
    return list(corpus.splits["given"])


MOODS = {
    "data": {"kind": "labelled", "train": "gone.csv", "text": "review", "label": "stars"},
    "task": {"kind": "classification"},
}


def test_columns_are_those_of_the_run_whose_own_files_may_be_gone(tmp_path: Path) -> None:
    table = written(tmp_path / "mine.csv", "stars,review,text\n5,fine,x\n1,foul,y\n")
    assert [(one.raw, one.label, one.line) for one in examples_of(MOODS, table)] == [("fine", "5", 2), ("foul", "1", 3)]


def test_a_run_whose_test_split_was_set_aside_reads_other_files(tmp_path: Path) -> None:
    table = written(tmp_path / "mine.csv", "stars,review\n5,fine\n")
    (one,) = examples_of({**MOODS, "data": {**MOODS["data"], "test_size": 100, "validation_size": 10}}, table)
    assert (one.raw, one.label) == ("fine", "5")


def test_columns_can_be_others(tmp_path: Path) -> None:
    table = written(tmp_path / "mine.jsonl", '{"text": "fine", "mood": "good"}\n')
    (one,) = examples_of(MOODS, table, settings=("data.text=text", "data.label=mood"))
    assert (one.raw, one.label) == ("fine", "good")


def test_columns_of_the_test_entry_count_before_those_of_the_table(tmp_path: Path) -> None:
    data = {"kind": "labelled", "train": {"file": "a.csv", "text": "t", "weight": 2.0},
            "test": [{"file": "b.csv", "label": "l"}], "text": "review"}  # fmt: skip
    table = written(tmp_path / "c.tsv", "review\tl\nfine\tgood\n")
    (one,) = examples_of({"data": data, "task": {"kind": "classification"}}, table)
    assert (one.raw, one.label) == ("fine", "good")


def test_several_files_a_folder_and_a_pattern_are_read(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        written(tmp_path / "tables" / name, f"review,stars\n{name},1\n")
    folder = tmp_path / "tables"
    for given in ((folder,), (folder / "*.csv",), (folder / "a.csv", folder / "b.csv")):
        assert [one.raw for one in examples_of(MOODS, *given)] == ["a.csv", "b.csv"]


@pytest.mark.parametrize(
    ("data", "task", "name", "text", "expected"),
    [
        ("world-moods", "classification", "x.csv", "text,label\nfine,happy\n", ("fine", "happy")),
        ("small-world", "translation", "x.tsv", "the cat\tle chat\n", ("the cat", "le chat")),
        ("toy", "translation", "x.tsv", "a b\tb a\n", ("a b", "b a")),
        ("world-tags", "tagging", "x.conll", "the DET\ncat NOUN\n\n", ("the cat", "DET NOUN")),
        ("world-trees", "parsing", "x.mrg", "(S (DT the) (NN cat))", ("the cat", "(S DT NN )")),
        ("world-questions", "question-answering", "x.csv", "question,context,answer\nwho,a cat,cat\n",
         ("who\ta cat", "cat")),
    ],
)  # fmt: skip
def test_a_run_on_data_that_are_made_reads_files_of_the_same_sort(
    data: str, task: str, name: str, text: str, expected: tuple[str, str], tmp_path: Path
) -> None:
    (one,) = examples_of({"data": {"kind": data}, "task": {"kind": task}}, written(tmp_path / name, text))
    assert (one.source, one.target) == expected


def test_running_text_is_read_as_the_run_reads_it(tmp_path: Path) -> None:
    recipe = {"data": {"kind": "text", "train": "gone.txt", "documents": "line"}, "task": {"kind": "language-model"},
              "model": {"kind": "gpt"}}  # fmt: skip
    (text,) = examples_of(recipe, written(tmp_path / "x.txt", "one\ntwo\n"))
    assert text.lines
    assert "".join(text.blocks()) == "one\ntwo\n"


def test_a_folder_of_pictures_is_one_source_with_a_folder_for_each_class(tmp_path: Path) -> None:
    for label in ("cross", "ring"):
        (tmp_path / "shapes" / label).mkdir(parents=True)
        Image.fromarray(np.zeros((5, 5), np.uint8)).save(tmp_path / "shapes" / label / "one.png")
    recipe = {"data": {"kind": "pictures", "train": "gone"}, "input": {"kind": "image"},
              "model": {"kind": "vit"}, "task": {"kind": "classification"}}  # fmt: skip
    assert [one.label for one in examples_of(recipe, tmp_path / "shapes")] == ["cross", "ring"]


def test_settings_of_the_run_that_mean_nothing_to_these_files_are_left_out(tmp_path: Path) -> None:
    recipe = {"data": {"kind": "tagged", "train": "gone.conll", "word": 2, "tag": 3}, "task": {"kind": "tagging"}}
    table = written(tmp_path / "x.jsonl", json.dumps({"words": ["a", "cat"], "tags": ["DET", "NOUN"]}) + "\n")
    (one,) = examples_of(recipe, table)
    assert one.tags == ("DET", "NOUN")
    (one,) = examples_of(recipe, written(tmp_path / "x.conll", "1 a DET\n2 cat NOUN\n"))
    assert one.words == ("a", "cat")


def test_what_is_left_out_is_counted_with_its_line(tmp_path: Path) -> None:
    corpus = corpus_of(MOODS, written(tmp_path / "x.csv", "review,stars\n,1\nfine,2\nfoul,\n"))
    assert [(one.line, one.reason) for one in corpus.ledger.exceptions] == [(2, "no review"), (4, "no stars")]
    assert len(corpus.splits["given"]) == 1


@pytest.mark.parametrize(
    ("name", "text", "settings", "message"),
    [
        ("x.csv", "", (), "x.csv is empty; the first line of a table names its columns, 'review' among them"),
        ("x.csv", "review,stars\n", (), r"there is nothing to score in .*x.csv \(empty\)"),
        ("x.csv", "review,stars\n,1\n", (), r"there is nothing to score in .*x.csv \(line 2: no review\)"),
        ("x.csv", "review,mood\nfine,1\n", (), r"no column 'stars'.*first line names: review, mood\. .* --set data\."),
        ("x.csv", "a,b\n", ("data.labl=a",), "data.labl: unknown key .did you mean 'label'"),
        ("x.csv", "a,b\n", ("task.max_length=3",), "--set data.KEY=VALUE, as in data.label=mood; found task.max_"),
        ("x.csv", "a,b\n", ("data.test=y.csv",), "--set data.KEY=VALUE"),
    ],
)
def test_what_cannot_be_scored_is_refused(
    name: str, text: str, settings: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    table = written(tmp_path / name, text)
    with pytest.raises((DataError, OptionError, RecipeError), match=message):
        corpus_of(MOODS, table, settings=settings)


def test_a_file_that_is_missing_is_named_with_similar_ones(tmp_path: Path) -> None:
    written(tmp_path / "mine.csv", "")
    with pytest.raises(DataError, match=r"no file .*mine\.tsv; similar names in that folder: mine\.csv$"):
        corpus_of(MOODS, tmp_path / "mine.tsv")


def test_data_that_read_no_files_ask_for_a_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = (
        "from regard.data import DataPart\n\nclass Made(DataPart):\n"
        "    def load(self, seed, ledger):\n        raise AssertionError\n"
    )
    written(tmp_path / "made_up.py", module)
    monkeypatch.syspath_prepend(tmp_path)
    table = written(tmp_path / "x.tsv", "a\tb\n")
    recipe = {"data": {"kind": "made_up:Made"}}
    with pytest.raises(OptionError, match="'made_up:Made' reads no files; say how these are to be read, as in --set"):
        corpus_of(recipe, table)
    (pair,) = examples_of(recipe, table, settings=("data.kind=pairs",))
    assert (pair.source, pair.target) == ("a", "b")
