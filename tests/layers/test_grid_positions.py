"""Positions on a grid: learned ones in the order of the front, sinusoids by their places."""

from __future__ import annotations

import pytest
import torch

from regard.core.errors import OptionError
from regard.core.inputs import Embedded
from regard.layers.fronts.patches import grid_places
from regard.layers.grid_positions import GRID_POSITIONS, LearnedGrid, SinusoidalGrid, place_sinusoids
from regard.layers.positions import sinusoids, two_dimensional_sinusoids


def test_sinusoids_of_places_are_those_of_the_grid() -> None:
    places_BNA = grid_places((3, 5)).expand(2, -1, -1)
    torch.testing.assert_close(place_sinusoids(places_BNA, 14)[0], two_dimensional_sinusoids(3, 5, 14))
    torch.testing.assert_close(place_sinusoids(places_BNA.clone(), 14)[1], two_dimensional_sinusoids(3, 5, 14))


def test_every_place_has_sinusoids_of_its_own_the_class_token_too() -> None:
    places_BNA = torch.cat((torch.full((1, 2), -1), grid_places((7, 7))))[None]
    table_ND = place_sinusoids(places_BNA, 16)[0]
    assert torch.pdist(table_ND).min() > 0.1


def test_without_places_positions_are_counted() -> None:
    x_BND = torch.zeros(2, 5, 8)
    torch.testing.assert_close(
        SinusoidalGrid()(Embedded(x_BND, torch.tensor([5, 5])))[1], sinusoids(torch.arange(5), 8)
    )


def test_learned_positions_are_added_in_order_and_more_of_them_are_refused() -> None:
    position = LearnedGrid(3, 4)
    x_BND = torch.randn(2, 3, 4)
    lengths_B = torch.tensor([3, 3])
    torch.testing.assert_close(position(Embedded(x_BND, lengths_B)), x_BND + position.table_ND)
    with pytest.raises(OptionError, match="an input of 4 positions does not fit into the 3 learned ones"):
        position(Embedded(torch.randn(2, 4, 4), lengths_B))


@pytest.mark.parametrize(("kind", "longest"), [("learned", 6), ("sinusoidal", 0), ("none", 0)])
def test_each_kind_tells_how_many_positions_it_has(kind: str, longest: int) -> None:
    config = GRID_POSITIONS.resolve(kind)(kind=kind)
    assert config.build(6, 4).max_length == longest  # type: ignore[attr-defined]
