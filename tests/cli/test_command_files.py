"""``regard train FILE`` and ``regard init FILE``: files of one's own become a run, or a recipe, in one command."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.cli.command import regard

WORDS = ("red", "green", "blue", "house", "tree", "river", "small", "large", "old", "new")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    chance = random.Random(1)
    texts = [" ".join(chance.choices(WORDS, k=7)) for _ in range(200)]
    path = tmp_path / "colours.csv"
    path.write_text("text,label\n" + "".join(f"{text},{'warm' if 'red' in text else 'cold'}\n" for text in texts))
    return path


def test_a_table_becomes_a_run_that_answers(table: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = regard("train", table, "--out", run, "--budget", "10m", "--json")
    assert done.json["run"] == str(run)
    assert "found    2 labels: " in done.err
    assert "so       'text' has the texts" in done.err
    assert 'decided  task.kind = "classification"  2 labels' in done.err
    assert "looking at the files …" in done.err
    assert regard("predict", run, "red house red river old new red").lines[0].split("\t")[0] in ("warm", "cold")
    assert regard("evaluate", run, "--json").json["split"] == "test"  # set aside from the table
    again = regard("train", table, "--out", run, "--resume")
    assert f"continue with: regard train {run}/recipe.toml --out {run} --resume" in again.error


def test_init_writes_a_recipe_that_trains(table: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "mine" / "colours.toml"
    done = regard("init", table, "--out", recipe, "--budget", "10m", "--set", "training.steps=5")
    assert done.code == 0, done.err
    text = recipe.read_text()
    assert text.startswith("# colours.csv: 200 rows, columns text, label\n")
    assert "steps = 5 " in text
    assert regard("train", recipe, "--out", tmp_path / "run", "--json").json["steps"] == 5
    assert f"{recipe} exists; choose another --out" in regard("init", table, "--out", recipe).error


@pytest.mark.parametrize(
    "words, message",
    [
        (["train", "copy", "--label-column", "label", "--out", "x"], "--label-column describe files to train on"),
        (["train", "nowhere.csv", "--out", "x"], "no file nowhere.csv; "),
        (["init", "copy", "--out", "x.toml"], "copy is a recipe; init takes files"),
        (["init", "nowhere.csv", "--out", "x.toml"], "no file nowhere.csv; "),
        (["init", "{table}", "--out", "x.toml", "--budget", "300steps"], "--budget is a time here, as 10m"),
        (["train", "{table}", "--out", "x", "--budget", "300steps"], "with files --budget is a time, as 10m"),
        (["train", "{table}", "--out", "x", "--label-column", "labl"], "label"),
        (["train", "{table}", "--out", "x", "--budget", "0.01s"], "too few to learn anything"),
    ],
)
def test_what_cannot_be_done_is_said(
    words: list[str], message: str, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    failed = regard(*(word.replace("{table}", str(table)) for word in words))
    assert failed.code == 1
    assert message in failed.err
    assert "Traceback" not in failed.err
    assert not list((tmp_path / "x").glob("*")) if (tmp_path / "x").exists() else True
