"""Batches: everything once, within the budget, a function of seed and epoch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from regard.core.errors import DataError
from regard.data.batching import cut, epoch_order, in_length_order, mixed_order, parts, round_rows

rows = some.integers(1, 3).flatmap(
    lambda axes: some.lists(some.lists(some.integers(1, 40), min_size=axes, max_size=axes), max_size=60).map(
        lambda made: np.array(made, dtype=np.int64).reshape(-1, axes)
    )
)
budgets = some.integers(40, 300)
seeds = some.integers(0, 2**32)


def padded_size(lengths_NA: np.ndarray, batch: np.ndarray) -> int:
    return len(batch) * int(lengths_NA[batch].max())


def flat(batches: list[np.ndarray]) -> list[int]:
    return [int(index) for batch in batches for index in batch]


@settings(max_examples=80, deadline=None)
@given(rows, budgets, seeds, some.integers(0, 50))
def test_every_example_exactly_once_and_never_beyond_the_budget(
    lengths_NA: np.ndarray, budget: int, seed: int, epoch: int
) -> None:
    orders = [of(lengths_NA, budget, seed, epoch) for of in (epoch_order, mixed_order)]
    for batches in (*orders, in_length_order(lengths_NA, budget)):
        assert sorted(flat(batches)) == list(range(len(lengths_NA)))
        assert all(len(batch) for batch in batches)
        assert all(padded_size(lengths_NA, batch) <= budget for batch in batches)


@settings(max_examples=40, deadline=None)
@given(rows, budgets, seeds, some.integers(0, 50))
def test_the_order_is_a_function_of_seed_and_epoch(
    lengths_NA: np.ndarray, budget: int, seed: int, epoch: int
) -> None:
    before = epoch_order(lengths_NA, budget, seed, epoch)
    np.random.seed(seed % 1000)
    epoch_order(lengths_NA, budget, seed + 1, epoch + 1)
    again = epoch_order(lengths_NA.copy(), budget, seed, epoch)
    assert [batch.tolist() for batch in before] == [batch.tolist() for batch in again]


def test_epochs_and_seeds_differ() -> None:
    lengths_NA = np.arange(1, 201).reshape(100, 2) % 30 + 1
    orders = [epoch_order(lengths_NA, 100, seed, epoch) for seed in (1, 2) for epoch in (0, 1)]
    assert len({tuple(flat(batches)) for batches in orders}) == 4
    members = [frozenset(frozenset(batch.tolist()) for batch in batches) for batches in orders]
    assert len(set(members)) == 4, "also who stands with whom changes"


def test_in_mixed_order_every_batch_is_like_the_whole() -> None:
    lengths_NA = np.repeat([[3], [29]], 200, axis=0)
    batches = mixed_order(lengths_NA, 29 * 40, 1, 0)
    assert len(batches) == 10
    assert all(8 <= int((lengths_NA[batch] == 3).sum()) <= 32 for batch in batches)
    assert flat(batches) == flat(mixed_order(lengths_NA, 29 * 40, 1, 0)) != flat(mixed_order(lengths_NA, 29 * 40, 1, 1))
    weights = [2.0] * 200 + [1.0] * 200
    assert np.bincount(flat(mixed_order(lengths_NA, 29 * 40, 1, 0, weights))).tolist() == [2] * 200 + [1] * 200


def test_neighbours_are_alike_in_length() -> None:
    lengths_NA = np.random.default_rng(1).integers(5, 60, size=(2000, 1)).repeat(2, axis=1)
    batches = epoch_order(lengths_NA, 1000, 1, 0)
    real = int(lengths_NA[:, 0].sum())
    padded = sum(padded_size(lengths_NA, batch) for batch in batches)
    assert real / padded > 0.93


def test_rows_are_multiples_of_eight_where_that_leaves_out_an_eighth_at_most() -> None:
    assert [round_rows(rows) for rows in (1, 12, 15, 16, 17, 31, 33, 63, 64, 71, 72, 1001)] == [
        1, 12, 15, 16, 16, 30, 32, 60, 64, 64, 72, 1000,
    ]  # fmt: skip
    assert all(rows - round_rows(rows) <= rows / 8 for rows in range(1, 300))


def test_what_is_left_over_begins_the_next_batch_if_it_fits() -> None:
    short = np.full((37, 1), 2)
    assert [len(batch) for batch in cut(short, np.arange(37), 2 * 17)] == [16, 16, 5]
    before_a_long_one = np.array([[2]] * 17 + [[34]])
    assert [len(batch) for batch in cut(before_a_long_one, np.arange(18), 2 * 17)] == [17, 1]


def test_validation_begins_with_the_longest() -> None:
    lengths_NA = np.array([[3, 4], [9, 9], [1, 2], [5, 9]])
    assert flat(in_length_order(lengths_NA, 9)) == [1, 3, 0, 2]


def test_an_example_beyond_the_budget_is_named_in_training() -> None:
    with pytest.raises(DataError) as caught:
        epoch_order(np.array([[3, 4], [7, 12], [2, 11]]), 10, 1, 0)
    assert str(caught.value) == (
        "an example of 12 tokens does not fit into training.batch_tokens = 10; raise it, or lower task.max_length"
    )


def test_an_example_beyond_the_budget_is_measured_alone() -> None:
    batches = in_length_order(np.array([[3, 4], [7, 12], [4, 4], [2, 11]]), 10)
    assert [batch.tolist() for batch in batches] == [[1], [3], [2, 0]]


def test_nothing_gives_no_batches() -> None:
    nothing = np.zeros((0, 2), dtype=np.int64)
    assert epoch_order(nothing, 10, 1, 0) == []
    assert in_length_order(nothing, 10) == []


@settings(max_examples=40, deadline=None)
@given(some.lists(some.floats(0.0, 4.0), min_size=1, max_size=30), seeds, some.integers(0, 20))
def test_a_weight_says_how_often_an_example_appears(weights: list[float], seed: int, epoch: int) -> None:
    lengths_NA = np.full((len(weights), 2), 3)
    found = np.bincount(np.array(flat(epoch_order(lengths_NA, 30, seed, epoch, weights)), int), minlength=len(weights))
    for count, weight in zip(found.tolist(), weights, strict=True):
        assert count in (int(np.floor(weight)), int(np.floor(weight)) + (weight % 1 > 0))


def test_weights_come_out_right_on_average() -> None:
    lengths_NA, weights = np.full((4, 1), 3), [0.25, 1.0, 2.5, 0.0]
    epochs = 400
    total = np.zeros(4)
    for epoch in range(epochs):
        total += np.bincount(np.array(flat(epoch_order(lengths_NA, 30, 7, epoch, weights)), int), minlength=4)
    assert total[1] == epochs
    assert total[3] == 0
    assert total / epochs == pytest.approx(weights, abs=0.1)


@given(some.integers(0, 40), some.integers(1, 9))
def test_parts_divide_a_batch_in_order(size: int, count: int) -> None:
    divided = parts(np.arange(size), count)
    assert len(divided) == count
    assert flat(divided) == list(range(size))
    assert max(map(len, divided)) - min(map(len, divided)) <= 1
