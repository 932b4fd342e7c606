"""A parser at the command line: one sentence in, one bracketed tree out, and a table of its bracket scores."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import regard, settings

from regard.data.trees import parse

TEXTS = ("the cat sat on the mat", "a ( strange ) zebra")


@pytest.fixture(scope="module")
def parser(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """It has learned nothing: what holds of its answers holds of any model's."""
    folder = tmp_path_factory.mktemp("parser") / "run"
    sizes = (
        "training.steps=2", "data.train_size=300", "data.test_size=11", "data.compositional_size=7",
        "task.max_length=60",
    )  # fmt: skip
    assert regard("train", "parse-small-world", "--out", folder, "--json", *settings(*sizes)).json["steps"] == 2
    return folder


def test_a_sentence_becomes_a_line_with_its_tree(parser: Path) -> None:
    lines = regard("predict", parser, *TEXTS).lines
    assert [" ".join(parse(line).words()) for line in lines] == list(TEXTS)
    assert regard("predict", parser, *TEXTS, "--json").json == {"inputs": list(TEXTS), "outputs": lines}


def test_scores_are_shown_and_compared(parser: Path) -> None:
    table = regard("evaluate", parser, "--against", parser).out
    for name in ("bracket f1", "bracket precision", "bracket recall", "exact match", "repaired", "compositional"):
        assert name in table
    assert "bracket F1: there is no difference to test" in table
    scores = regard("evaluate", parser, "--json").json
    assert 0 <= scores["bracket_f1_low"] <= scores["bracket_f1"] <= scores["bracket_f1_high"] <= 1
    assert scores["compositional_sentences"] == 7
