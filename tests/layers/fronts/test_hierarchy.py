"""Coarse, middling and fine blocks of one series in one sequence."""

from __future__ import annotations

import pytest
import torch

from regard.core.config import parse
from regard.core.errors import RecipeError
from regard.core.inputs import Inputs
from regard.core.ports import INPUT, Arrays
from regard.layers.fronts.hierarchy import Hierarchy, HierarchyConfig
from regard.models.vit import VitConfig

WIDTH = 7


def front(shape: tuple[int, ...] = (12,), channels: int = 3, **table: object) -> Hierarchy:
    torch.manual_seed(3)
    config = parse(HierarchyConfig, {"kind": "hierarchy", "sizes": (6, 4, 1), **table})
    return config.build(Arrays(channels, shape), WIDTH)


def test_each_level_stands_behind_the_one_before() -> None:
    own = front()
    values_BCN = torch.randn(2, 3, 12)
    made = own(Inputs(values_BCN))
    assert made.x_BND.shape == (2, 1 + 2 + 3 + 12, WIDTH)
    assert own.grid == own.cells((12,)) == (17,)
    assert own.readings((12,)) == (2, 3, 12)
    assert own.readings((7,)) == (2, 2, 7)
    for level, (start, stop) in enumerate(((1, 3), (3, 6), (6, 18))):
        alone = own.levels[level](Inputs(values_BCN)).x_BND + own.level_embedding[level]
        torch.testing.assert_close(made.x_BND[:, start:stop], alone)


def test_places_are_the_step_at_which_a_block_begins_and_its_level() -> None:
    made = front()(Inputs(torch.randn(1, 3, 12)))
    assert made.places_BNA is not None
    assert made.places_BNA[0, :6].tolist() == [[-1, -1], [0, 0], [6, 0], [0, 1], [4, 1], [8, 1]]
    assert made.places_BNA[0, 6:].tolist() == [[step, 2] for step in range(12)]


def test_a_shorter_clip_has_no_gap_between_its_levels() -> None:
    own = front(class_token=False)
    values_BCN = torch.randn(2, 3, 12)
    made = own(Inputs(values_BCN, torch.tensor([5, 12])))
    assert made.lengths_B is not None
    assert made.lengths_B.tolist() == [1 + 2 + 5, 17]
    alone = own(Inputs(values_BCN[:1, :, :5], torch.tensor([5])))
    torch.testing.assert_close(made.x_BND[:1, :8], alone.x_BND)
    assert made.places_BNA is not None
    assert alone.places_BNA is not None
    assert torch.equal(made.places_BNA[:1, :8], alone.places_BNA)


def test_all_of_a_spectrogram_s_bins_are_in_every_block() -> None:
    own = front((12, 5), channels=1, sizes=(5, 2))
    assert own.grid == (3 + 6, 1)
    assert own(Inputs(torch.randn(2, 1, 12, 5))).x_BND.shape == (2, 1 + 9, WIDTH)


def test_a_body_reads_it_and_sizes_go_from_coarse_to_fine() -> None:
    table = {"layers": 1, "width": 8, "heads": 2, "front": {"kind": "hierarchy", "sizes": [4, 2]}}
    model = parse(VitConfig, table).build({INPUT: Arrays(3, (12,))})
    assert model.represent(Inputs(torch.randn(2, 3, 12), torch.tensor([3, 12]))).x_BND.shape == (2, 1 + 3 + 6, 8)
    for sizes in ((2, 4), (3, 3), (4, 0)):
        with pytest.raises(RecipeError, match="do not go from coarse to fine"):
            parse(HierarchyConfig, {"kind": "hierarchy", "sizes": sizes})
