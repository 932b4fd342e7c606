"""Penalties: what layers add to the loss (the balance of experts), handed over in a step, gathered by the Learner."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace

from torch import Tensor

PENALTY = "penalty"
"""Its name among a task's sums."""


@dataclass(frozen=True, slots=True)
class _Pass:
    """One pass of a batch: what was handed over, how long the rows are, and whether it is made a second time."""

    lengths_B: Tensor | None = None
    again: bool = False
    penalties: list[Tensor] = field(default_factory=list)


_passes: list[_Pass] = []


def add_penalty(penalty: Tensor | None) -> None:
    """Adds to the loss of the step; called in a layer's ``forward``. Outside of training nobody listens.

    Law: a sum over positions, of which each adds what it would add in any other batch, so that dividing a step changes
    nothing. The Learner takes the mean over all positions that a step reads (``Batch.tokens``).
    """
    if penalty is not None and _passes:
        _passes[-1].penalties.append(penalty)


def is_collecting() -> bool:
    """Whether somebody listens."""
    return bool(_passes)


def is_counting() -> bool:
    """Whether this pass counts: it does not where activations are only made again for the backward pass."""
    return bool(_passes) and not _passes[-1].again


def written_lengths(rows: int) -> Tensor | None:
    """lengths_B of the rows that a decoder reads in this pass, whose padding its mask does not tell; None: unknown.

    Where a batch is read several times at once (``rows`` are a multiple of its own), the lengths follow.
    """
    lengths_B = _passes[-1].lengths_B if _passes else None
    return None if lengths_B is None or rows % len(lengths_B) else lengths_B.repeat(rows // len(lengths_B))


@contextmanager
def collected_penalties(lengths_B: Tensor | None = None) -> Iterator[list[Tensor]]:
    """What is handed over inside the ``with`` block; ``lengths_B`` are those of the rows that a decoder reads."""
    found = _Pass(lengths_B)
    with _during(found):
        yield found.penalties


def recomputing() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Contexts for a layer and for its repetition in the backward pass, which finds what the layer found and hands
    nothing over."""
    if not _passes:
        return nullcontext(), nullcontext()
    return nullcontext(), _during(replace(_passes[-1], again=True, penalties=[]))


@contextmanager
def _during(found: _Pass) -> Iterator[None]:
    _passes.append(found)
    try:
        yield
    finally:
        _passes.pop()
