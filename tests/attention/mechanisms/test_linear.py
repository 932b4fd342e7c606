"""Linear attention: chunks, steps and the matrix say the same, what is remembered does not grow, features converge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention import AttentionContext, formulas, prefix_sums
from regard.attention.masks import CAUSAL, EVERYTHING
from regard.attention.mechanisms.linear import SumsCache
from regard.attention.mechanisms.performer import RandomFeatures, orthogonal_rows, redraw_features
from regard.core.errors import OptionError, RecipeError
from regard.core.seams import Mechanism
from tests.attention import asking
from tests.attention.asking import BATCH, HEADS, KEY_WIDTH, VALUE_WIDTH

LENGTH = 17
CONTEXT = AttentionContext(KEY_WIDTH, KEY_WIDTH, HEADS)
TABLES: list[dict[str, Any]] = [
    {"kind": "linear"},
    {"kind": "linear", "features": "relu"},
    {"kind": "linear", "features": "softmax"},
    {"kind": "performer", "features": 13},
]
MASKS = asking.masks((9, LENGTH), LENGTH, 5, torch.arange(LENGTH)[:, None] % 3 == torch.arange(LENGTH) % 3)


@pytest.fixture(params=TABLES, ids=lambda table: "-".join(map(str, table.values())))
def mechanism(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(prefix_sums, "CHUNK", 5)
    torch.manual_seed(3)
    return made(request.param)


def made(table: dict[str, Any], context: AttentionContext = CONTEXT) -> Any:
    return asking.made(table, context)


def asked(length: int = LENGTH, seed: int = 5) -> tuple[Tensor, Tensor, Tensor]:
    return asking.asked(length, seed)


def test_it_fills_the_seam(mechanism: Any) -> None:
    assert isinstance(mechanism, Mechanism)


@pytest.mark.parametrize("name", list(MASKS))
def test_sums_are_the_matrix_forward_and_backward(mechanism: Any, name: str) -> None:
    asking.check_is_its_matrix(mechanism, asked(), MASKS[name])


@pytest.mark.parametrize("name", list(MASKS))
def test_nobody_reads_what_is_masked(mechanism: Any, name: str) -> None:
    q, k, v = asked()
    mask = MASKS[name]
    may_look = mask.dense(LENGTH, LENGTH)
    seen = torch.ones(BATCH, HEADS, LENGTH, LENGTH, dtype=torch.bool)
    seen = seen if may_look is None else may_look.expand_as(seen)
    before = asking.check_hidden(mechanism, (q, k, v), mask, seen, 1e3)
    assert bool((before[~seen.any(-1)] == 0).all())


def test_the_gradient_in_chunks_is_exact() -> None:
    generator = torch.Generator().manual_seed(1)
    q, k = (torch.rand(2, 2, 7, 3, dtype=torch.float64, generator=generator, requires_grad=True) for _ in range(2))
    v = torch.randn(2, 2, 7, 2, dtype=torch.float64, generator=generator, requires_grad=True)
    before = torch.rand(2, 2, 3, 3, dtype=torch.float64, generator=generator, requires_grad=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefix_sums, "CHUNK", 3)
        assert torch.autograd.gradcheck(prefix_sums.causal_linear_attention, (q, k, v, before))


def test_the_published_features_by_hand() -> None:
    """φ(x) = 1 + elu(x): f(1) = 2, f(0) = 1; the second query weighs the keys 2·2 and 2·1, so 4/6 and 2/6."""
    q = torch.tensor([[[[0.0], [1.0]]]])
    k, v = torch.tensor([[[[1.0], [0.0]]]]), torch.tensor([[[[3.0], [9.0]]]])
    linear = made({"kind": "linear"}, AttentionContext(1, 1, 1))
    assert linear(q, k, v, CAUSAL).flatten().tolist() == pytest.approx([3.0, 3 * 4 / 6 + 9 * 2 / 6])


@torch.no_grad()
@pytest.mark.parametrize("chunks", [(1,) * LENGTH, (6, 1, 1, 9), (17,)], ids=["singly", "prompt", "whole"])
def test_step_by_step_equals_the_full_pass(mechanism: Any, chunks: tuple[int, ...]) -> None:
    q, k, v = asked()
    cache = asking.check_step_by_step(mechanism, (q, k, v), chunks)
    assert cache.ages == LENGTH
    features = 13 if mechanism.features.queries(q).shape[-1] == 13 else KEY_WIDTH
    assert cache.sums_BGRV.shape == (BATCH, HEADS, features, VALUE_WIDTH + 1)


def test_rows_without_any_token_join_those_that_have_some() -> None:
    linear = made({"kind": "linear"})
    q, k, v = asked()
    fresh, old = SumsCache(rows=1), SumsCache(rows=2)
    linear(q, k, v, CAUSAL, None, old)
    both = fresh.join(old)
    assert both.sums_BGRV is not None
    assert len(both.sums_BGRV) == 3
    assert torch.equal(both.ages, torch.tensor([0, LENGTH, LENGTH]))
    assert fresh.join(SumsCache(rows=2)).rows == 3


@torch.no_grad()
def test_narrow_numbers_are_summed_in_wide_ones(mechanism: Any) -> None:
    q, k, v = (x.bfloat16() for x in asked())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = mechanism(q, k, v, CAUSAL)
    assert found.dtype == torch.bfloat16
    assert torch.allclose(found.float(), mechanism(q.float(), k.float(), v.float(), CAUSAL), atol=0.03)


@torch.no_grad()
def test_random_features_come_close_to_the_softmax_as_they_grow_in_number() -> None:
    """Inputs of standard deviation 0.25, twenty draws: four times the features, about half the error."""
    generator = torch.Generator().manual_seed(1)
    q, k, v = (torch.randn(1, 2, 256, 64, generator=generator) for _ in range(3))
    q, k = q / 4, k / 4
    exact = formulas.attention(q, k, v)
    errors = {}
    for features in (64, 256):
        mechanism = made({"kind": "performer", "features": features}, AttentionContext(64, 64, 2))
        draws = []
        for _ in range(20):
            mechanism.features.redraw(generator)
            draws.append(float((mechanism(q, k, v, EVERYTHING) - exact).norm() / exact.norm()))
        errors[features] = sum(draws) / len(draws)
    assert errors[256] <= 0.6 * errors[64]
    assert errors[256] < 0.3


def test_random_directions_are_orthogonal_in_blocks() -> None:
    rows_RK = orthogonal_rows(11, 4, torch.Generator().manual_seed(1))
    products = torch.nn.functional.normalize(rows_RK) @ torch.nn.functional.normalize(rows_RK).T
    for block in (slice(0, 4), slice(4, 8), slice(8, 11)):
        torch.testing.assert_close(products[block, block], torch.eye(len(products[block])), atol=1e-5, rtol=0)
    assert rows_RK.norm(dim=-1).std() > 0.1


def test_features_are_redrawn_on_request_and_kept_with_the_weights() -> None:
    model = torch.nn.ModuleList(made({"kind": "performer"}) for _ in range(2))
    before = {name: one.clone() for name, one in model.state_dict().items()}
    assert list(before) == ["0.features.directions_RK", "1.features.directions_RK"]
    assert redraw_features(model, torch.Generator().manual_seed(1)) == 2
    assert not any(torch.equal(one, before[name]) for name, one in model.state_dict().items())


def test_wide_heads_do_not_overflow() -> None:
    features = RandomFeatures(512, 64)
    assert features.limit > 0
    loud = features.directions_RK[:1][None, None] * 512**0.25  # the key that fits a direction best
    assert bool(features.keys(loud).isfinite().all())


def test_a_bias_and_zero_features_are_refused_in_words(mechanism: Any) -> None:
    q, k, v = asked()
    bias_HTS = torch.zeros(HEADS, LENGTH, LENGTH)
    for call in (lambda: mechanism(q, k, v, CAUSAL, bias_HTS), lambda: mechanism.weights(q, k, CAUSAL, bias_HTS)):
        with pytest.raises(OptionError, match="linear attention has no scores to which a bias could be added"):
            call()
    with pytest.raises(RecipeError, match="features: Input should be greater than or equal to 1, found 0"):
        made({"kind": "performer", "features": 0})
    with pytest.raises(RecipeError, match="features: Input should be 'elu', 'relu' or 'softmax'"):
        made({"kind": "linear", "features": "tanh"})


def test_cached_positions_elsewhere_take_the_matrix(mechanism: Any) -> None:
    """Queries that come later than their keys, and rows of different ages, as the taps ask."""
    q, k, v = asked()
    full = mechanism(q, k, v, CAUSAL)
    late = mechanism(q[:, :, 12:], k, v, CAUSAL.at(12))
    torch.testing.assert_close(late, full[:, :, 12:], atol=1e-5, rtol=1e-4)
    places_BT = torch.tensor([[3, 4], [7, 8]])
    own_q = torch.stack([q[0, :, 3:5], q[1, :, 7:9]])
    found = mechanism(own_q, k, v, replace(CAUSAL, places_BT=places_BT))
    torch.testing.assert_close(found[1], full[1, :, 7:9], atol=1e-5, rtol=1e-4)
