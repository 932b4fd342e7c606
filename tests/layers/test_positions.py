"""Positions by hand, and the law that a position counted from an offset is the same position."""

import math

import pytest
import torch
from torch import nn

from regard.core.config import parse
from regard.core.errors import OptionError, RecipeError
from regard.layers import POSITIONS
from regard.layers.positions import (
    ConcatenatedPosition,
    GridConfig,
    LearnedConfig,
    RelativeBias,
    ReversedBinaryConfig,
    Rotary,
    SinusoidalConfig,
    TablePosition,
    reversed_binary,
    sinusoids,
    two_dimensional_sinusoids,
)

WIDTH, HEADS = 14, 3


def test_sinusoids_by_hand() -> None:
    table_TD = sinusoids(torch.tensor([0, 1, 7]), 4)  # frequencies 1 and 1/100
    assert table_TD[0].tolist() == [0.0, 1.0, 0.0, 1.0]
    assert table_TD[1].tolist() == pytest.approx([math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)])
    assert table_TD[2].tolist() == pytest.approx([math.sin(7), math.cos(7), math.sin(0.07), math.cos(0.07)], abs=1e-6)


def test_sinusoids_of_odd_width_are_those_of_the_paper_without_the_last_cosine() -> None:
    table_TD = sinusoids(torch.tensor([3]), 3)
    assert table_TD[0].tolist() == pytest.approx([math.sin(3), math.cos(3), math.sin(3 / 10000 ** (2 / 3))])


def test_a_sinusoid_moved_by_a_distance_is_a_rotation_that_does_not_depend_on_the_place() -> None:
    table_TD = sinusoids(torch.arange(50), 2)
    products = (table_TD[:-7] * table_TD[7:]).sum(-1)
    assert products.tolist() == pytest.approx([math.cos(7)] * 43, abs=1e-4)


def test_six_is_0_1_1_with_the_lowest_bit_first() -> None:
    bits_TD = (reversed_binary(torch.tensor([6, 0, 5]), 3) + 1) / 2
    assert bits_TD.tolist() == [[0.0, 1.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 1.0]]
    assert reversed_binary(torch.tensor([6]), 3).tolist() == [[-1.0, 1.0, 1.0]]
    assert len({tuple(row) for row in reversed_binary(torch.arange(32), 5).tolist()}) == 32
    assert reversed_binary(torch.tensor([6]), 71)[0, 3:].tolist() == [-1.0] * 68


def test_a_grid_says_the_row_in_one_half_and_the_column_in_the_other() -> None:
    table_ND = two_dimensional_sinusoids(rows=3, columns=5, width=14)
    assert table_ND.shape == (15, 14)
    for row in range(3):
        for column in range(5):
            place_D = table_ND[5 * row + column]
            assert torch.equal(place_D[:7], sinusoids(torch.tensor([row]), 7)[0])
            assert torch.equal(place_D[7:], sinusoids(torch.tensor([column]), 7)[0])


def test_rotary_turns_pairs_by_hand() -> None:
    x_BHTK = torch.tensor([1.0, 0.0, 0.0, 1.0]).expand(1, 1, 3, 4)
    turned = Rotary().rotate(x_BHTK)[0, 0, 2]  # position 2: angles 2 and 2/100
    assert turned.tolist() == pytest.approx([math.cos(2), math.sin(2), -math.sin(0.02), math.cos(0.02)], abs=1e-6)


def test_rotary_scores_depend_on_the_distance_alone_and_keep_lengths() -> None:
    torch.manual_seed(1)
    rotary, q, k = Rotary(), torch.randn(2, 3, 1, 10), torch.randn(2, 3, 1, 10)

    def score(query_place: int, key_place: int) -> torch.Tensor:
        return (rotary.rotate(q, query_place) * rotary.rotate(k, key_place)).sum(-1)

    for distance in (-4, 0, 3):
        at_home = score(5 + distance, 5)
        for place in (6, 29, 101):
            assert torch.allclose(score(place + distance, place), at_home, atol=1e-4)
    assert not torch.allclose(score(5, 5), score(8, 5), atol=1e-2)
    assert torch.allclose(rotary.rotate(q, 17).norm(dim=-1), q.norm(dim=-1), atol=1e-5)


def test_relative_bias_looks_up_the_clipped_distance() -> None:
    position = RelativeBias(heads=2, max_distance=2)
    position.bias_HC.data = torch.tensor([[-2.0, -1.0, 0.0, 1.0, 2.0], [10.0, 20.0, 30.0, 40.0, 50.0]])
    bias_HTS = position.bias(queries=3, keys=5)
    assert bias_HTS is not None
    assert bias_HTS[0].tolist() == [[0, -1, -2, -2, -2], [1, 0, -1, -2, -2], [2, 1, 0, -1, -2]]
    assert bias_HTS[1, 0].tolist() == [30, 20, 10, 10, 10]
    late = position.bias(queries=1, keys=5, places=4)
    assert late is not None
    assert late[0].tolist() == [[2, 2, 2, 1, 0]]


@pytest.mark.parametrize("config", [SinusoidalConfig(join="concatenate", width=5), LearnedConfig(join="concatenate")])
def test_concatenated_positions_come_back_to_the_models_width(config: SinusoidalConfig | LearnedConfig) -> None:
    position = config.build(WIDTH, HEADS)
    assert isinstance(position, ConcatenatedPosition)
    assert position.mix.weight.shape == (WIDTH, WIDTH + config.width)
    x_BTD = torch.randn(2, 3, WIDTH)
    beside = torch.cat((x_BTD, position.table_SD[:3].expand(2, 3, -1)), dim=-1)
    assert torch.allclose(position.embed(x_BTD), beside @ position.mix.weight.T, atol=1e-6)


def test_added_positions_are_added_and_only_learned_ones_are_parameters() -> None:
    x_BTD = torch.randn(2, 3, WIDTH)
    sinusoidal, learned = SinusoidalConfig().build(WIDTH, HEADS), LearnedConfig().build(WIDTH, HEADS)
    expected = x_BTD + sinusoids(torch.arange(4, 7), WIDTH)
    assert torch.allclose(sinusoidal.embed(x_BTD, places=4), expected, atol=1e-6)
    assert list(sinusoidal.parameters()) == []
    assert not sinusoidal.state_dict()  # a fixed table is computed, not saved
    assert [name for name, _ in learned.named_parameters()] == ["table_SD"]
    assert isinstance(ReversedBinaryConfig().build(WIDTH, HEADS), ConcatenatedPosition)


def test_a_table_that_is_too_short_says_how_to_make_it_longer() -> None:
    position = TablePosition(torch.zeros(5, WIDTH), learned=False)
    assert position.embed(torch.zeros(1, 2, WIDTH), places=3).shape == (1, 2, WIDTH)
    with pytest.raises(OptionError) as caught:
        position.embed(torch.zeros(1, 3, WIDTH), places=4)
    assert str(caught.value) == (
        "a sequence of 7 tokens does not fit into 5 positions; "
        "raise model.position.max_length (or a grid's rows and columns), or cut the input"
    )


@pytest.mark.parametrize("config", [SinusoidalConfig, LearnedConfig, GridConfig], ids=lambda config: config.__name__)
def test_a_table_without_places_is_refused(config: type[SinusoidalConfig | LearnedConfig | GridConfig]) -> None:
    key = "rows" if config is GridConfig else "max_length"
    with pytest.raises(RecipeError, match=f"{key}: Input should be greater than or equal to 1, found 0"):
        parse(config, {key: 0})


def built(kind: str, **settings: object) -> nn.Module:
    torch.manual_seed(2)
    position = POSITIONS.resolve(kind)(kind=kind, **settings).build(WIDTH, HEADS)
    for weight in position.parameters():
        nn.init.normal_(weight)
    return position


@pytest.fixture(params=POSITIONS.kinds())
def every_kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=["add", "concatenate"])
def position(every_kind: str, request: pytest.FixtureRequest) -> nn.Module:
    """Of every kind, joined with embeddings in both ways where it knows them."""
    knows = "join" in POSITIONS.resolve(every_kind).model_fields
    return built(every_kind, **({"join": request.param} if knows else {}))


def test_positions_are_counted_from_the_offset(position: nn.Module) -> None:
    x_BTD, x_BHTK = torch.randn(2, 11, WIDTH), torch.randn(2, HEADS, 11, 8)
    for offset in (1, 4, 10):
        late = position.embed(x_BTD[:, offset:], offset)
        assert torch.allclose(late, position.embed(x_BTD)[:, offset:], atol=1e-5)
        turned = position.rotate(x_BHTK[:, :, offset:], offset)
        assert torch.allclose(turned, position.rotate(x_BHTK)[:, :, offset:], atol=1e-5)
        full, step = position.bias(11, 11), position.bias(11 - offset, 11, offset)
        assert (full is None) == (step is None)
        if full is not None and step is not None:
            assert full.shape == (HEADS, 11, 11)
            assert torch.equal(step, full[:, offset:])


def test_rows_of_different_ages_stand_where_each_would_stand_alone(position: nn.Module) -> None:
    x_BTD, x_BHTK = torch.randn(3, 2, WIDTH), torch.randn(3, HEADS, 2, 8)
    offsets = [7, 0, 3]
    places_BT = torch.tensor(offsets)[:, None] + torch.arange(2)
    embedded, turned = position.embed(x_BTD, places_BT), position.rotate(x_BHTK, places_BT)
    bias_BHTS = position.bias(2, 11, places_BT)
    for row, offset in enumerate(offsets):
        one = slice(row, row + 1)
        assert torch.allclose(embedded[one], position.embed(x_BTD[one], offset), atol=1e-6)
        assert torch.allclose(turned[one], position.rotate(x_BHTK[one], offset), atol=1e-6)
        alone = position.bias(2, 11, offset)
        assert (bias_BHTS is None) == (alone is None)
        if bias_BHTS is not None and alone is not None:
            assert torch.equal(bias_BHTS[row], alone)


@pytest.mark.parametrize("kind", [kind for kind in POSITIONS.kinds() if kind != "none"])
def test_every_kind_tells_two_places_apart(kind: str) -> None:
    position, same_BTD = built(kind), torch.ones(1, 2, WIDTH)
    embedded, turned = position.embed(same_BTD), position.rotate(torch.ones(1, HEADS, 2, 8))
    bias = position.bias(2, 2)
    told_apart = not torch.equal(embedded[:, 0], embedded[:, 1]) or not torch.equal(turned[:, :, 0], turned[:, :, 1])
    assert told_apart or (bias is not None and not torch.equal(bias[:, 0], bias[:, 1]))
