"""Temperature, top-k, top-p and min-p on values that a hand can check."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some
from torch import Tensor

from regard.decoding import filters
from regard.decoding.filters import apply_temperature, keep_min_p, keep_top_k, keep_top_p
from regard.decoding.options import Sampling
from regard.decoding.sampling import filtered

SHARES = [[0.1, 0.5, 0.15, 0.25], [0.25, 0.25, 0.25, 0.25]]


@pytest.fixture
def logits_RW() -> Tensor:
    # A constant added to all logits of a row changes no probability, so it must change nothing here either.
    return torch.tensor(SHARES).log() + torch.tensor([[3.0], [-40.0]])


def kept(logits_RW: Tensor) -> list[list[int]]:
    return [[word for word, value in enumerate(row) if value > -math.inf] for row in logits_RW.tolist()]


def test_top_k_keeps_the_k_most_probable_and_of_equals_the_lower(logits_RW: Tensor) -> None:
    assert kept(keep_top_k(logits_RW, 1)) == [[1], [0]]
    assert kept(keep_top_k(logits_RW, 2)) == [[1, 3], [0, 1]]
    assert kept(keep_top_k(logits_RW, 3)) == [[1, 2, 3], [0, 1, 2]]
    for all_of_them in (0, 4, 9):
        assert torch.equal(keep_top_k(logits_RW, all_of_them), logits_RW)


def test_top_p_keeps_the_smallest_set_that_reaches_p(logits_RW: Tensor) -> None:
    assert kept(keep_top_p(logits_RW, 0.01)) == [[1], [0]]
    assert kept(keep_top_p(logits_RW, 0.45)) == [[1], [0, 1]]
    assert kept(keep_top_p(logits_RW, 0.55)) == [[1, 3], [0, 1, 2]]
    assert kept(keep_top_p(logits_RW, 0.76)) == [[1, 2, 3], [0, 1, 2, 3]]
    assert torch.equal(keep_top_p(logits_RW, 1.0), logits_RW)


@pytest.mark.parametrize("enough", [1, 2, 3])
def test_top_p_is_the_same_however_many_tokens_it_tries_first(
    enough: int, logits_RW: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = [keep_top_p(logits_RW, p) for p in (0.01, 0.45, 0.55, 0.76, 0.99)]
    monkeypatch.setattr(filters, "USUALLY_ENOUGH", enough)
    for p, kept_RW in zip((0.01, 0.45, 0.55, 0.76, 0.99), expected):
        assert torch.equal(keep_top_p(logits_RW, p), kept_RW)


def test_min_p_keeps_what_has_a_share_of_the_best(logits_RW: Tensor) -> None:
    assert kept(keep_min_p(logits_RW, 0.19)) == [[0, 1, 2, 3], [0, 1, 2, 3]]
    assert kept(keep_min_p(logits_RW, 0.25)) == [[1, 2, 3], [0, 1, 2, 3]]
    assert kept(keep_min_p(logits_RW, 0.45)) == [[1, 3], [0, 1, 2, 3]]
    assert kept(keep_min_p(logits_RW, 1.0)) == [[1], [0, 1, 2, 3]]
    assert torch.equal(keep_min_p(logits_RW, 0.0), logits_RW)


def test_temperature_divides_logits(logits_RW: Tensor) -> None:
    half_R = apply_temperature(logits_RW, 0.5).softmax(dim=1)[0].tolist()
    squares = [share**2 for share in SHARES[0]]
    assert half_R == pytest.approx([square / sum(squares) for square in squares])
    assert apply_temperature(logits_RW, 1000.0).softmax(dim=1)[0].tolist() == pytest.approx([0.25] * 4, abs=1e-3)


def test_what_is_kept_keeps_its_value(logits_RW: Tensor) -> None:
    for kept_RW in (keep_top_k(logits_RW, 2), keep_top_p(logits_RW, 0.6), keep_min_p(logits_RW, 0.3)):
        alive = kept_RW > -math.inf
        assert torch.equal(kept_RW[alive], logits_RW[alive])


def test_each_rule_sees_what_the_last_one_left() -> None:
    logits_RW = torch.tensor([[0.4, 0.3, 0.2, 0.1]]).log()
    # Of the best two, 0.4 and 0.3, the first has 0.57 of what is left: alone enough for 0.5, not for 0.6.
    assert kept(filtered(logits_RW, Sampling(top_k=2, top_p=0.5))) == [[0]]
    assert kept(filtered(logits_RW, Sampling(top_k=2, top_p=0.6))) == [[0, 1]]
    # At temperature 0.5 the shares are 16 : 9 : 4 : 1.
    assert kept(filtered(logits_RW, Sampling(temperature=0.5, min_p=0.3))) == [[0, 1]]


@settings(max_examples=60, deadline=None)
@given(
    seed=some.integers(0, 999),
    scale=some.floats(1e-3, 1e4),
    temperature=some.floats(0.001, 1000.0),
    top_k=some.integers(0, 12),
    top_p=some.floats(0.0, 1.0, exclude_min=True),
    min_p=some.floats(0.0, 1.0),
)
def test_the_best_token_always_stays(
    seed: int, scale: float, temperature: float, top_k: int, top_p: float, min_p: float
) -> None:
    logits_RW = torch.randn(3, 11, generator=torch.Generator().manual_seed(seed)) * scale
    options = Sampling(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p)
    left_RW = filtered(logits_RW, options)
    best_R1 = logits_RW.argmax(dim=1, keepdim=True)
    assert (left_RW.gather(1, best_R1) == left_RW.amax(dim=1, keepdim=True)).all()
    assert not left_RW.isnan().any()
    assert top_k == 0 or int((left_RW > -math.inf).sum(dim=1).max()) <= top_k
