"""Word alignment: the error rate by hand, pieces to words, weights to links, the choice of a head."""

from __future__ import annotations

import numpy as np
import pytest

from regard.core.errors import DataError
from regard.data.corpus import GoldAlignment
from regard.tasks.metrics.alignment import (
    Link,
    alignment_error_rate,
    choose_head,
    groups,
    head_error_rates,
    links_above,
    links_by_mutual_choice,
    links_from_weights,
    links_in_both_directions,
    score_alignments,
    word_spans,
    words_from_pieces,
)


def gold(sure: set[Link], possible: set[Link]) -> GoldAlignment:
    return GoldAlignment(("a", "b", "c"), ("x", "y", "z"), frozenset(sure), frozenset(possible))


GOLD = [gold({(0, 0), (1, 1)}, {(0, 0), (1, 1), (2, 1)}), gold({(0, 1)}, {(0, 1)})]
PREDICTED = [{(0, 0), (2, 1), (2, 2)}, {(0, 1)}]


def test_error_rate_by_hand() -> None:
    # |A| = 4, |S| = 3, |A ∩ S| = 2, |A ∩ P| = 3: 1 − 5/7, over the corpus and not as a mean of sentences.
    found = score_alignments(PREDICTED, GOLD)
    assert found.error_rate == pytest.approx(2 / 7)
    assert found.precision == pytest.approx(3 / 4)
    assert found.recall == pytest.approx(2 / 3)
    assert alignment_error_rate(PREDICTED, GOLD) == found.error_rate


def test_sure_links_are_possible_without_saying_so() -> None:
    lean = [gold({(0, 0), (1, 1)}, {(2, 1)}), gold({(0, 1)}, set())]
    assert alignment_error_rate(PREDICTED, lean) == pytest.approx(2 / 7)


def test_only_possible_links_cost_nothing_extra() -> None:
    assert alignment_error_rate([{(0, 0), (1, 1), (2, 1)}, {(0, 1)}], GOLD) == 0
    assert alignment_error_rate([set(), set()], GOLD) == 1
    assert alignment_error_rate([{(2, 2)}, {(1, 0)}], GOLD) == 1


def test_word_spans_from_left_to_right() -> None:
    assert word_spans("a cat isn't a cat.", ["a", "cat", "is", "n't", "a", "cat", "."]) == [
        (0, 1), (2, 5), (6, 8), (8, 11), (12, 13), (14, 17), (17, 18)
    ]  # fmt: skip


def test_word_that_is_not_in_the_text() -> None:
    with pytest.raises(DataError, match=r"word 3 of 3, 'cat', is not .* after character 7: found '!'"):
        word_spans("the cat!", ["the", "cat", "cat"])
    with pytest.raises(DataError, match="word 1 of 1, ''"):
        word_spans("the cat", [""])


def test_groups_by_overlap() -> None:
    spans = word_spans("Hello, big world", ["Hello", ",", "big", "world"])
    #         Hel     lo,     " "     big      " wo"    rld       <eos>
    pieces = [(0, 3), (3, 6), (6, 7), (7, 10), (10, 13), (13, 16), (0, 0)]
    assert groups(pieces, spans) == [0, 0, -1, 2, 3, 3, -1]
    assert groups([(1, 3)], [(0, 2), (2, 4)]) == [0]


def test_words_from_pieces_by_hand() -> None:
    weights_TS = np.array(
        [
            [0.1, 0.2, 0.3, 0.15, 0.25],
            [0.3, 0.4, 0.1, 0.15, 0.05],
            [0.0, 0.1, 0.5, 0.20, 0.20],
        ]
    )
    found = words_from_pieces(weights_TS, source_groups=[0, 0, 1, 2, -1], target_groups=[0, 0, -1])
    np.testing.assert_allclose(found, [[0.5, 0.2, 0.15]])
    # A target word without pieces has zeros, and words keep their numbers.
    found = words_from_pieces(weights_TS, source_groups=[-1, 2, 0, 0, -1], target_groups=[2, -1, 0])
    np.testing.assert_allclose(found, [[0.7, 0, 0.1], [0, 0, 0], [0.45, 0, 0.2]])
    assert links_from_weights(found) == {(0, 0), (0, 2)}


def test_words_from_pieces_of_nothing() -> None:
    found = words_from_pieces(np.ones((2, 1)), source_groups=[-1], target_groups=[0, -1])
    assert found.shape == (1, 0)
    assert links_from_weights(found) == set()


def test_rows_sum_to_one_if_no_piece_is_left_out() -> None:
    weights_TS = np.random.default_rng(3).dirichlet(np.ones(7), size=5)
    found = words_from_pieces(weights_TS, [0, 0, 1, 2, 2, 2, 3], [0, 1, 1, 1, 2])
    assert found.shape == (3, 4)
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_shapes_must_agree() -> None:
    with pytest.raises(AssertionError, match=r"weights \(2, 3\) for 3 target and 2 source pieces"):
        words_from_pieces(np.ones((2, 3)), [0, 1], [0, 1, 2])


WORD_WEIGHTS = np.array([[0.6, 0.3, 0.1], [0.5, 0.4, 0.1], [0.1, 0.45, 0.45], [0.0, 0.0, 0.0]])


def test_links_by_each_rule() -> None:
    assert links_from_weights(WORD_WEIGHTS) == {(0, 0), (0, 1), (1, 2)}
    assert links_above(WORD_WEIGHTS, 0.4) == {(0, 0), (0, 1), (1, 1), (1, 2), (2, 2)}
    assert links_by_mutual_choice(WORD_WEIGHTS) == {(0, 0), (1, 2)}
    backward_ST = np.array([[0.1, 0.8, 0.1, 0.0], [0.0, 0.2, 0.7, 0.1], [0.9, 0.0, 0.1, 0.0]])
    assert links_in_both_directions(WORD_WEIGHTS, backward_ST) == {(0, 1), (1, 2)}


def test_choose_head() -> None:
    perfect = [set(truth.sure) for truth in GOLD]
    by_head = {(1, 0): perfect, (0, 2): PREDICTED, (0, 1): perfect}
    assert head_error_rates(by_head, GOLD) == {(1, 0): 0, (0, 2): pytest.approx(2 / 7), (0, 1): 0}
    assert choose_head(by_head, GOLD) == (0, 1)
    assert choose_head({(1, 3): PREDICTED}, GOLD) == (1, 3)


def test_messages() -> None:
    with pytest.raises(DataError, match="1 sentences with predicted links against 2 with gold ones"):
        alignment_error_rate(PREDICTED[:1], GOLD)
    with pytest.raises(DataError, match="neither a predicted nor a sure link"):
        alignment_error_rate([set()], [gold(set(), {(0, 0)})])
    with pytest.raises(DataError, match="no head to choose from"):
        choose_head({}, GOLD)
