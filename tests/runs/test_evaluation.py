"""Scores with yardsticks beside them: what is kept, what is told, and folders that cannot be written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import regard
from regard.core.errors import DataError
from regard.runs.evaluate import evaluate

WORDS = {"fine": "good", "sweet": "good", "lovely": "good", "foul": "bad", "sour": "bad", "awful": "bad"}
ROWS = [
    f"the {thing} was {word},{mood}"
    for thing in ("soup", "film", "day", "bread", "song")
    for word, mood in WORDS.items()
]
SETTINGS = ["data.kind=labelled", "model.width=8", "model.layers=1", "training.steps=2", "training.threads=1"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has hardly learned anything of texts whose words tell their class."""
    folder = tmp_path_factory.mktemp("evaluation")
    for split, rows in (("train", ROWS[:24]), ("validation", ROWS[:6]), ("test", ROWS[24:])):
        (folder / f"{split}.csv").write_text("\n".join(["text,label", *rows]))
    files = [f"data.{split}={folder / split}.csv" for split in ("train", "validation", "test")]
    regard.train("mood", folder / "run", [*SETTINGS, *files])
    return folder


@pytest.fixture
def copied(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained / "run", tmp_path / "run"))


def test_simple_methods_stand_beside_the_scores_and_are_kept(copied: Path) -> None:
    scores = evaluate(regard.load(copied))
    assert scores["accuracy"] < 1
    assert list(scores["yardsticks"]) == ["most frequent class", "naive Bayes on words"]
    bayes = scores["yardsticks"]["naive Bayes on words"]
    assert bayes == {"accuracy": 1.0, "macro_f1": 1.0, "fitted_on": "24 texts"}
    told = f"accuracy {scores['accuracy']:.4f} against 1.0000"
    assert scores["verdict"] == f"The model is below the simple method 'naive Bayes on words': {told}."
    assert json.loads((copied / "scores.json").read_text())["yardsticks"] == scores["yardsticks"]


def test_without_yardsticks_nothing_is_said_of_them(copied: Path) -> None:
    evaluate(regard.load(copied))
    scores = evaluate(regard.load(copied), yardsticks=False)
    assert not {"yardsticks", "verdict"} & scores.keys()
    assert "verdict" not in json.loads((copied / "scores.json").read_text())  # it was about other scores


def test_scores_of_given_files_are_not_kept(copied: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("text,label\nthe tea was sweet,good\n,bad\nthe tea was foul,bad\n")
    scores = evaluate(regard.load(copied), data=[tmp_path / "mine.csv"])
    assert scores["split"] == "given"
    assert scores["examples"] == 2
    assert [(one["line"], one["reason"]) for one in scores["skipped"]] == [(3, "no text")]
    assert scores["yardsticks"]["naive Bayes on words"]["accuracy"] == 1.0
    assert not (copied / "scores.json").exists()


def test_a_label_that_the_run_does_not_know_is_refused(copied: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("text,label\nthe tea was sweet,funny\n")
    with pytest.raises(DataError, match=r"no training example has \(known: bad, good\).*'funny' \(.*csv, line 2\)"):
        evaluate(regard.load(copied), data=[tmp_path / "mine.csv"])


def test_without_the_runs_own_files_given_ones_are_scored_and_that_is_said(copied: Path, tmp_path: Path) -> None:
    recipe = copied / "recipe.toml"
    recipe.write_text(recipe.read_text().replace("train.csv", "gone.csv"))
    (tmp_path / "mine.csv").write_text("text,label\nthe tea was sweet,good\n")
    scores = evaluate(regard.load(copied), data=[tmp_path / "mine.csv"])
    assert 0 <= scores["accuracy"] <= 1
    assert "gone.csv" in scores["without_yardsticks"]
    assert "yardsticks" not in scores


def test_a_place_that_cannot_be_written_loses_no_scores(copied: Path) -> None:
    (copied / "scores.json").mkdir()
    scores = evaluate(regard.load(copied))
    assert 0 <= scores["accuracy"] <= 1
    assert scores["not_kept"] == f"{copied / 'scores.json'} could not be written: Is a directory"


def test_a_validation_split_that_was_set_aside_teaches_no_simple_method(tmp_path: Path) -> None:
    """Files that have grown hold, as training examples, what the run had set aside."""
    table = tmp_path / "all.csv"
    table.write_text("\n".join(["text,label", *ROWS]))
    regard.train("mood", tmp_path / "run", [*SETTINGS, f"data.train={table}", "data.validation_size=3"])
    more = [f"the tea was {word},good" for word in ("fine", "sweet", "hot", "cold", "green", "black", "old")]
    table.write_text("\n".join(["text,label", *more, *ROWS]))
    scores = evaluate(regard.load(tmp_path / "run"))
    assert scores["split"] == "validation"
    fitted_on = int(scores["yardsticks"]["naive Bayes on words"]["fitted_on"].split()[0])
    held = len((tmp_path / "run" / "validation.jsonl").read_text().splitlines())
    assert held == scores["examples"] == 3
    drawn_again = 3  # and set aside once more, of the longer file
    assert len(ROWS) + len(more) - drawn_again - held <= fitted_on <= len(ROWS) + len(more) - drawn_again
