"""Decoding of temporal classification: alignments become texts, greedily or by a beam over prefixes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np

UNLIKELY = -12.0
"""Natural logarithm of a probability; symbols below it are not tried at a step."""


class Prefix(NamedTuple):
    """The logarithms of how probable the alignments are that spell it so far and end in a blank, or in its last symbol.
    """

    blank: float = -np.inf
    symbol: float = -np.inf

    @property
    def total(self) -> float:
        return float(np.logaddexp(self.blank, self.symbol))


START = Prefix(blank=0.0)
NEVER = Prefix()


def collapsed(alignment: Sequence[int], blank: int) -> tuple[int, ...]:
    """What an alignment spells: repetitions are one symbol, then blanks are left out (Graves et al. 2006, section 3.1).
    """
    return tuple(symbol for symbol, _ in groupby(alignment) if symbol != blank)


def best_alignment(log_probabilities_TW: np.ndarray, blank: int) -> tuple[int, ...]:
    """The text of the most probable symbol at every step; other texts may have more probable alignments together."""
    return collapsed(log_probabilities_TW.argmax(axis=1).tolist(), blank)


def best_prefixes(log_probabilities_TW: np.ndarray, blank: int, size: int) -> list[tuple[int, ...]]:
    """The ``size`` most probable texts that a beam over prefixes finds, best first (Hannun 2014, without a language
    model): all alignments of a prefix count together."""
    beam: dict[tuple[int, ...], Prefix] = {(): START}
    for row_W in log_probabilities_TW:
        likely = [int(symbol) for symbol in np.flatnonzero(row_W > UNLIKELY) if symbol != blank]
        grown: dict[tuple[int, ...], Prefix] = {}
        for prefix, before in beam.items():
            held = grown.get(prefix, NEVER)
            again = before.symbol + row_W[prefix[-1]] if prefix else -np.inf
            grown[prefix] = Prefix(
                np.logaddexp(held.blank, before.total + row_W[blank]), np.logaddexp(held.symbol, again)
            )
            for symbol in likely:
                longer = (*prefix, symbol)
                # The same symbol again is a second one only behind a blank.
                reached = before.blank if prefix and symbol == prefix[-1] else before.total
                held = grown.get(longer, NEVER)
                grown[longer] = held._replace(symbol=np.logaddexp(held.symbol, reached + row_W[symbol]))
        ranked = sorted(grown.items(), key=lambda one: -one[1].total)
        beam = dict(ranked[:size])
    return list(beam)


def steps_needed(symbols: Sequence[int]) -> int:
    """The fewest steps in which a text can be said: between two equal symbols there must be a blank."""
    return len(symbols) + sum(one == other for one, other in pairwise(symbols))
