"""Weights on a page keep three digits at every size, and a thumbnail keeps the lines of a head."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from regard.inspection.look.packing import FLOOR, packed, pictured


def softmax(scores_TS: np.ndarray) -> np.ndarray:
    powers_TS = np.exp(scores_TS - scores_TS.max(1, keepdims=True))
    return powers_TS / powers_TS.sum(1, keepdims=True)


@pytest.mark.parametrize("spread", [0.1, 1.0, 5.0, 9.0])
def test_every_weight_keeps_three_digits(spread: float) -> None:
    weights_TS = softmax(spread * np.random.default_rng(3).standard_normal((37, 53)))
    found = packed(weights_TS, triangle=False).values().reshape(37, 53)
    told = weights_TS >= FLOOR
    assert np.abs(found / weights_TS - 1)[told].max() < 3.6e-4
    assert (found[~told] < FLOOR).all()


def test_of_a_triangle_nothing_above_is_kept_and_zero_stays_zero() -> None:
    weights_TT = np.tril(softmax(np.random.default_rng(5).standard_normal((7, 7))))
    weights_TT[5, 2] = 0.0
    found = packed(weights_TT, triangle=True)
    assert len(found.codes) == 28
    unfolded = np.zeros((7, 7))
    unfolded[np.tril_indices(7)] = found.values()
    assert unfolded[5, 2] == 0.0
    assert unfolded == pytest.approx(weights_TT, rel=3.6e-4)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_matrices_of_one_number_come_back(value: float) -> None:
    assert packed(np.full((2, 3), value), triangle=False).values() == pytest.approx(np.full(6, value))


def test_a_thin_line_is_still_there_when_a_head_is_made_small() -> None:
    line_TT = np.eye(501)
    small = pictured(line_TT)
    shades = np.frombuffer(base64.b64decode(small.bytes), np.uint8).reshape(small.rows, small.columns)
    assert small.rows == small.columns < 50
    assert (shades.diagonal() == 255).all()
    assert shades.sum() == 255 * small.rows
