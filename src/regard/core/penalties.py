"""Penalties: what layers add to the loss (the balance of experts), handed over in a step, gathered by the Learner."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor

PENALTY = "penalty"
"""Its name among a task's sums."""
_collecting: list[list[Tensor]] = []


def add_penalty(penalty: Tensor | None) -> None:
    """Adds to the loss of the step; called in a layer's ``forward``. Outside of training nobody listens.

    Law: a sum over positions, of which each adds what it would add in any other batch, so that dividing a step changes
    nothing. The Learner takes the mean over all positions that a step reads (``Batch.tokens``).
    """
    if penalty is not None and _collecting:
        _collecting[-1].append(penalty)


@contextmanager
def collected_penalties() -> Iterator[list[Tensor]]:
    """What is handed over inside the ``with`` block."""
    found: list[Tensor] = []
    _collecting.append(found)
    try:
        yield found
    finally:
        _collecting.pop()
