"""Run folders that commit a6a36e2 made are loaded, answer and are scored as they were then."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import regard
from regard.cli.main import main
from regard.runs.evaluate import evaluate

FIXTURES = Path(__file__).parent / "fixtures" / "a6a36e2"
EXPECTED: dict[str, dict[str, Any]] = json.loads((FIXTURES / "expected.json").read_text(encoding="utf-8"))
NUMBER = re.compile(r"-?\d+\.\d+")
ROUNDED = 1.01e-4  # a number in a text has at least four digits after the point, the last of which may fall either way


@pytest.fixture(params=sorted(EXPECTED))
def name(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a run, whose copy stands below the working folder with the files that some were trained on."""
    for folder in (request.param, "files"):
        shutil.copytree(FIXTURES / folder, tmp_path / folder)
    monkeypatch.chdir(tmp_path)
    return request.param


def assert_same_text(found: str, expected: str) -> None:
    """Word for word; numbers in a text (probabilities, vectors) as far as they were written out."""
    assert NUMBER.sub("#", found) == NUMBER.sub("#", expected)
    numbers, wanted = ([float(number) for number in NUMBER.findall(text)] for text in (found, expected))
    assert numbers == pytest.approx(wanted, abs=ROUNDED)


def assert_same_figures(found: Any, expected: Any, where: str = "scores") -> None:
    """Every figure that was recorded is there; others may have come to be."""
    if isinstance(expected, dict):
        for key, wanted in expected.items():
            assert key in found, f"{where} has no {key}"
            assert_same_figures(found[key], wanted, f"{where}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for place, (one, wanted) in enumerate(zip(found, expected)):
            assert_same_figures(one, wanted, f"{where}[{place}]")
    else:
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-5), where


def test_every_folder_is_expected() -> None:
    folders = {path.name for path in FIXTURES.iterdir() if path.is_dir()} - {"files"}
    assert folders == EXPECTED.keys()


def test_it_predicts_as_before(name: str) -> None:
    expected = EXPECTED[name]
    run = regard.load(name)
    assert run.recipe.task.kind == expected["task"]
    for found, wanted in zip(run.predict(expected["inputs"]), expected["predictions"], strict=True):
        assert_same_text(found, wanted)
    best = [answers[0].log_probability for answers in run.answers(expected["inputs"])]
    assert best == pytest.approx(expected["log_probabilities"], rel=1e-6, abs=1e-5)


def test_the_command_line_predicts_as_before(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    expected = EXPECTED[name]
    with pytest.raises(SystemExit) as left:
        main(["predict", name, *expected["inputs"]])
    said = capsys.readouterr()
    assert not left.value.code, said.err
    for found, wanted in zip(said.out.splitlines(), expected["command_line"], strict=True):
        assert_same_text(found, wanted)


def test_it_is_scored_as_before(name: str) -> None:
    scores = evaluate(regard.load(name))
    assert_same_figures(json.loads(json.dumps(scores)), EXPECTED[name]["scores"])
