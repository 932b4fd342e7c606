"""Latent heads: what is remembered, the absorbed form against the plain one, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.attention.cache import Cache
from regard.attention.heads import HeadShape, SelfAttention
from regard.attention.latent import LatentAttention, LatentConfig
from regard.attention.masks import CAUSAL
from regard.attention.mechanisms.neighbourhood import Neighbourhood
from regard.attention.mechanisms.sparse_pattern import SparseAttention
from regard.attention.mechanisms.top_k import TopK
from regard.attention.places import places_after
from regard.attention.softmax import ScaledDot
from regard.core.config import parse
from regard.core.errors import OptionError
from regard.core.seams import ReadsProducts
from regard.core.taps import record
from regard.layers.positions import Rotary

WIDTH, HEADS = 11, 3
NARROW = {"rank": 5, "key_width": 3, "rotary_width": 4, "value_width": 7, "query_rank": 6}

MECHANISMS = [ScaledDot(), TopK(3), SparseAttention(Neighbourhood(4))]


def made(mechanism: Any = None, **settings: Any) -> LatentAttention:
    torch.manual_seed(2)
    part = parse(LatentConfig, {**NARROW, **settings})
    attention = part.self_attention(HeadShape(WIDTH, HEADS), mechanism or ScaledDot(), bias=False)
    with torch.no_grad():
        for weight in attention.parameters():
            nn.init.normal_(weight, std=0.7)
    return attention.eval()


def by_the_equations(attention: LatentAttention, x_TD: Tensor, position: Rotary) -> Tensor:
    """Equations 37 to 47 of DeepSeek-V2's appendix, one head and one position after the other."""
    widths = attention.widths
    c_query = attention.query_norm(attention.compress_query(x_TD))
    joint = attention.compress(x_TD)
    c, k_rotary = attention.latent_norm(joint[:, : widths.rank]), position.rotate(joint[None, None, :, widths.rank :])
    queries, expanded = attention.project_query(c_query).chunk(HEADS, -1), attention.expand(c).chunk(HEADS, -1)
    answers = []
    for q, both in zip(queries, expanded, strict=True):
        q_rotary = position.rotate(q[None, None, :, widths.content :])[0, 0]
        query = torch.cat((q[:, : widths.content], q_rotary), -1)
        key = torch.cat((both[:, : widths.content], k_rotary[0, 0]), -1)
        scores = query @ key.T / (widths.content + widths.rotary) ** 0.5
        scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf)
        answers.append(scores.softmax(-1) @ both[:, widths.content :])
    return attention.output(torch.cat(answers, -1))


@pytest.mark.parametrize("query_rank", [0, 6])
def test_it_computes_what_the_paper_says(query_rank: int) -> None:
    attention, position, x_BTD = made(query_rank=query_rank), Rotary(50.0), torch.randn(2, 9, WIDTH)
    found = attention(x_BTD, CAUSAL, position)
    for row, x_TD in zip(found, x_BTD, strict=True):
        torch.testing.assert_close(row, by_the_equations(attention, x_TD, position), atol=1e-5, rtol=1e-5)


@torch.no_grad()
def stepwise(attention: LatentAttention, x_BTD: Tensor, position: Rotary, chunks: list[int]) -> Tensor:
    cache, answers = attention.new_cache(len(x_BTD), x_BTD), []
    for chunk in x_BTD.split(chunks, dim=1):
        mask = CAUSAL.at(places_after(cache.ages, chunk.shape[1]))
        answers.append(attention(chunk, mask, position, cache))
    return torch.cat(answers, dim=1)


@pytest.mark.parametrize("chunks", [[1] * 9, [9], [4, 1, 4], [2, 7]], ids=str)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda own: type(own).__name__)
def test_absorbed_equals_expanded(mechanism: Any, chunks: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(mechanism, ReadsProducts)
    attention, position, x_BTD = made(mechanism), Rotary(50.0), torch.randn(2, 9, WIDTH)
    expected = attention(x_BTD, CAUSAL, position)
    for absorbs in (True, False):
        monkeypatch.setattr(LatentAttention, "_is_shorter_absorbed", lambda self, queries: absorbs)  # noqa: B023
        torch.testing.assert_close(stepwise(attention, x_BTD, position, chunks), expected, atol=1e-5, rtol=1e-5)


def test_a_step_absorbs_and_a_long_prompt_expands() -> None:
    """By the multiplications at DeepSeek-V3's widths: q (2 · 512 + 64) < q (128 + 64 + 128) + 256 · 512, q < 171."""
    sizes = {"rank": 512, "query_rank": 0, "key_width": 128, "rotary_width": 64, "value_width": 128}
    attention = made(**sizes)
    assert [attention._is_shorter_absorbed(queries) for queries in (1, 170, 171, 4096)] == [True, True, False, False]


def test_a_step_multiplies_latents_and_never_expands_them(monkeypatch: pytest.MonkeyPatch) -> None:
    attention, position, x_BTD = made(), Rotary(50.0), torch.randn(2, 9, WIDTH)
    cache = attention.new_cache(2, x_BTD)
    attention(x_BTD[:, :8], CAUSAL, position, cache)
    monkeypatch.setattr(attention.expand, "forward", lambda joint: pytest.fail("latents were expanded"))
    attention(x_BTD[:, 8:], CAUSAL.at(8), position, cache)


def cached_bytes(cache: Any) -> int:
    assert isinstance(cache, Cache)
    return cache.k_BGSK.nbytes + cache.v_BGSV.nbytes


def test_the_cache_at_deepseek_s_proportions_has_a_fiftieth_of_the_bytes() -> None:
    """512 + 64 numbers a position instead of 2 · 128 heads of 128: 0.0176."""
    positions, like = 16, torch.empty(0)
    with torch.device("meta"):
        latent = LatentConfig(
            rank=512, query_rank=1536, key_width=128, rotary_width=64, value_width=128
        ).self_attention(HeadShape(7168, 128), ScaledDot(), bias=False)
        multi_head = SelfAttention(HeadShape(7168, 128, key_width=128, value_width=128), ScaledDot())
    found = cached_bytes(latent.new_cache(1, like, positions)), cached_bytes(multi_head.new_cache(1, like, positions))
    assert found == (4 * 16 * 576, 4 * 16 * 32768)
    assert found[0] / found[1] < 0.02


def test_a_growing_cache_holds_latents_alone() -> None:
    attention, x_BTD = made(), torch.randn(2, 20, WIDTH)
    cache = attention.new_cache(2, x_BTD)
    attention(x_BTD, CAUSAL, Rotary(50.0), cache)
    assert cached_bytes(cache) == 4 * 2 * 20 * (5 + 4)


def test_taps_show_the_same_weights_in_both_forms() -> None:
    attention, position, x_BTD = made(), Rotary(50.0), torch.randn(2, 6, WIDTH)
    model = nn.ModuleDict({"heads": attention})
    with record(model, "*") as whole:
        attention(x_BTD, CAUSAL, position)
    with record(model, "*") as steps:
        stepwise(attention, x_BTD, position, [1] * 6)
    assert whole["heads"].weights.shape == (2, HEADS, 6, 6)
    torch.testing.assert_close(steps["heads"].weights, whole["heads"].weights, atol=1e-5, rtol=1e-5)


def test_widths_that_are_not_said_follow_deepseek_v2() -> None:
    widths = LatentConfig().widths(HeadShape(5120, 40))
    assert (widths.rank, widths.query_rank, widths.content, widths.rotary, widths.value) == (512, 0, 128, 64, 128)


@pytest.mark.parametrize(
    ("shape", "options", "words"),
    [
        (HeadShape(12, 4, groups=2), {}, "model.groups = 2 has no effect: latent heads share one latent"),
        (HeadShape(12, 4, key_width=5), {}, "set model.projection.key_width, rotary_width and value_width"),
        (HeadShape(12, 4), {"new_norm": nn.LayerNorm}, "model.head_norm has no place in latent heads"),
    ],
    ids=["groups", "widths", "norm"],
)
def test_what_would_have_no_effect_is_refused(shape: HeadShape, options: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        LatentConfig().self_attention(shape, ScaledDot(), bias=False, **options)
