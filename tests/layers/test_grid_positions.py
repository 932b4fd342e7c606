"""Positions on a grid: learned ones in the order of the front, sinusoids by their places."""

from __future__ import annotations

import pytest
import torch

from regard.core.errors import OptionError
from regard.core.inputs import Embedded
from regard.layers.fronts.patches import grid_places
from regard.layers.grid_positions import GRID_POSITIONS, LearnedGrid, SinusoidalGrid, interpolated, place_sinusoids
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
    position = LearnedGrid((3,), 4)
    x_BND = torch.randn(2, 3, 4)
    lengths_B = torch.tensor([3, 3])
    torch.testing.assert_close(position(Embedded(x_BND, lengths_B)), x_BND + position.table_ND)
    with pytest.raises(OptionError, match="an input of 4 positions does not fit into the 3 learned ones"):
        position(Embedded(torch.randn(2, 4, 4), lengths_B))


@pytest.mark.parametrize(("kind", "longest"), [("learned", 6), ("sinusoidal", 0), ("none", 0)])
def test_each_kind_tells_how_many_positions_it_has(kind: str, longest: int) -> None:
    config = GRID_POSITIONS.resolve(kind)(kind=kind)
    assert config.build((5,), 4, 1).max_length == longest  # type: ignore[attr-defined]


def test_a_picture_of_another_size_has_positions_between_the_learned_ones() -> None:
    """Vectors that grow evenly with row and column do so on a finer grid, too, up to the 1/20 of a place by which cubic
    interpolation swings; that of the class token stays."""
    rows, columns = torch.meshgrid(torch.arange(7.0), torch.arange(5.0), indexing="ij")
    position = LearnedGrid((7, 5), 2, class_tokens=1)
    with torch.no_grad():
        position.table_ND[0] = torch.tensor([-3.0, 9.0])
        position.table_ND[1:] = torch.stack((rows, columns), -1).flatten(0, 1)
    places_BNA = torch.cat((torch.full((1, 2), -1), grid_places((14, 10))))[None]
    with torch.no_grad():
        found = position(Embedded(torch.zeros(1, 141, 2), None, places_BNA, (14, 10)))[0]
    assert found[0].tolist() == [-3.0, 9.0]
    finer = found[1:].unflatten(0, (14, 10))
    inner = finer[4:10, 4:6]  # away from the edges, where nothing is known beyond
    rows, columns = torch.meshgrid(torch.arange(4.0, 10.0), torch.arange(4.0, 6.0), indexing="ij")
    expected = (torch.stack((rows, columns), -1) + 0.5) / 2 - 0.5
    torch.testing.assert_close(inner, expected, atol=0.05, rtol=0)


def test_the_same_grid_is_left_as_it_is_and_a_shorter_first_axis_is_a_beginning() -> None:
    position = LearnedGrid((3, 5), 2)
    assert interpolated(position.table_ND, (3, 5), (3, 5)) is position.table_ND
    found = position(Embedded(torch.zeros(2, 10, 2), None, grid_places((2, 5)).expand(2, -1, -1), (2, 5)))
    assert torch.equal(found[1], position.table_ND[:10])
