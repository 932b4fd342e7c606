"""Exact match and F1 of answers, by hand."""

from __future__ import annotations

import pytest

from regard.core.errors import DataError
from regard.tasks.metrics.answers import answer_scores, is_exact, normal, word_f1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The  Cat's,  an apple!", "cats apple"),
        ("a", ""),
        ("Theatre and a-b", "theatre and ab"),
        ("l’été – 3.5 %", "l’été – 35"),  # only ASCII signs are taken away
    ],
)
def test_what_is_compared(text: str, expected: str) -> None:
    assert normal(text) == expected


def test_f1_counts_words_as_often_as_both_have_them() -> None:
    assert word_f1("the old red cat", "a red cat cat") == pytest.approx(2 * 2 / (3 + 3))
    assert word_f1("dog", "cat") == 0.0
    assert (word_f1("", ""), word_f1("", "cat"), word_f1("the", "an")) == (1.0, 0.0, 1.0)


def test_the_best_of_several_references_counts() -> None:
    assert is_exact("The Old Bridge.", ["London", "old bridge"])
    scores = answer_scores(["the old bridge", "Paris"], [["London", "bridge"], ["Paris", "France"]])
    assert scores["exact_match"] == 0.5
    assert scores["f1"] == pytest.approx((2 / 3 + 1) / 2)
    assert scores["questions"] == 2
    assert scores["exact_match_low"] < 0.5 < scores["exact_match_high"]
    assert 2 / 3 <= scores["f1_low"] <= scores["f1"] <= scores["f1_high"] <= 1.0
    assert "no_answer_accuracy" not in scores


def test_questions_without_an_answer_are_scored_apart() -> None:
    scores = answer_scores(["", "cat", "dog", ""], [[], [], ["dog"], ["bird"]])
    assert (scores["exact_match"], scores["f1"]) == (0.5, 0.5)
    assert (scores["no_answer_accuracy"], scores["without_an_answer"]) == (0.5, 2)
    assert (scores["answerable"]["exact_match"], scores["answerable"]["questions"]) == (0.5, 2)


def test_what_cannot_be_scored_is_refused() -> None:
    with pytest.raises(DataError, match="1 answers against 2 questions"):
        answer_scores(["a"], [["a"], ["b"]])
    with pytest.raises(DataError, match="nothing to score"):
        answer_scores([], [])
