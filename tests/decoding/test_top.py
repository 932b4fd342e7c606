"""The quick top-k is the plain one, with ties going to the lower token."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some

from regard.decoding.sentences import Symbols
from regard.decoding.top import BLOCK, next_log_probabilities, top_tokens


@settings(max_examples=60, deadline=None)
@given(
    seed=some.integers(0, 999),
    rows=some.integers(1, 5),
    words=some.integers(1, 3500),
    count=some.integers(1, 9),
    levels=some.sampled_from([2, 30, 10**9]),
)
def test_equals_a_stable_sort(seed: int, rows: int, words: int, count: int, levels: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    # Few levels mean many ties, also between blocks.
    scores_RW = torch.randint(0, levels, (rows, words), generator=generator).float()
    values_RK, tokens_RK = top_tokens(scores_RW, count)
    sorted_RW, order_RW = scores_RW.sort(dim=1, descending=True, stable=True)
    assert torch.equal(values_RK, sorted_RW[:, :count])
    assert torch.equal(tokens_RK, order_RW[:, :count])


def test_the_rest_beyond_the_last_whole_block_is_seen() -> None:
    scores_RW = torch.zeros(2, 50 * BLOCK + 7)
    scores_RW[0, 50 * BLOCK + 6] = 1.0
    assert top_tokens(scores_RW, 3)[1].tolist() == [[50 * BLOCK + 6, 0, 1], [0, 1, 2]]


def test_impossible_tokens_may_fill_the_places_but_stay_impossible() -> None:
    scores_RW = torch.full((1, 40 * BLOCK), -torch.inf)
    scores_RW[0, [77, 3000]] = torch.tensor([1.0, 2.0])
    values_RK, tokens_RK = top_tokens(scores_RW, 4)
    assert tokens_RK[0, :2].tolist() == [3000, 77]
    assert values_RK[0].tolist() == [2.0, 1.0, -torch.inf, -torch.inf]


def test_log_probabilities_are_the_last_positions_and_forbid() -> None:
    logits_BTW = torch.tensor([[[9.0, 9.0, 9.0], [0.2, 0.3, 0.5]]])
    logits_BTW[:, 1] = logits_BTW[:, 1].log()
    scores_RW = next_log_probabilities(logits_BTW, Symbols(end=2, forbidden=(1,)))
    assert scores_RW.exp()[0].tolist() == pytest.approx([0.2, 0.0, 0.5])
    assert logits_BTW.isfinite().all()
