"""``regard evaluate``: simple methods, classes, files of one's own, as a terminal shows them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from command import regard, small_run

from regard.cli.tables.score_tables import order_of, show_scores


@pytest.fixture(scope="module")
def mood(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_run("mood", tmp_path_factory.mktemp("mood") / "run", test=9, compositional=4)


def test_simple_methods_are_shown_for_each_split(mood: Path) -> None:
    lines = regard("evaluate", mood).lines
    first = next(place for place, line in enumerate(lines) if line.startswith("simple methods"))
    assert lines[first].split()[2:] == ["accuracy", "macro", "f1", "fitted", "on"]
    names = [re.split("  +", line)[0] for line in lines[first + 1 : first + 4]]
    assert names == ["this run", "most frequent class", "naive Bayes on words"]
    assert any(line.startswith("on compositional") for line in lines)
    own = regard("evaluate", mood, "--json").json
    assert f"{own['yardsticks']['naive Bayes on words']['accuracy']:.4f}" in lines[first + 3]
    assert (own["verdict"] in lines) == bool(own["verdict"])


def test_they_can_be_left_out(mood: Path) -> None:
    told = regard("evaluate", mood, "--no-yardsticks").out
    assert "simple methods" not in told
    assert "always the most frequent" in told


def test_files_of_ones_own_are_scored_with_columns_of_their_own(mood: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("review,feeling\nthe happy boy plays,happy\n,sad\na sad king cried,sad\n")
    options = ("--data", tmp_path / "mine.csv", "--set", "data.text=review", "--set", "data.label=feeling")
    lines = regard("evaluate", mood, *options).lines
    assert lines[0].split() == ["score", "given"]
    assert "1 line was left out (no review): 3" in lines
    told = regard("evaluate", mood, "--data", tmp_path / "mine.csv").error.replace("\n", " ")
    assert "has no column 'text'; its first line names: review, feeling" in told


def test_options_that_do_not_go_together_are_refused(mood: Path) -> None:
    told = regard("evaluate", mood, "--data", "a.csv", "--source", "b", "--reference", "c").error
    assert "--data and --source both name what is scored" in told
    assert "give --data too" in regard("evaluate", mood, "--set", "data.label=x").error


def test_a_folder_that_cannot_be_written_is_told_in_one_sentence(mood: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    for path in mood.iterdir():
        if path.name != "scores.json":
            (run / path.name).symlink_to(path)
    (run / "scores.json").mkdir()
    found = regard("evaluate", run)
    assert found.code == 0
    assert found.lines[-1] == f"note: {run}/scores.json could not be written: Is a directory"
    assert "accuracy" in found.out


# -- tables, of scores that are given -----------------------------------------------------------------------------


def class_scores(counts: Sequence[Sequence[int]]) -> dict[str, Any]:
    labels = [f"c{place}" for place in range(len(counts))]
    figures = {"precision": 0.5, "recall": 0.25, "f1": 1 / 3}
    classes = {label: {**figures, "examples": sum(row)} for label, row in zip(labels, counts, strict=True)}
    return {"split": "test", "accuracy": 0.5, "labels": labels, "confusion": counts, "classes": classes}


def shown(scores: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> list[str]:
    show_scores(scores)
    return capsys.readouterr().out.splitlines()


def test_two_classes_have_their_confusion_too(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(class_scores([[5, 2], [1, 7]]), capsys)
    assert ["true", "↓", "predicted", "→", "c0", "c1"] in [line.split() for line in lines]
    assert ["c0", "5", "2"] in [line.split() for line in lines]
    assert ["c1", "0.5000", "0.2500", "0.3333", "8"] in [line.split() for line in lines]


def test_of_many_classes_the_frequent_and_the_confused_ones_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    counts = [[row if row == column else 0 for column in range(15)] for row in range(15)]
    counts[3][14], counts[14][3], counts[2][1] = 9, 4, 1
    lines = [line.split() for line in shown(class_scores(counts), capsys)]
    assert [line[0] for line in lines if len(line) == 5 and line[0] != "class"][:12] == [
        "c14", "c13", "c3", "c12", "c11", "c10", "c9", "c8", "c7", "c6", "c5", "c4",
    ]  # fmt: skip
    assert ["the", "12", "most", "frequent", "of", "15", "classes;", "--json", "has", "all"] in lines
    assert lines[-3:] == [["c3", "c14", "9"], ["c14", "c3", "4"], ["c2", "c1", "1"]]


def test_scores_that_fit_the_data_come_first() -> None:
    names = {"bleu": 0.0, "chrf": 1.0, "exact_match": 0.78, "character_error_rate": 0.1, "token_accuracy": 0.9}
    assert [one for one in order_of({**names, "leading": ["bleu", "chrf"]}) if one in names][:3] == [
        "bleu", "chrf", "exact_match",
    ]  # fmt: skip
    short = [one for one in order_of({**names, "leading": ["exact_match", "character_error_rate"]}) if one in names]
    assert short == ["exact_match", "character_error_rate", "token_accuracy", "chrf", "bleu"]
