"""Penalties: what layers add to the loss (the balance of experts), handed over in a step, gathered by the Learner."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor

PENALTY = "penalty"
"""Its name among a task's sums."""
_collecting: list[list[Tensor]] = []
_lengths: list[Tensor | None] = []


def add_penalty(penalty: Tensor | None) -> None:
    """Adds to the loss of the step; called in a layer's ``forward``. Outside of training nobody listens.

    Law: a sum over positions, of which each adds what it would add in any other batch, so that dividing a step changes
    nothing. The Learner takes the mean over all positions that a step reads (``Batch.tokens``).
    """
    if penalty is not None and _collecting:
        _collecting[-1].append(penalty)


def is_collecting() -> bool:
    """Whether somebody listens: layers that count what they did count only then, once for each position of a step."""
    return bool(_collecting)


def written_lengths(rows: int) -> Tensor | None:
    """lengths_B of the rows that a decoder reads in this step, whose padding its mask does not tell; None: unknown.

    Where a batch is read several times at once (``rows`` are a multiple of its own), the lengths follow.
    """
    lengths_B = _lengths[-1] if _lengths else None
    return None if lengths_B is None or rows % len(lengths_B) else lengths_B.repeat(rows // len(lengths_B))


@contextmanager
def collected_penalties(lengths_B: Tensor | None = None) -> Iterator[list[Tensor]]:
    """What is handed over inside the ``with`` block; ``lengths_B`` are those of the rows that a decoder reads."""
    found: list[Tensor] = []
    _collecting.append(found)
    _lengths.append(lengths_B)
    try:
        yield found
    finally:
        _collecting.pop()
        _lengths.pop()
