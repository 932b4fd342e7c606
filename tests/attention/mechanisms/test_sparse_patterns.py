"""Patterns in blocks are the formula under their rule; what they remember is enough; what they skip costs nothing."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention import MECHANISMS, AttentionContext
from regard.attention.masks import CAUSAL, EVERYTHING, Mask
from regard.attention.mechanisms import neighbourhood, sparse_pattern
from regard.attention.mechanisms.block_pattern import BlockPattern, bigbird_layout, given_layout
from regard.attention.rolling import RollingCache
from regard.core.config import parse
from regard.core.errors import OptionError, RecipeError
from tests.attention import asking
from tests.attention.asking import BATCH, HEADS, KEY_WIDTH, VALUE_WIDTH

LENGTH = 29
CONTEXT = AttentionContext(KEY_WIDTH, KEY_WIDTH, HEADS, layer=1, layers=2)

TABLES: dict[str, dict[str, Any]] = {
    "window of 1": {"kind": "window", "size": 1},
    "window of 6": {"kind": "window", "size": 6},
    "window of 28": {"kind": "window", "size": 28},
    "dilated": {"kind": "dilated", "size": 3, "stride": 4},
    "strided": {"kind": "dilated", "size": 0, "stride": 7},
    "sinks": {"kind": "sinks", "size": 4, "sinks": 3},
    "longformer": {"kind": "longformer", "size": 5, "globals": 2},
    "longformer, dilated": {"kind": "longformer", "size": 3, "stride": 3, "globals": 4},
    "bigbird": {"kind": "bigbird", "block": 3, "random": 2},
    "bigbird without globals": {"kind": "bigbird", "block": 2, "window": 0, "globals": 0, "random": 1},
    "blocks": {"kind": "block-sparse", "block": 10, "layout": ["x..", "x.x", ".x."]},
}


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five queries each, so that a short sequence has several blocks and the last is shorter."""
    monkeypatch.setattr(sparse_pattern, "DENSE_UP_TO", 0)
    monkeypatch.setattr(sparse_pattern, "READ_AT_ONCE", 4)
    monkeypatch.setattr(neighbourhood, "ROWS", 5)
    torch.manual_seed(3)


@pytest.fixture(params=list(TABLES))
def mechanism(request: pytest.FixtureRequest, small_blocks: None) -> Any:
    return made(TABLES[request.param])


FORGETTING = [name for name, table in TABLES.items() if table.get("size")]


@pytest.fixture(params=FORGETTING)
def rolling(request: pytest.FixtureRequest, small_blocks: None) -> Any:
    """Those that need not remember everything."""
    found = made(TABLES[request.param])
    assert not found.keeps_keys
    return found


def made(table: dict[str, Any], context: AttentionContext = CONTEXT) -> Any:
    return asking.made(table, context)


def asked(length: int = LENGTH, seed: int = 5) -> tuple[Tensor, Tensor, Tensor]:
    return asking.asked(length, seed)


def masks() -> dict[str, Mask]:
    given = torch.rand(1, HEADS, LENGTH, LENGTH, generator=torch.Generator().manual_seed(1)) > 0.4
    return asking.masks((17, LENGTH), LENGTH, 11, given)


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("name", list(masks()))
def test_blocks_are_the_formula_forward_and_backward(mechanism: Any, name: str, biased: bool) -> None:
    q, k, v = asked()
    mask = masks()[name]
    bias_HTS = torch.randn(HEADS, LENGTH, LENGTH) if biased else None
    found, expected = mechanism(q, k, v, mask, bias_HTS), mechanism.weights(q, k, mask, bias_HTS) @ v
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    pull = torch.randn_like(found)
    for one, other in zip(torch.autograd.grad(found, (q, k, v), pull), torch.autograd.grad(expected, (q, k, v), pull)):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", list(masks()))
def test_nobody_sees_what_the_mask_or_the_pattern_hides(mechanism: Any, name: str) -> None:
    q, k, v = asked()
    mask = masks()[name]
    may_look = mechanism.limited(mask, LENGTH, LENGTH).dense(LENGTH, LENGTH)
    seen = torch.ones(BATCH, HEADS, LENGTH, LENGTH, dtype=torch.bool) if may_look is None else may_look
    seen = seen.expand(BATCH, HEADS, -1, -1)
    before = asking.check_hidden(mechanism, (q, k, v), mask, seen, 1e4)
    assert bool((before[~seen.any(-1)] == 0).all())


def test_a_longer_sequence_or_padding_changes_no_pattern(mechanism: Any) -> None:
    q, k, v = asked()
    for shorter in (3, 10, 23):
        alone = mechanism(q[:1, :, :shorter], k[:1, :, :shorter], v[:1, :, :shorter], EVERYTHING)
        padded = mechanism(q[:1], k[:1], v[:1], Mask(lengths_B=torch.tensor([shorter])))
        torch.testing.assert_close(padded[:, :, :shorter], alone, atol=1e-5, rtol=1e-5)
        past = mechanism(q[:, :, :shorter], k[:, :, :shorter], v[:, :, :shorter], CAUSAL)
        torch.testing.assert_close(mechanism(q, k, v, CAUSAL)[:, :, :shorter], past, atol=1e-5, rtol=1e-5)


def test_narrow_numbers_stay_close(mechanism: Any) -> None:
    q, k, v = asked()
    expected = mechanism.weights(q, k, CAUSAL) @ v
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = mechanism(q, k, v, CAUSAL)
    assert found.dtype == torch.bfloat16
    assert torch.allclose(found.float(), expected, atol=0.05)
    pull = torch.randn_like(expected)
    for one, other in zip(
        torch.autograd.grad(found.float(), (q, k, v), pull), torch.autograd.grad(expected, (q, k, v), pull)
    ):
        assert one.dtype == torch.float32
        assert torch.allclose(one, other, atol=0.03 * float(other.abs().max()))


CHUNKS = [(1,) * LENGTH, (13, 1, 1, 14), (2, 9, 18), (29,)]


@torch.no_grad()
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("chunks", CHUNKS, ids=["singly", "prompt", "chunks", "whole"])
def test_step_by_step_equals_the_full_pass(rolling: Any, chunks: tuple[int, ...], biased: bool) -> None:
    q, k, v = asked()
    bias_HTS = torch.randn(HEADS, LENGTH, LENGTH) if biased else None
    full = rolling(q, k, v, CAUSAL, bias_HTS)
    cache, start, steps = rolling.new_cache(BATCH, HEADS, KEY_WIDTH, VALUE_WIDTH, q), 0, []
    for count in chunks:
        part = slice(start, start + count)
        beside = None if bias_HTS is None else bias_HTS[:, part, : part.stop]
        steps.append(rolling(q[:, :, part], k[:, :, part], v[:, :, part], CAUSAL, beside, cache))
        start += count
    torch.testing.assert_close(torch.cat(steps, dim=2), full, atol=1e-5, rtol=1e-5)
    assert cache.ages == LENGTH


@torch.no_grad()
def test_rows_of_different_ages_go_on_as_if_alone(rolling: Any) -> None:
    """Rows with different numbers of new tokens, some with none, then joined by younger ones and reordered."""
    q, k, v = asked()
    full = rolling(q, k, v, CAUSAL)
    ages, cache = [0, 0], rolling.new_cache(BATCH, HEADS, KEY_WIDTH, VALUE_WIDTH, q)
    rows = [0, 1]

    def go_on(counts: list[int]) -> None:
        most = max(counts)
        places = [[min(age + step, LENGTH - 1) for step in range(most)] for age in ages]
        own = [torch.stack([x[row, :, at] for row, at in zip(rows, places)]) for x in (q, k, v)]
        lengths = None if min(counts) == most else torch.tensor(counts)
        mask = CAUSAL if lengths is None else CAUSAL & Mask(lengths_B=lengths)
        out = rolling(*own, mask, None, cache)
        for place, (row, age, count) in enumerate(zip(rows, ages, counts)):
            torch.testing.assert_close(out[place, :, :count], full[row, :, age : age + count], atol=1e-5, rtol=1e-5)
            ages[place] += count

    go_on([3, 8])
    go_on([0, 1])
    go_on([1, 1])
    go_on([6, 2])
    other = rolling.new_cache(1, HEADS, KEY_WIDTH, VALUE_WIDTH, q)
    rolling(q[1:, :, :2], k[1:, :, :2], v[1:, :, :2], CAUSAL, None, other)
    cache, rows, ages = cache.join(other), [*rows, 1], [*ages, 2]
    go_on([1, 1, 1])
    cache, rows, ages = cache.reorder(torch.tensor([2, 0])), [rows[2], rows[0]], [ages[2], ages[0]]
    go_on([9, 5])
    go_on([1, 1])


@torch.no_grad()
def test_a_rolling_cache_does_not_grow(rolling: Any) -> None:
    q, k, v = asked(1)
    cache: RollingCache = rolling.new_cache(BATCH, HEADS, KEY_WIDTH, VALUE_WIDTH, q)
    sizes = []
    for _ in range(150):
        rolling(q, k, v, CAUSAL, None, cache)
        sizes.append(cache.k_BGSK.shape[2])
    assert cache.ages == 150
    assert max(sizes) <= 2 * cache.remembers.last + 1
    assert len(set(sizes[80:])) == 1


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"kind": "window", "size": 0}, "size: Input should be greater than"),
        ({"kind": "sinks", "sinks": 0}, "sinks: Input should be greater than"),
        ({"kind": "dilated", "stride": 1}, "stride: Input should be greater than or equal to 2"),
        ({"kind": "longformer", "globals": 0}, "globals: Input should be greater than"),
        ({"kind": "bigbird", "block": 0}, "block: Input should be greater than"),
        ({"kind": "block-sparse", "layout": ["x.", "xx."]}, "line 2 is 'xx.'; each of the 2 lines needs 2 signs"),
        ({"kind": "block-sparse", "layout": ["x.", "xo"]}, "line 2 is 'xo'"),
        ({"kind": "block-sparse", "layout": []}, "at least one line is needed"),
    ],
)
def test_settings_that_make_no_sense_are_refused(table: dict[str, Any], told: str) -> None:
    with pytest.raises(RecipeError, match=told):
        made(table)


def test_a_window_larger_than_the_sequence_is_full_attention_to_the_bit() -> None:
    q, k, v = asked()
    full = made({"kind": "softmax"})
    assert torch.equal(made({"kind": "window", "size": LENGTH})(q, k, v, CAUSAL), full(q, k, v, CAUSAL))


def test_a_window_computes_no_more_than_its_neighbourhood() -> None:
    blocks = neighbourhood.Neighbourhood(100).blocks(1000, causal=True)
    computed = sum(len(range(1000)[block.rows]) * len(range(1000)[block.keys]) for block in blocks)
    assert computed <= 1000 * (100 + neighbourhood.ROWS)


def test_alternating_layers_see_their_neighbourhood_or_everything() -> None:
    table = {"kind": "alternating", "pattern": ["local", "local", "full"], "local": {"kind": "window", "size": 5}}
    config = parse(MECHANISMS.resolve("alternating"), table)
    kinds = [
        type(config.build(AttentionContext(7, 7, 3, layer=layer, layers=4))).__name__ for layer in range(4)
    ]
    assert kinds == ["SparseAttention", "SparseAttention", "ScaledDot", "SparseAttention"]
    with pytest.raises(RecipeError, match="unknown attention kind 'alternating'"):
        parse(MECHANISMS.resolve("alternating"), {"kind": "alternating", "local": {"kind": "alternating"}})


def test_a_sequence_beyond_a_layout_is_refused_in_words() -> None:
    mechanism = made({"kind": "block-sparse", "block": 10, "layout": ["x.", "xx"]})
    q, k, v = asked(21)
    with pytest.raises(OptionError, match=r"a sequence of 3 blocks does not fit into a layout of 2; add lines to"):
        mechanism(q, k, v, CAUSAL)


def test_any_matrix_of_blocks_is_a_pattern() -> None:
    layout_IJ = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
    mechanism = sparse_pattern.SparseAttention(BlockPattern(40, given_layout(layout_IJ)))
    q, k, v = asked(111)
    weights_BHTS = mechanism.weights(q, k, EVERYTHING)
    expected_TS = layout_IJ.repeat_interleave(40, 0).repeat_interleave(40, 1)[:111, :111]
    assert torch.equal(weights_BHTS[0, 0].bool(), expected_TS)
    out = mechanism(q, k, v, EVERYTHING)
    torch.testing.assert_close(out, weights_BHTS @ v, atol=1e-5, rtol=1e-5)
    assert bool((out[:, :, 40:80] == 0).all())


def test_bigbird_draws_for_each_layer_and_both_ways() -> None:
    drawn = [bigbird_layout(0, 0, 2, seed)(20) for seed in (1, 2)]
    assert not torch.equal(*drawn)
    for layout_IJ in drawn:
        assert torch.equal(layout_IJ, layout_IJ.T)
        assert layout_IJ.tril(-1).sum(1).tolist() == [0, 1, *([2] * 18)]
    assert torch.equal(bigbird_layout(0, 0, 2, 1)(11), drawn[0][:11, :11])


def test_strides_and_globals_by_hand() -> None:
    """Rows 0 to 5, columns 0 to 5."""
    q, k, _ = asked(6)
    longformer = made({"kind": "longformer", "size": 2, "globals": 1}).weights(q, k, EVERYTHING)[0, 0].bool()
    assert longformer.int().tolist() == [
        [1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 0, 0],
        [1, 0, 1, 1, 1, 0], [1, 0, 0, 1, 1, 1], [1, 0, 0, 0, 1, 1],
    ]  # fmt: skip
    dilated = made({"kind": "dilated", "size": 2, "stride": 3}).weights(q, k, CAUSAL)[0, 0].bool()
    assert dilated.int().tolist() == [
        [1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0],
        [1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0], [0, 0, 1, 0, 0, 1],
    ]  # fmt: skip
    sinks = made({"kind": "sinks", "size": 2, "sinks": 2}).weights(q, k, CAUSAL)[0, 0].bool()
    assert sinks[5].int().tolist() == [1, 1, 0, 0, 1, 1]
