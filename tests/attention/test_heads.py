"""Heads own the cache and the memory: cached equals recomputed, shared equals repeated, folded beams equal copies."""

import math

import pytest
import torch
from torch import Tensor, nn

from regard.attention.cache import Cache
from regard.attention.heads import CrossAttention, HeadShape, SelfAttention
from regard.attention.masks import CAUSAL, EVERYTHING, Mask
from regard.attention.memory import Memory
from regard.attention.softmax import ScaledDot
from regard.layers.positions import NoPosition, RelativeBias, Rotary

WIDTH, HEADS = 20, 6
SHAPE = HeadShape(WIDTH, HEADS, groups=3, key_width=4, value_width=7)
POSITIONS = {"none": NoPosition, "rotary": Rotary, "relative bias": lambda: RelativeBias(HEADS, max_distance=5)}


def seeded(make: type[nn.Module], *inputs: object, **named: object) -> nn.Module:
    """The module with random biases too, which start at zero and could hide a wrong split."""
    torch.manual_seed(13)
    module = make(*inputs, **named)
    for weight in module.parameters():
        if weight.dim() == 1:
            nn.init.normal_(weight)
    return module


@pytest.mark.parametrize("position", list(POSITIONS))
@pytest.mark.parametrize("chunks", [[1] * 37, [5, 1, 11, 1, 19], [37]])
@torch.no_grad()
def test_step_by_step_with_a_cache_equals_the_full_pass(position: str, chunks: list[int]) -> None:
    attention, where = seeded(SelfAttention, SHAPE, ScaledDot()), POSITIONS[position]()
    for weight in where.parameters():
        nn.init.normal_(weight)
    x_BTD = torch.randn(2, 37, WIDTH)
    full = attention(x_BTD, CAUSAL, where)
    cache, pieces = attention.new_cache(2, x_BTD), []
    for x in x_BTD.split(chunks, dim=1):
        pieces.append(attention(x, CAUSAL.at(cache.length), where, cache))
    assert torch.allclose(torch.cat(pieces, dim=1), full, atol=1e-5)
    assert cache.length == 37


def test_as_many_groups_as_heads_is_what_no_groups_mean() -> None:
    plain = seeded(SelfAttention, HeadShape(WIDTH, 5), ScaledDot())
    grouped = seeded(SelfAttention, HeadShape(WIDTH, 5, groups=5), ScaledDot())
    x_BTD = torch.randn(2, 3, WIDTH)
    assert torch.equal(plain(x_BTD, CAUSAL), grouped(x_BTD, CAUSAL))
    assert grouped.shape.key_width == grouped.shape.value_width == 4


def repeated(stacked: Tensor, splits: tuple[int, ...], repeats: tuple[int, ...], widths: tuple[int, ...]) -> Tensor:
    """Stacked projections with each group's rows written out once for every head of the group."""
    parts = []
    for part, repeat, width in zip(stacked.split(splits), repeats, widths, strict=True):
        by_group = part.unflatten(0, (-1, width))
        parts.append(by_group.repeat_interleave(repeat, dim=0).flatten(0, 1))
    return torch.cat(parts)


def test_fewer_groups_than_heads_equal_repeated_weights_in_self_attention() -> None:
    grouped = seeded(SelfAttention, SHAPE, ScaledDot())
    full = SelfAttention(HeadShape(WIDTH, HEADS, 0, 4, 7), ScaledDot())
    full.output.load_state_dict(grouped.output.state_dict())
    splits = grouped.shape.splits
    full.project.weight.data = repeated(grouped.project.weight.data, splits, (1, 2, 2), (4, 4, 7))
    full.project.bias.data = repeated(grouped.project.bias.data, splits, (1, 2, 2), (4, 4, 7))
    x_BTD, mask = torch.randn(2, 5, WIDTH), CAUSAL & Mask(lengths_B=torch.tensor([3, 5]))
    assert torch.allclose(grouped(x_BTD, mask), full(x_BTD, mask), atol=1e-5)


def test_fewer_groups_than_heads_equal_repeated_weights_in_cross_attention() -> None:
    grouped = seeded(CrossAttention, SHAPE, ScaledDot(), memory_width=11)
    full = CrossAttention(HeadShape(WIDTH, HEADS, 0, 4, 7), ScaledDot(), memory_width=11)
    full.output.load_state_dict(grouped.output.state_dict())
    full.project_query.load_state_dict(grouped.project_query.state_dict())
    splits = grouped.shape.splits[1:]
    full.project_memory.weight.data = repeated(grouped.project_memory.weight.data, splits, (2, 2), (4, 7))
    full.project_memory.bias.data = repeated(grouped.project_memory.bias.data, splits, (2, 2), (4, 7))
    x_BTD, memory_BSD, mask = torch.randn(2, 3, WIDTH), torch.randn(2, 5, 11), Mask(lengths_B=torch.tensor([2, 5]))
    found = grouped(x_BTD, grouped.memory(memory_BSD, mask))
    assert torch.allclose(found, full(x_BTD, full.memory(memory_BSD, mask)), atol=1e-5)


@pytest.mark.parametrize("kind", [SelfAttention, CrossAttention])
def test_with_a_norm_the_size_of_queries_and_keys_does_not_matter(kind: type[nn.Module]) -> None:
    attention = seeded(kind, SHAPE, ScaledDot(), new_norm=lambda width: nn.RMSNorm(width, eps=0.0))
    x_BTD = torch.randn(2, 5, WIDTH)

    def read() -> Tensor:
        if kind is SelfAttention:
            return attention(x_BTD, CAUSAL, Rotary())
        return attention(x_BTD, attention.memory(x_BTD, EVERYTHING))

    before = read()
    project = attention.project if kind is SelfAttention else attention.project_memory
    queries_and_keys = sum(attention.shape.splits[:2]) if kind is SelfAttention else attention.shape.splits[1]
    with torch.no_grad():
        for parameter in (project.weight, project.bias):
            parameter[:queries_and_keys] *= 7.0
    assert torch.allclose(read(), before, atol=1e-5)
    with torch.no_grad():
        project.weight[queries_and_keys:] *= 7.0
    assert not torch.allclose(read(), before, atol=0.1)


def test_heads_that_do_not_divide_into_groups_are_refused() -> None:
    with pytest.raises(ValueError, match="6 heads cannot share 4 key/value groups evenly"):
        HeadShape(WIDTH, 6, groups=4).filled()


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("mask", [EVERYTHING, Mask(lengths_B=torch.tensor([2, 5]))], ids=["full", "padded"])
def test_beams_folded_into_queries_equal_a_memory_repeated_for_each_beam(beams: int, mask: Mask) -> None:
    cross = seeded(CrossAttention, SHAPE, ScaledDot())
    x_RTD, memory_BSD = torch.randn(2 * beams, 7, WIDTH), torch.randn(2, 5, WIDTH)
    found = cross(x_RTD, cross.memory(memory_BSD, mask))
    lengths_R = None if mask.lengths_B is None else mask.lengths_B.repeat_interleave(beams)
    copies = cross.memory(memory_BSD.repeat_interleave(beams, dim=0), Mask(lengths_B=lengths_R))
    assert torch.allclose(found, cross(x_RTD, copies), atol=1e-5)


def test_select_keeps_sentences_with_their_lengths() -> None:
    k, v = torch.randn(3, 2, 5, 7), torch.randn(3, 2, 5, 11)
    memory = Memory(k, v, Mask(lengths_B=torch.tensor([2, 3, 5]))).select(torch.tensor([2, 0]))
    assert torch.equal(memory.k_BGSK, k[[2, 0]])
    assert torch.equal(memory.v_BGSV, v[[2, 0]])
    assert memory.mask.lengths_B is not None
    assert memory.mask.lengths_B.tolist() == [5, 2]
    assert Memory(k, v, EVERYTHING).select(torch.tensor([1])).mask.is_everything


def test_select_keeps_every_other_rule_for_the_sentences_that_stay() -> None:
    dense_BHTS = torch.rand(3, 1, 4, 5) < 0.5
    mask = Mask(
        window=3,
        lengths_B=torch.tensor([2, 3, 5]),
        dense_BHTS=dense_BHTS,
        query_segments_BT=torch.randint(0, 2, (3, 4)),
        key_segments_BS=torch.randint(0, 2, (3, 5)),
    )
    kept = Memory(torch.randn(3, 2, 5, 7), torch.randn(3, 2, 5, 11), mask).select(torch.tensor([2, 0, 2])).mask
    before, after = mask.dense(4, 5), kept.dense(4, 5)
    assert before is not None
    assert after is not None
    assert torch.equal(after, before[[2, 0, 2]])
    for_all = Memory(torch.randn(3, 2, 5, 7), torch.randn(3, 2, 5, 11), Mask(dense_BHTS=dense_BHTS[:1]))
    assert torch.equal(for_all.select(torch.tensor([2, 0])).mask.dense(4, 5), dense_BHTS[:1])


def filled_cache(rows: int, length: int) -> tuple[Cache, Tensor, Tensor]:
    k, v = torch.randn(rows, 2, length, 3), torch.randn(rows, 2, length, 5)
    cache = Cache(k[:, :, :0], v[:, :, :0])
    cache.extend(k, v)
    return cache, k, v


@pytest.mark.parametrize("length", [1, 16, 17, 31])
def test_reorder_repeats_leaves_out_and_moves_rows_that_then_go_their_own_ways(length: int) -> None:
    cache, k, v = filled_cache(3, length)
    moved = cache.reorder(torch.tensor([2, 0, 2, 1]))
    new_k, new_v = torch.randn(4, 2, 1, 3), torch.randn(4, 2, 1, 5)
    all_k, all_v = moved.extend(new_k, new_v)
    assert torch.equal(all_k, torch.cat((k[[2, 0, 2, 1]], new_k), dim=2))
    assert torch.equal(all_v, torch.cat((v[[2, 0, 2, 1]], new_v), dim=2))
    assert moved.reorder(torch.tensor([3])).extend(new_k[:1], new_v[:1])[0].shape == (1, 2, length + 2, 3)


def test_what_a_cache_returned_before_is_not_written_over() -> None:
    cache, _, _ = filled_cache(2, 5)
    before, _ = cache.extend(torch.ones(2, 2, 1, 3), torch.ones(2, 2, 1, 5))
    kept = before.clone()
    for _ in range(40):
        cache.extend(torch.zeros(2, 2, 1, 3), torch.zeros(2, 2, 1, 5))
    assert torch.equal(before, kept)


def test_rows_of_different_ages_grow_each_by_its_own_length() -> None:
    k, v = torch.randn(3, 2, 4, 3), torch.randn(3, 2, 4, 5)
    cache = Cache.empty(3, 2, 3, 5, k, room=2)
    cache.k_BGSK.fill_(float("nan"))  # as fresh memory may be
    cache.v_BGSV.fill_(float("nan"))
    held_k, held_v = cache.extend(k, v, torch.tensor([4, 1, 2]))
    assert bool(held_k.isfinite().all())
    more_k, more_v = torch.randn(3, 2, 20, 3), torch.randn(3, 2, 20, 5)
    held_k, held_v = cache.extend(more_k, more_v)
    assert bool(held_k.isfinite().all())
    assert bool(held_v.isfinite().all())
    for row, length in enumerate((4, 1, 2)):
        assert torch.equal(held_k[row, :, : length + 20], torch.cat((k[row, :, :length], more_k[row]), dim=1))
        assert torch.equal(held_v[row, :, : length + 20], torch.cat((v[row, :, :length], more_v[row]), dim=1))
    assert isinstance(cache.ages, Tensor)
    assert cache.ages.tolist() == [24, 21, 22]


def test_rows_that_join_bring_what_they_have_seen_and_one_age_is_one_number_again() -> None:
    (old, old_k, old_v), (young, young_k, _) = filled_cache(2, 19), filled_cache(3, 5)
    both = old.join(young)
    assert isinstance(both.ages, Tensor)
    assert both.ages.tolist() == [19, 19, 5, 5, 5]
    new_k, new_v = torch.randn(5, 2, 1, 3), torch.randn(5, 2, 1, 5)
    held_k, held_v = both.extend(new_k, new_v)
    assert torch.equal(held_k[:2], torch.cat((old_k, new_k[:2]), dim=2))
    assert torch.equal(held_v[:2], torch.cat((old_v, new_v[:2]), dim=2))
    assert torch.equal(held_k[2:, :, :6], torch.cat((young_k, new_k[2:]), dim=2))
    left = both.reorder(torch.tensor([4, 2]))
    assert left.ages == 6
    assert left.extend(new_k[:2], new_v[:2])[0].shape == (2, 2, 7, 3)
    assert filled_cache(2, 5)[0].join(filled_cache(1, 5)[0]).ages == 5


def test_memories_join_with_their_lengths() -> None:
    one = Memory(torch.randn(2, 2, 3, 7), torch.randn(2, 2, 3, 5), EVERYTHING)
    other = Memory(torch.randn(1, 2, 5, 7), torch.randn(1, 2, 5, 5), Mask(lengths_B=torch.tensor([4])))
    both = other.join(one)
    assert both.k_BGSK.shape == (3, 2, 5, 7)
    assert both.mask.lengths_B is not None
    assert both.mask.lengths_B.tolist() == [4, 3, 3]
    assert torch.equal(both.v_BGSV[1:, :, :3], one.v_BGSV)
    with pytest.raises(ValueError, match="memories join where their masks speak of lengths alone"):
        Memory(one.k_BGSK, one.v_BGSV, Mask(window=2)).join(one)


def test_each_projection_starts_as_a_xavier_matrix_of_its_own_and_biases_at_zero() -> None:
    torch.manual_seed(1)
    attention = SelfAttention(HeadShape(256, 4), ScaledDot())
    bound = math.sqrt(6 / (256 + 256))
    for weight in (*attention.project.weight.split(attention.shape.splits), attention.output.weight):
        assert weight.abs().max().item() == pytest.approx(bound, rel=1e-3)
        assert weight.abs().max().item() <= bound
    assert not attention.project.bias.any()
    assert not attention.output.bias.any()
