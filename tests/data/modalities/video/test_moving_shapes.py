"""Moving shapes: what a clip's name says is what its pixels show, and which combinations are held out."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from regard.data.ledger import Ledger
from regard.data.modalities.video.moving_shapes import COLOURS, DIRECTIONS, SHAPES, MovingShapes, drawn, is_held_out
from regard.data.sources.videos import MovingShapesData


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_what_changes_moves_where_the_clip_says(direction: str) -> None:
    """The middle of all pixels of its colour wanders that way, as long as nothing else has the colour."""
    moved = []
    for seed in range(30):
        pixels_THWC = drawn(MovingShapes("blue", "square", direction, seed)).astype(int)
        blue_THW = (pixels_THWC[..., 2] > 150) & (pixels_THWC[..., 0] < 100)
        middles = [np.argwhere(one_HW).mean(axis=0) for one_HW in (blue_THW[0], blue_THW[-1])]
        moved.append(middles[1] - middles[0])
    steps = np.median(moved, axis=0)
    assert np.argmax(np.abs(steps)) == np.argmax(np.abs(DIRECTIONS[direction]))
    assert np.sign(steps[np.argmax(np.abs(steps))]) == sum(DIRECTIONS[direction])


def test_every_word_and_every_class_is_learned_though_combinations_are_held_out() -> None:
    every = list(product(COLOURS, SHAPES, DIRECTIONS))
    held = [one for one in every if is_held_out(*one)]
    assert len(held) == len(every) // 5
    assert Counter((shape, direction) for _, shape, direction in held) == Counter(product(SHAPES, DIRECTIONS))


def test_no_held_out_combination_is_in_another_split() -> None:
    corpus = MovingShapesData(train_size=300, validation_size=20, test_size=40, compositional_size=50).load(3, Ledger())
    for split, own in corpus.splits.items():
        found = {is_held_out(one.raw.colour, one.raw.shape, one.raw.direction) for one in own}
        assert found == {split == "compositional"}
    seeds = [one.raw.seed for own in corpus.splits.values() for one in own]
    assert len(set(seeds)) == len(seeds)
    assert {one.label for one in corpus.splits["train"]} == {f"{one} {to}" for one in SHAPES for to in DIRECTIONS}
