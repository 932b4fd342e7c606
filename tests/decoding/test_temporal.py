"""Decoding of temporal classification against every alignment there is."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from regard.decoding.temporal import best_alignment, best_prefixes, collapsed, steps_needed

BLANK = 2


def by_hand(probabilities_TW: np.ndarray) -> dict[tuple[int, ...], float]:
    """How probable every text is: the sum over all alignments that spell it."""
    found: dict[tuple[int, ...], float] = {}
    for alignment in product(range(probabilities_TW.shape[1]), repeat=len(probabilities_TW)):
        chance = float(np.prod([row[symbol] for row, symbol in zip(probabilities_TW, alignment, strict=True)]))
        text = collapsed(alignment, BLANK)
        found[text] = found.get(text, 0.0) + chance
    return found


@pytest.mark.parametrize(
    ("alignment", "text"),
    [((0, 0, 2, 0, 1, 1), (0, 0, 1)), ((2, 2), ()), ((1, 0, 1), (1, 0, 1)), ((2, 1, 1, 2, 2, 1), (1, 1))],
)
def test_repetitions_are_one_symbol_and_blanks_are_none(alignment: tuple[int, ...], text: tuple[int, ...]) -> None:
    assert collapsed(alignment, BLANK) == text


@pytest.mark.parametrize("seed", range(8))
def test_a_wide_beam_finds_the_texts_that_counting_finds(seed: int) -> None:
    probabilities_TW = np.random.default_rng(seed).dirichlet((0.7, 0.7, 0.7), 5)
    truth = by_hand(probabilities_TW)
    with np.errstate(divide="ignore"):
        found = best_prefixes(np.log(probabilities_TW), BLANK, 100)
    best = sorted(truth, key=lambda text: -truth[text])
    assert found[:4] == best[:4]


def test_the_most_probable_text_need_not_have_the_most_probable_alignment() -> None:
    """Graves et al. 2006, figure 2: two blanks are the best alignment, and "a" has three."""
    log_TW = np.log(np.array([[0.4, 1e-9, 0.6], [0.4, 1e-9, 0.6]]))
    assert best_alignment(log_TW, BLANK) == ()
    assert best_prefixes(log_TW, BLANK, 3)[0] == (0,)


def test_equal_neighbours_need_a_step_between_them() -> None:
    assert steps_needed((0, 1, 0)) == 3
    assert steps_needed((0, 0, 0, 1)) == 6
    assert steps_needed(()) == 0
