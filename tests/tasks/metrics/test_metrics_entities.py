"""Entities against gold values that a hand can count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from regard.tasks.metrics.entities import Span, entity_scores, is_bio, spans

TAGS = some.sampled_from(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"])


def test_well_formed_tags_become_spans() -> None:
    tags = ["B-PER", "I-PER", "O", "B-LOC", "B-LOC", "I-LOC", "I-LOC"]
    assert spans(tags) == [Span("PER", 0, 2), Span("LOC", 3, 4), Span("LOC", 4, 7)]


def test_an_inside_that_follows_nothing_of_its_kind_begins_an_entity() -> None:
    assert spans(["I-PER", "I-PER", "O", "I-LOC"]) == [Span("PER", 0, 2), Span("LOC", 3, 4)]
    assert spans(["B-PER", "I-LOC", "I-LOC", "I-PER"]) == [Span("PER", 0, 1), Span("LOC", 1, 3), Span("PER", 3, 4)]
    assert spans(["B-PER", "O", "I-PER"]) == [Span("PER", 0, 1), Span("PER", 2, 3)]


@given(some.lists(TAGS))
def test_spans_cover_what_is_tagged_once_and_in_order(tags: list[str]) -> None:
    found = spans(tags)
    covered = [place for one in found for place in range(one.start, one.stop)]
    assert covered == [place for place, tag in enumerate(tags) if tag != "O"]
    for one in found:
        assert {tags[place][2:] for place in range(one.start, one.stop)} == {one.label}
        assert all(tags[place].startswith("I-") for place in range(one.start + 1, one.stop))


def test_only_the_exact_span_with_its_label_is_a_hit() -> None:
    gold = [["B-PER", "I-PER", "O", "B-LOC"], ["B-LOC", "I-LOC", "O", "B-PER"], ["O", "O"]]
    # PER right and LOC called PER; LOC one word short and PER right; one entity invented
    predicted = [["B-PER", "I-PER", "O", "B-PER"], ["B-LOC", "O", "O", "I-PER"], ["O", "B-LOC"]]
    scores = entity_scores(gold, predicted)
    assert scores["entity_precision"] == pytest.approx(2 / 5)
    assert scores["entity_recall"] == pytest.approx(2 / 4)
    assert scores["entity_f1"] == pytest.approx(2 * 2 / (5 + 4))
    assert scores["entity_f1_low"] <= scores["entity_f1"] <= scores["entity_f1_high"]
    assert scores["entities"] == 4
    assert scores["entity_types"] == {
        "LOC": {"precision": 0.0, "recall": 0.0, "f1": 0.0, "entities": 2},
        "PER": {"precision": pytest.approx(2 / 3), "recall": 1.0, "f1": pytest.approx(0.8), "entities": 2},
    }


def test_a_begin_instead_of_an_inside_breaks_an_entity() -> None:
    scores = entity_scores([["B-PER", "I-PER"]], [["B-PER", "B-PER"]])
    assert (scores["entity_precision"], scores["entity_recall"]) == (0.0, 0.0)


def test_nothing_there_and_nothing_found_is_no_hit() -> None:
    scores = entity_scores([["O"]], [["O"]])
    assert (scores["entity_f1"], scores["entities"], scores["entity_types"]) == (0.0, 0, {})


def test_which_tags_are_a_scheme() -> None:
    assert is_bio(["O", "B-PER", "I-PER"])
    assert not is_bio(["O"])
    assert not is_bio(["O", "B-PER", "NOUN"])
    assert not is_bio(["DET", "INTJ", "I"])
