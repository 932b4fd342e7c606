"""Reformer: chunks and the matrix say the same, the future moves nothing, and hashes find what points the same way."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from regard.attention import AttentionContext
from regard.attention.hashing import buckets_of, cells_of, factors_of
from regard.attention.heads import HeadShape, SelfAttention
from regard.attention.masks import CAUSAL, EVERYTHING, Mask, inside_segments
from regard.attention.shared import SharedAttention, SharedConfig
from regard.core.errors import OptionError, RecipeError
from regard.core.seams import Mechanism
from tests.attention import asking
from tests.attention.asking import BATCH, HEADS, KEY_WIDTH

LENGTH = 37
CONTEXT = AttentionContext(KEY_WIDTH, KEY_WIDTH, HEADS)
TABLES: list[dict[str, Any]] = [
    {"kind": "reformer", "buckets": 4, "chunk": 3, "rounds": 1},
    {"kind": "reformer", "buckets": 2, "chunk": 5, "rounds": 3},
    {"kind": "reformer", "buckets": 80, "chunk": 2, "rounds": 2},
]
PADDING = Mask(lengths_B=torch.tensor([9, LENGTH]))
MASKS = {
    "everything": EVERYTHING,
    "causal": CAUSAL,
    "padding": PADDING,
    "causal and padding": CAUSAL & PADDING,
    "an empty text": Mask(lengths_B=torch.tensor([0, 4])),
    "segments": CAUSAL & inside_segments(torch.arange(LENGTH).expand(BATCH, -1) // 5),
    "a window besides": CAUSAL & Mask(window=3),
}


@pytest.fixture(params=TABLES, ids=lambda table: f"{table['buckets']}-{table['rounds']}")
def mechanism(request: pytest.FixtureRequest) -> Any:
    torch.manual_seed(3)
    return asking.made(request.param, CONTEXT)


def asked(length: int = LENGTH) -> tuple[Tensor, Tensor, Tensor]:
    q, _, v = asking.asked(length)
    return q, functional.normalize(q.detach(), dim=-1).requires_grad_(), v


def test_it_fills_the_seam(mechanism: Any) -> None:
    assert isinstance(mechanism, Mechanism)


@pytest.mark.parametrize("name", list(MASKS))
def test_chunks_are_the_matrix_forward_and_backward(mechanism: Any, name: str) -> None:
    asking.check_is_its_matrix(mechanism, asked(), MASKS[name])


def test_a_place_reads_itself_only_where_nothing_else_can_be_seen(mechanism: Any) -> None:
    q, k, _ = asked()
    weights_BHTS = mechanism.weights(q, k, CAUSAL)
    own_BHT = weights_BHTS.diagonal(dim1=-2, dim2=-1)
    others_BHT = (weights_BHTS.bool().sum(-1) - own_BHT.bool().long()) > 0
    assert bool((own_BHT[..., 0] == 1).all())
    assert bool((own_BHT[others_BHT] == 0).all())
    assert bool((own_BHT[~others_BHT] == 1).all())


@torch.no_grad()
def test_what_stands_later_never_alters_what_came_before(mechanism: Any) -> None:
    """Not even which chunk it is in; nor does padding. A hundred tries, since chance could hide a change."""
    generator = torch.Generator().manual_seed(1)
    for _ in range(100):
        q, _, v = asking.asked(LENGTH, int(torch.randint(1 << 30, (1,), generator=generator)))
        place = int(torch.randint(1, LENGTH, (1,), generator=generator))
        other_q, other_v = q.clone(), v.clone()
        other_q[:, :, place:] = torch.randn(other_q[:, :, place:].shape, generator=generator)
        other_v[:, :, place:] += 1
        before, after = (
            mechanism(one, functional.normalize(one, dim=-1), values, CAUSAL)[:, :, :place]
            for one, values in ((q, v), (other_q, other_v))
        )
        torch.testing.assert_close(before, after, atol=1e-5, rtol=1e-4)
        lengths_B = torch.full((BATCH,), place)
        k = functional.normalize(q, dim=-1)
        padded = mechanism(q, k, v, Mask(lengths_B=lengths_B))[:, :, :place]
        alone = mechanism(q[:, :, :place], k[:, :, :place], v[:, :, :place], EVERYTHING)
        torch.testing.assert_close(padded, alone, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("chunks", [(1,) * LENGTH, (16, 1, 1, 19)], ids=["singly", "prompt"])
def test_step_by_step_equals_the_full_pass(mechanism: Any, chunks: tuple[int, ...]) -> None:
    asking.check_step_by_step(mechanism, asked(), chunks)


@torch.no_grad()
def test_one_bucket_and_one_chunk_is_attention_that_leaves_itself_out() -> None:
    q, k, v = asked()
    torch.manual_seed(1)
    made = asking.made({"kind": "reformer", "buckets": 2, "chunk": 99, "rounds": 1}, CONTEXT)
    made.rotations_0_RKC.zero_()  # all in one bucket
    scores = (q @ k.mT / KEY_WIDTH**0.5).masked_fill(torch.eye(LENGTH, dtype=torch.bool), -torch.inf)
    torch.testing.assert_close(made(q, k, v, EVERYTHING), scores.softmax(-1) @ v, atol=1e-5, rtol=1e-4)


def test_hashes_find_what_points_the_same_way_and_rounds_find_more() -> None:
    torch.manual_seed(1)
    x = torch.randn(1, 1, 500, 16)
    near, far = functional.normalize(x + 0.2 * torch.randn_like(x), dim=-1), torch.randn_like(x)
    rotations = (torch.randn(8, 16, 4), torch.randn(8, 16, 4))
    own, close, other = (buckets_of(one, rotations) for one in (x, near, far))
    assert own.shape == (1, 1, 500, 8)
    assert own.max() > 32
    assert own.max() < 64
    once = (own == close)[..., 0].float().mean()
    assert once > 5 * (own == other)[..., 0].float().mean()
    assert (own == close).any(-1).float().mean() > once + 0.1


def test_chunks_count_from_their_bucket_s_own_start() -> None:
    buckets_BHSR = torch.tensor([1, 0, 1, 1, 0, 1]).view(1, 1, 6, 1)
    cells = cells_of(buckets_BHSR, 2).flatten().tolist()
    assert cells == [6, 0, 6, 7, 0, 7]


def test_hashes_are_factorised() -> None:
    assert [factors_of(buckets) for buckets in (2, 64, 256, 80, 68)] == [(2,), (64,), (16, 16), (8, 10), (2, 34)]
    assert len(list(asking.made({"kind": "reformer", "buckets": 1024}, CONTEXT).buffers())) == 2


def test_shared_heads_have_one_matrix_for_queries_and_keys() -> None:
    torch.manual_seed(1)
    shape = HeadShape(width=12, heads=3)
    heads = SharedConfig().self_attention(shape, asking.made({"kind": "softmax"}, CONTEXT))
    assert isinstance(heads, SharedAttention)
    assert heads.project.weight.shape == (24, 12)
    x = torch.randn(2, 5, 12)
    q, v = (one.unflatten(-1, (3, 4)).transpose(1, 2) for one in heads.project(x).split((12, 12), -1))
    weights = (q @ (q / q.norm(dim=-1, keepdim=True)).mT / 2).softmax(-1)
    expected = heads.output((weights @ v).transpose(1, 2).flatten(2))
    torch.testing.assert_close(heads(x, EVERYTHING), expected)


def test_what_it_cannot_do_is_refused_in_words(mechanism: Any) -> None:
    q, k, v = asked()
    with pytest.raises(OptionError, match="hashed attention takes no bias on scores"):
        mechanism(q, k, v, CAUSAL, torch.zeros(HEADS, LENGTH, LENGTH))
    with pytest.raises(RecipeError, match=r'Reformer looks for queries .* set model\.projection\.kind = "shared"'):
        SelfAttention(HeadShape(12, 3), mechanism)
    with pytest.raises(RecipeError, match="buckets: 7 buckets do not divide into pairs of opposite directions"):
        asking.made({"kind": "reformer", "buckets": 7}, CONTEXT)
    with pytest.raises(RecipeError, match="more than 64 buckets are hashed by two even factors, and 66 does not"):
        asking.made({"kind": "reformer", "buckets": 66}, CONTEXT)
    with pytest.raises(RecipeError, match="rounds: Input should be greater than or equal to 1, found 0"):
        asking.made({"kind": "reformer", "rounds": 0}, CONTEXT)
    with pytest.raises(OptionError, match=r"model\.groups = 1 has no place in shared heads"):
        SharedConfig().self_attention(HeadShape(12, 3, groups=1), mechanism)
