"""Top-k attention: which keys count, and that stretches of queries change nothing."""

from __future__ import annotations

import pytest
import torch

from regard.attention import MECHANISMS, AttentionContext
from regard.attention.masks import CAUSAL, EVERYTHING, Mask
from regard.attention.mechanisms import top_k
from regard.attention.mechanisms.top_k import TopK
from regard.core.config import parse
from regard.core.errors import RecipeError


def test_the_best_keys_count_and_no_others() -> None:
    q, k = torch.ones(1, 1, 1, 1), torch.tensor([1.0, 5.0, 3.0, 4.0]).view(1, 1, 4, 1)
    weights = TopK(2).weights(q, k, EVERYTHING).flatten()
    assert weights.tolist() == pytest.approx([0, 1 / (1 + torch.e**-1), 0, 1 / (1 + torch.e)])
    bias_HTS = torch.tensor([9.0, 0, 0, 0]).view(1, 1, 4)
    assert TopK(1).weights(q, k, EVERYTHING, bias_HTS).flatten().tolist() == [1, 0, 0, 0]


def test_what_may_not_be_seen_is_not_among_the_best() -> None:
    q, k, _ = torch.randn(3, 2, 3, 40, 7)
    for mask in (CAUSAL, CAUSAL & Mask(lengths_B=torch.tensor([3, 40]))):
        weights = TopK(5).weights(q, k, mask)
        may_look = mask.dense(40, 40)
        assert may_look is not None
        counts = weights.bool().sum(-1)
        assert torch.equal(counts, may_look.sum(-1).clamp(max=5).expand_as(counts))
        assert not weights.masked_select(~may_look).any()


def test_more_than_there_are_is_all_of_them() -> None:
    q, k, v = torch.randn(3, 2, 3, 6, 7)
    full = parse(MECHANISMS.resolve("softmax"), {}).build(AttentionContext(7, 7, 3))
    assert torch.allclose(TopK(6)(q, k, v, CAUSAL), full(q, k, v, CAUSAL), atol=1e-6)
    assert torch.allclose(TopK(99).weights(q, k, CAUSAL), full.weights(q, k, CAUSAL))


@pytest.mark.parametrize("biased", [False, True])
def test_stretches_of_queries_change_nothing(biased: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(top_k, "ROWS", 7)
    q, k, v = (torch.randn(2, 3, 29, 5, requires_grad=True) for _ in range(3))
    bias_HTS = torch.randn(3, 29, 29) if biased else None
    mask = CAUSAL & Mask(lengths_B=torch.tensor([13, 29]))
    found, expected = TopK(4)(q, k, v, mask, bias_HTS), TopK(4).weights(q, k, mask, bias_HTS) @ v
    torch.testing.assert_close(found, expected)
    pull = torch.randn_like(found)
    for one, other in zip(torch.autograd.grad(found, (q, k, v), pull), torch.autograd.grad(expected, (q, k, v), pull)):
        torch.testing.assert_close(one, other)


def test_none_at_all_is_refused() -> None:
    with pytest.raises(RecipeError, match="keys: Input should be greater than or equal to 1, found 0"):
        parse(MECHANISMS.resolve("top-k"), {"keys": 0})
