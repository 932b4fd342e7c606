"""Dropout by random bytes obeys torch's law: rates, expectation, rest in evaluation, determinism by the seed."""

import math

import pytest
import torch

from regard.layers.dropout import Dropout, kept

COUNT = 500_009  # not a multiple of eight


@pytest.mark.parametrize("probability", [0.1, 0.3, 0.5, 0.9])
def test_the_share_of_zeros_and_the_mean_are_right(probability: float) -> None:
    torch.manual_seed(1)
    dropped = Dropout(probability)(torch.ones(COUNT))
    rate = round(probability * 256) / 256
    deviation = math.sqrt(rate * (1 - rate) / COUNT)
    assert (dropped == 0).float().mean().item() == pytest.approx(rate, abs=5 * deviation)
    assert dropped.double().mean().item() == pytest.approx(1.0, abs=5 * deviation / (1 - rate))
    kept = dropped[dropped != 0].unique()
    assert kept.tolist() == pytest.approx([1 / (1 - rate)])


def test_the_probability_is_rounded_to_a_multiple_of_1_256() -> None:
    assert Dropout(0.1).threshold == 26
    assert Dropout(0.5).threshold == 128
    assert Dropout(0.1)(torch.ones(97)).max().item() == pytest.approx(256 / 230)
    x = torch.randn(97)
    assert Dropout(0.001)(x) is x  # less than half of 1/256


@pytest.mark.parametrize("probability", [0.998, 0.999, 0.9999999])
def test_a_probability_next_to_one_still_keeps_one_in_256(probability: float) -> None:
    torch.manual_seed(2)
    dropped = Dropout(probability)(torch.ones(COUNT))
    assert set(dropped.unique().tolist()) == {0.0, 256.0}
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.15)


def test_evaluation_and_zero_probability_change_nothing() -> None:
    x = torch.randn(2, 3, 5)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x


def test_the_seed_decides() -> None:
    dropout, x = Dropout(0.4), torch.randn(3, 5, 7)
    torch.manual_seed(3)
    first, second = dropout(x), dropout(x)
    torch.manual_seed(3)
    assert torch.equal(dropout(x), first)
    assert not torch.equal(first, second)


def test_the_gradient_flows_where_the_value_did() -> None:
    x = torch.randn(11, 13, requires_grad=True)
    dropped = Dropout(0.5)(x)
    dropped.sum().backward()
    assert torch.equal(x.grad, (dropped != 0).float() * 2)


def test_elements_are_dropped_independently_of_their_neighbours() -> None:
    torch.manual_seed(4)
    zeros = (Dropout(0.5)(torch.ones(COUNT)) == 0).double() - 0.5
    for distance in (1, 2, 7, 8, 16):
        correlation = (zeros[:-distance] * zeros[distance:]).mean().item() * 4
        assert correlation == pytest.approx(0.0, abs=5 / math.sqrt(COUNT))


def test_every_byte_is_equally_likely() -> None:
    """The same seed draws the same bytes, so neighbouring thresholds differ by just one of them."""
    like, shares = torch.empty(COUNT), []
    for threshold in range(1, 256):
        torch.manual_seed(5)
        shares.append((kept(like, threshold) > 0).sum().item())
    counts = -torch.tensor([COUNT, *shares, 0], dtype=torch.float64).diff()
    assert (counts > 0).all()
    expected = COUNT / 256
    chi_square = ((counts - expected).square() / expected).sum().item()
    assert chi_square < 255 + 5 * math.sqrt(2 * 255)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("threshold", [1, 96, 255])
def test_narrow_numbers_are_kept_where_wide_ones_are_with_the_same_scale(kind: torch.dtype, threshold: int) -> None:
    torch.manual_seed(6)
    wide = kept(torch.empty(COUNT), threshold)
    torch.manual_seed(6)
    assert torch.equal(kept(torch.empty(COUNT, dtype=kind), threshold), wide.to(kind))


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9])
def test_any_number_of_elements_is_decided(count: int) -> None:
    assert kept(torch.empty(count), 128).shape == (count,)


@pytest.mark.parametrize("probability", [-0.1, 1.0, 1.5])
def test_impossible_probabilities_are_refused(probability: float) -> None:
    with pytest.raises(ValueError, match=f"dropout must be at least 0 and below 1, found {probability}"):
        Dropout(probability)
