"""A mechanism may remember what it likes: linear attention keeps one matrix a head, however long the text grows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.attention import AttentionContext, MechanismPart
from regard.attention.heads import HeadShape, SelfAttention
from regard.attention.masks import Mask
from regard.attention.places import Ages, advanced, joined, reordered
from regard.core.config import parse
from regard.core.errors import NoMatrix, OptionError
from regard.core.ports import text_ports
from regard.core.seams import Mechanism
from regard.runs.recipe import Recipe


@dataclass
class LinearCache:
    """Σ φ(k) vᵀ and Σ φ(k) of everything so far."""

    sum_BHKV: Tensor
    ages: Ages = 0

    def extend(self, k_BGTK: Tensor, v_BGTV: Tensor, lengths_B: Tensor | None = None) -> tuple[Tensor, Tensor]:
        raise AssertionError("it keeps no keys")

    def reorder(self, rows: Tensor) -> LinearCache:
        return LinearCache(self.sum_BHKV[rows], reordered(self.ages, rows))

    def join(self, other: LinearCache) -> LinearCache:
        rows, others = len(self.sum_BHKV), len(other.sum_BHKV)
        ages = joined(self.ages, rows, other.ages, others, self.sum_BHKV.device)
        return LinearCache(torch.cat((self.sum_BHKV, other.sum_BHKV)), ages)


class Linear(nn.Module):
    """out_t = φ(q_t)ᵀ Σ_{s ≤ t} φ(k_s) v_sᵀ / φ(q_t)ᵀ Σ φ(k_s), φ = 1 + elu (Katharopoulos et al. 2020)."""

    causal, cacheable, has_matrix, keeps_keys = True, True, False, False

    def forward(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Mask, bias: Tensor | None = None, cache: Any = None
    ) -> Tensor:
        q, k = 1 + functional.elu(q), 1 + functional.elu(k)
        v = torch.cat((v, torch.ones_like(v[..., :1])), dim=-1)  # the last column counts
        if mask.lengths_B is not None:
            real_BS = torch.arange(k.shape[-2]) < mask.lengths_B[:, None]
            k = k * real_BS[:, None, :, None]
        sums_BHTKV = (k[..., None] * v[..., None, :]).cumsum(dim=2)
        if cache is not None:
            sums_BHTKV = sums_BHTKV + cache.sum_BHKV[:, :, None]
            cache.sum_BHKV = sums_BHTKV[:, :, -1]
            cache.ages = advanced(cache.ages, k.shape[-2], mask.lengths_B)
        out = torch.einsum("bhtk,bhtkv->bhtv", q, sums_BHTKV)
        return out[..., :-1] / out[..., -1:]

    def weights(self, q: Tensor, k: Tensor, mask: Mask, bias: Tensor | None = None) -> Tensor:
        raise NoMatrix("linear attention never forms one")

    def new_cache(
        self, rows: int, heads: int, key_width: int, value_width: int, like: Tensor, room: int = 0
    ) -> LinearCache:
        return LinearCache(like.new_zeros(rows, heads, key_width, value_width + 1))


class LinearConfig(MechanismPart):
    def build(self, context: AttentionContext) -> Mechanism:
        return Linear()


@pytest.fixture
def model() -> Any:
    torch.manual_seed(3)
    table = {
        "kind": "gpt", "layers": 2, "width": 12, "heads": 3, "position": {"kind": "learned", "max_length": 30},
        "attention": {"kind": f"{__name__}:LinearConfig"},
    }  # fmt: skip
    return parse(Recipe, {"model": table}).model.build(text_ports(13, 13, shared=True)).eval()


def test_a_mechanism_with_a_memory_of_its_own_fills_the_seam(model: Any) -> None:
    assert isinstance(Linear(), Mechanism)
    state = model.start((2, 0))
    assert all(isinstance(cache, LinearCache) for cache in state.caches)


def test_what_lacks_a_part_of_the_seam_is_refused_by_name() -> None:
    class Forgetful(nn.Module):
        causal = cacheable = has_matrix = True

        def weights(self) -> None: ...

    with pytest.raises(OptionError, match="Forgetful is not an attention mechanism: it lacks keeps_keys, new_cache"):
        SelfAttention(HeadShape(8, 2), Forgetful())  # type: ignore[arg-type]


@torch.no_grad()
def test_step_by_step_equals_the_full_pass_with_a_memory_that_does_not_grow(model: Any) -> None:
    tokens_BT = torch.arange(22).view(2, 11) % 13
    full, state, steps = model.head(model(tokens_BT)), model.start((2, 0)), []
    for chunk_BT in tokens_BT.split([1, 4, 1, 5], dim=1):
        logits_BTW, state = model.step(chunk_BT, state)
        steps.append(logits_BTW)
    torch.testing.assert_close(torch.cat(steps, dim=1), full, atol=1e-5, rtol=1e-4)
    assert state.caches[0].sum_BHKV.shape == (2, 3, 4, 5)


@torch.no_grad()
def test_rows_of_different_ages_join_and_leave(model: Any) -> None:
    old, young = (1, 4, 9, 2, 7), (1, 8)
    _, state = model.step(torch.tensor([old, (*young, 12, 12, 12)]), model.start((2, 0)), torch.tensor([5, 2]))
    _, other = model.step(torch.tensor([[1, 3, 5]]), model.start((1, 0)))
    logits_B1W, state = model.step(torch.tensor([[6], [6], [6]]), state.join(other))
    logits_B1W, _ = model.step(torch.tensor([[10], [10]]), state.reorder(torch.tensor([2, 1])))
    for found_W, text in zip(logits_B1W[:, 0], ((1, 3, 5, 6, 10), (*young, 6, 10))):
        expected = model.head(model(torch.tensor([text])))[0, -1]
        torch.testing.assert_close(found_W, expected, atol=1e-5, rtol=1e-4)
