"""``regard train tags``, predict and evaluate, as a terminal shows them."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import regard, small_run


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_run("tags", tmp_path_factory.mktemp("tags") / "run", test=7, compositional=3)


def test_a_line_of_words_and_tags_for_each_line(tagger: Path) -> None:
    lines = regard("predict", tagger, stdin="the cat  sleeps\n\na dog\n").lines
    assert [len(line.split()) for line in lines] == [3, 0, 2]
    assert [word.rpartition("/")[0] for word in lines[0].split()] == ["the", "cat", "sleeps"]
    assert {word.rpartition("/")[2] for line in lines for word in line.split()} <= {
        "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "NOUN", "NUM", "PART", "PRON", "SCONJ", "VERB",
    }  # fmt: skip


def test_evaluation_shows_both_splits_with_their_intervals(tagger: Path) -> None:
    found = regard("evaluate", tagger)
    assert found.code == 0, found.err
    shown = {line.split("  ")[0]: line for line in (found.out + found.err).splitlines() if line}
    assert shown["score"].split() == ["score", "test", "compositional"]
    assert shown["accuracy"].count("–") == 2
    assert shown["macro f1"].count("–") == 2
    scores = regard("evaluate", tagger, "--json").json
    assert scores["words"] > scores["sentences"] == 7
    assert scores["compositional_sentences"] == 3
    assert "entity_f1" not in scores
