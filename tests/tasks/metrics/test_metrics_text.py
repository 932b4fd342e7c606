"""Exact match and error rates: hand-computed values, and what must be true of any distance."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.core.errors import DataError
from regard.tasks.metrics.text import (
    character_error_rate,
    edit_distance,
    exact_match,
    wilson_interval,
    word_error_rate,
)

short_texts = st.text(alphabet="abc", max_size=9)


def slow_distance(first: str, second: str) -> int:
    """The definition, row by row."""
    above = list(range(len(second) + 1))
    for i, left in enumerate(first, start=1):
        row = [i]
        for j, right in enumerate(second, start=1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (left != right)))
        above = row
    return above[-1]


def test_exact_match_is_identity() -> None:
    found = exact_match(["a", "B", "c ", "d", "é"], ["a", "b", "c", "d", "e\u0301"])
    assert (found.hits, found.total, found.rate) == (2, 5, 0.4)
    assert found.low < 0.4 < found.high


@pytest.mark.parametrize(
    "hits, total, low, high",
    [(8, 10, 0.4901625, 0.9433178), (0, 10, 0.0, 0.2775328), (10, 10, 0.7224672, 1.0)],
)
def test_wilson_by_hand(hits: int, total: int, low: float, high: float) -> None:
    assert wilson_interval(hits, total) == (pytest.approx(low, abs=1e-6), pytest.approx(high, abs=1e-6))


@given(st.integers(1, 500).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_wilson_surrounds_the_rate(counts: tuple[int, int]) -> None:
    low, high = wilson_interval(*counts)
    assert 0 <= low <= counts[0] / counts[1] <= high <= 1


@pytest.mark.parametrize(
    "first, second, expected",
    [("kitten", "sitting", 3), ("", "abc", 3), ("abc", "", 3), ("", "", 0), ("ab", "ba", 2)],
)
def test_edit_distance_by_hand(first: str, second: str, expected: int) -> None:
    assert edit_distance(first, second) == expected


def test_word_error_rate_by_hand() -> None:
    # One word missing; one word replaced and one added: 3 edits, 4 + 3 words.
    found = word_error_rate(["the cat sat", "a big dog sleeps"], ["the cat sat down", "a dog  slept"])
    assert (found.edits, found.length) == (3, 7)
    assert found.rate == pytest.approx(3 / 7)


def test_character_error_rate_by_hand() -> None:
    found = character_error_rate(["sitting", "a b"], ["kitten", "ab"])
    assert (found.edits, found.length, found.rate) == (4, 8, 0.5)


def test_error_rate_may_pass_one() -> None:
    assert word_error_rate(["a b c"], ["d"]).rate == 3


@settings(max_examples=200)
@given(short_texts, short_texts)
def test_fast_equals_slow(first: str, second: str) -> None:
    assert edit_distance(first, second) == slow_distance(first, second)


def test_fast_equals_slow_beyond_a_machine_word() -> None:
    first, second = "abcdefg" * 19, "gabdce" * 23
    assert edit_distance(first, second) == slow_distance(first, second)


@given(short_texts, short_texts, short_texts)
def test_it_is_a_distance(first: str, second: str, third: str) -> None:
    assert edit_distance(first, second) == edit_distance(second, first)
    assert (edit_distance(first, second) == 0) == (first == second)
    assert edit_distance(first, third) <= edit_distance(first, second) + edit_distance(second, third)


def test_messages() -> None:
    with pytest.raises(DataError, match="2 hypotheses against 1 references"):
        exact_match(["a", "b"], ["a"])
    with pytest.raises(DataError, match="nothing to score"):
        word_error_rate([], [])
    with pytest.raises(DataError, match="the references hold no words"):
        word_error_rate(["a"], [" "])
