"""Batches by token budget and length: a function of (lengths, budget, seed, epoch) and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from regard.core.errors import DataError

LENGTH_NOISE = 2.0  # so that equal epochs do not make equal batches; costs a per cent of padding


def epoch_order(
    lengths_NA: np.ndarray, budget: int, seed: int, epoch: int, weights: Sequence[float] = ()
) -> list[np.ndarray]:
    """One epoch: batches of example indices, alike in length, in random order.

    With weights, an example of weight 2.5 appears twice in every epoch and a third time in half of them.
    """
    generator = np.random.default_rng((seed, epoch))
    chosen = _shuffled(len(lengths_NA), weights, generator)
    noisy = lengths_NA[chosen].astype(np.float64)
    noisy[:, 0] += generator.uniform(0, LENGTH_NOISE, len(noisy))  # the last axis, the target, is kept exact
    by_length = chosen[np.lexsort(noisy.T)]
    check_example_lengths(lengths_NA, budget)  # also what only a later epoch will draw
    batches = cut(lengths_NA, by_length, budget)
    return [batches[index] for index in generator.permutation(len(batches))]


def mixed_order(
    lengths_NA: np.ndarray, budget: int, seed: int, epoch: int, weights: Sequence[float] = ()
) -> list[np.ndarray]:
    """One epoch in random order, whatever the lengths: more padding, but every batch is like the whole."""
    chosen = _shuffled(len(lengths_NA), weights, np.random.default_rng((seed, epoch)))
    check_example_lengths(lengths_NA, budget)
    return cut(lengths_NA, chosen, budget)


def in_length_order(lengths_NA: np.ndarray, budget: int) -> list[np.ndarray]:
    """Every example once, long ones first, for validation and prediction."""
    return cut(lengths_NA, np.lexsort(lengths_NA.T)[::-1], budget)


def cut(lengths_NA: np.ndarray, order: np.ndarray, budget: int) -> list[np.ndarray]:
    """Cuts an order into batches whose padded size, rows × longest on any axis, stays within the budget.

    Their rows are round numbers (``round_rows``); what is left over begins the next batch. An example that is larger
    than the budget by itself is a batch of its own.
    """
    largest = lengths_NA.max(axis=1) if len(lengths_NA) else np.zeros(0, dtype=np.int64)
    batches: list[np.ndarray] = []
    start, width = 0, 0
    for place, index in enumerate(order):
        width = max(width, int(largest[index]))
        if place > start and (place - start + 1) * width > budget:
            end = start + round_rows(place - start)
            if (place - end + 1) * width > budget:  # too long to stand beside those that are left over
                end = place
            batches.append(order[start:end])
            start, width = end, int(largest[order[end : place + 1]].max())
    if start < len(order):
        batches.append(order[start:])
    return batches


def round_rows(rows: int) -> int:
    """At most so many, a multiple of 8 (of less where that would leave out more than an eighth).

    So products have few different shapes: kernels that are made for a shape can be kept, and used again.
    """
    return rows - rows % min(8, 1 << (rows.bit_length() - 4)) if rows >= 16 else rows


def with_progress(
    batches: Iterable[np.ndarray], total: int, progress: Callable[[int, int], None] | None
) -> Iterator[np.ndarray]:
    """The batches one by one; after each, whoever asked is told how many of all examples are done."""
    done = 0
    for indices in batches:
        yield indices
        done += len(indices)
        if progress is not None:
            progress(done, total)


def check_example_lengths(lengths_NA: np.ndarray, budget: int) -> None:
    """Steps stay within their budget: an example beyond it is told before training starts."""
    longest = int(lengths_NA.max(initial=0))
    if longest > budget:
        raise DataError(
            f"an example of {longest} tokens does not fit into training.batch_tokens = {budget}; "
            "raise it, or lower task.max_length"
        )


def parts(batch: np.ndarray, count: int) -> list[np.ndarray]:
    """A global batch divided for accumulation and ranks; some parts may be empty."""
    return np.array_split(batch, count)


def _shuffled(count: int, weights: Sequence[float], generator: np.random.Generator) -> np.ndarray:
    """Places of examples in random order, as often as their weights say."""
    return generator.permutation(_repeat(weights, generator) if len(weights) else np.arange(count))


def _repeat(weights: Sequence[float], generator: np.random.Generator) -> np.ndarray:
    wanted = np.asarray(weights, dtype=np.float64)
    times = np.floor(wanted) + (generator.random(len(wanted)) < wanted % 1.0)
    return np.repeat(np.arange(len(wanted)), times.astype(np.int64))
