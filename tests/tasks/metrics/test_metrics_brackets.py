"""Bracket scores: figures that a hand can count, intervals that surround them, trees that cannot be compared."""

from __future__ import annotations

import pytest

from regard.core.errors import DataError
from regard.data.trees import Tree, parse
from regard.tasks.metrics.brackets import bracket_scores, brackets, paired_brackets

GOLD = parse("(S (NP (PRP I)) (VP (VBD saw) (NP (NP (DT a) (NN man)) (PP (IN with) (NP (DT a) (NN dog))))))")
ATTACHED = parse("(S (NP (PRP I)) (VP (VBD saw) (NP (DT a) (NN man)) (PP (IN with) (NP (DT a) (NN dog)))))")
SHORT = parse("(S (NP (PRP she)) (VP (VBD slept)))")
RENAMED = parse("(S (NP (NN she)) (ADJP (VBD slept)))")


def test_brackets_are_counted_without_tags_and_as_often_as_they_stand() -> None:
    assert brackets(GOLD) == {
        ("S", 0, 7): 1, ("NP", 0, 1): 1, ("VP", 1, 7): 1, ("NP", 2, 7): 1, ("NP", 2, 4): 1, ("PP", 4, 7): 1,
        ("NP", 5, 7): 1,
    }  # fmt: skip
    assert brackets(parse("(NP (NP (NP (NN dogs))))")) == {("NP", 0, 1): 3}
    assert brackets(parse("(NP the (NN dog))")) == {("NP", 0, 2): 1}
    assert not brackets(parse("(NN dog)"))


def test_scores_by_hand() -> None:
    # GOLD has 7 brackets and ATTACHED the same but NP 2-7; SHORT has 3, of which RENAMED has 2 under their labels.
    found = bracket_scores([ATTACHED, RENAMED], [GOLD, SHORT])
    assert found.precision == pytest.approx(8 / 9)
    assert found.recall == pytest.approx(8 / 10)
    assert found.f1 == pytest.approx(16 / 19)
    assert found.unlabelled_f1 == pytest.approx(18 / 19)
    assert found.tag_accuracy == pytest.approx(8 / 9)


def test_a_bracket_that_stands_twice_matches_no_more_often_than_it_should() -> None:
    twice, once = parse("(NP (NP (NN dogs)))"), parse("(NP (NN dogs))")
    found = bracket_scores([twice], [once])
    assert (found.precision, found.recall) == (0.5, 1.0)
    found = bracket_scores([once], [twice])
    assert (found.precision, found.recall) == (1.0, 0.5)


def test_sentences_weigh_by_their_brackets() -> None:
    """Micro-averaged: 7 of 7 and 0 of 3 are 7 of 10, not the mean of 1 and 0."""
    wrong = parse("(X (Y (PRP she)) (Z (VBD slept)))")
    assert bracket_scores([GOLD, wrong], [GOLD, SHORT]).f1 == pytest.approx(0.7)


def test_the_interval_surrounds_the_score_and_comes_from_the_seed() -> None:
    predicted, references = [GOLD, ATTACHED, SHORT, RENAMED] * 5, [GOLD, GOLD, SHORT, SHORT] * 5
    found = bracket_scores(predicted, references)
    assert found.low < found.f1 < found.high < 1
    assert bracket_scores(predicted, references) == found
    assert bracket_scores(predicted, references, seed=2).low != found.low
    wider = bracket_scores(predicted[:4], references[:4])
    assert wider.high - wider.low > found.high - found.low
    perfect = bracket_scores(references, references)
    assert (perfect.low, perfect.f1, perfect.high) == (1.0, 1.0, 1.0)


def test_trees_without_brackets_have_nothing_wrong() -> None:
    word = parse("(NN dog)")
    assert bracket_scores([word], [word]).f1 == 1
    assert bracket_scores([word], [parse("(NP (NN dog))")]).f1 == 0
    found = bracket_scores([parse("(NP (NN dog))")], [word])
    assert (found.precision, found.recall, found.f1) == (0.0, 0.0, 0.0)


def test_two_parsers_are_told_apart_where_there_is_reason_to() -> None:
    references = [GOLD, SHORT] * 20
    better, worse = references, [ATTACHED, RENAMED] * 20
    found = paired_brackets(worse, better, references)
    assert found.difference == pytest.approx(100 - 100 * 16 / 19)
    assert found.significant
    assert found.sentence.startswith("System B scores 15.79 bracket F1 more than system A (100.00 against 84.21)")
    turned = paired_brackets(better, worse, references)
    assert (turned.difference, turned.p_value) == (-found.difference, found.p_value)
    assert paired_brackets(better, better, references).p_value == 1
    mixed = [GOLD, RENAMED, ATTACHED, SHORT] * 2
    chance = paired_brackets(mixed[:4], [ATTACHED, SHORT, GOLD, RENAMED], [GOLD, SHORT, GOLD, SHORT])
    assert not chance.significant


@pytest.mark.parametrize(
    ("predicted", "words"),
    [
        ([GOLD], "1 trees against 2 references"),
        ([GOLD, GOLD], "trees can be compared over the same words only: sentence 2: 7 words against 2"),
    ],
)
def test_what_cannot_be_compared_is_named(predicted: list[Tree], words: str) -> None:
    with pytest.raises(DataError, match=words):
        bracket_scores(predicted, [GOLD, SHORT])
