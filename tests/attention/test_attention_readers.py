"""A recurrent decoder's attention: scores by hand, windows, and the memory that is projected once."""

import math

import pytest
import torch
from torch import Tensor

from regard.attention import REACHES, READERS, formulas
from regard.attention.local import Monotonic, Predictive
from regard.attention.masks import EVERYTHING, Mask
from regard.attention.readers import AdditiveReaderConfig, DotReaderConfig, GeneralReaderConfig, Reader
from regard.attention.softmax import DotScore
from regard.core.errors import RecipeError

B, T, S, D, C = 2, 3, 5, 7, 4


def reader(kind: str, reach: str = "global", **settings: int) -> Reader:
    torch.manual_seed(1)
    made = READERS.resolve(kind)(reach=REACHES.resolve(reach)(**settings))  # type: ignore[call-arg]
    return made.build(D, D if kind == "dot" else C)


def by_formula(read: Reader, kind: str, states_BTD: Tensor, memory_BSC: Tensor) -> Tensor:
    if kind == "additive":
        query, key = read.project_query, read.project_key
        scores = torch.tanh(
            (states_BTD @ query.weight.T)[:, :, None] + (memory_BSC @ key.weight.T + key.bias)[:, None]  # type: ignore[operator, union-attr]
        ) @ read.mechanism.score.v_C  # type: ignore[operator, union-attr]
    elif kind == "general":
        scores = torch.einsum("btd,dc,bsc->bts", states_BTD, read.project_key.weight, memory_BSC)
    else:
        scores = torch.einsum("btd,bsd->bts", states_BTD, memory_BSC)
    return scores.softmax(-1) @ memory_BSC


@pytest.mark.parametrize("kind", READERS.kinds())
def test_scores_are_the_published_ones(kind: str) -> None:
    read = reader(kind)
    states_BTD, memory_BSC = torch.randn(B, T, D), torch.randn(B, S, D if kind == "dot" else C)
    found = read(states_BTD, read.memory(memory_BSC, EVERYTHING))
    torch.testing.assert_close(found, by_formula(read, kind, states_BTD, memory_BSC))


@pytest.mark.parametrize("kind", READERS.kinds())
@pytest.mark.parametrize("reach", REACHES.kinds())
def test_rows_of_a_sentence_read_its_one_memory(kind: str, reach: str) -> None:
    """Beams stand beside each other; each must find what it would find alone, at its own position."""
    read = reader(kind, reach, **({} if reach == "global" else {"window": 1}))
    memory_BSC = torch.randn(B, S, D if kind == "dot" else C)
    mask = Mask(lengths_B=torch.tensor([S, S - 2]))
    states_RTD = torch.randn(3 * B, T, D)
    found = read(states_RTD, read.memory(memory_BSC, mask), places=1)
    for row in range(3 * B):
        sentence = torch.tensor([row // 3])
        alone = read(states_RTD[row : row + 1], read.memory(memory_BSC, mask).select(sentence), places=1)
        torch.testing.assert_close(found[row : row + 1], alone)


def test_a_monotonic_window_walks_along() -> None:
    mechanism = Monotonic(DotScore(), window=1)
    weights_TS = mechanism.weights(torch.randn(1, 1, T, D), torch.randn(1, 1, S, D), Mask(offset=1))[0, 0]
    assert (weights_TS > 0).tolist() == [
        [True, True, True, False, False],
        [False, True, True, True, False],
        [False, False, True, True, True],
    ]
    torch.testing.assert_close(weights_TS.sum(-1), torch.ones(T))


def test_a_predictive_window_lies_where_the_query_says() -> None:
    mechanism = Predictive(DotScore(), window=2, query_width=1)
    torch.nn.init.ones_(mechanism.inner.weight)
    torch.nn.init.ones_(mechanism.outer.weight)
    q, k = torch.tensor([[[[0.5]]]]), torch.tensor([[[[1.0], [2.0], [-1.0], [0.5], [3.0], [9.0]]]])
    lengths_B = torch.tensor([5])
    centre = 5 / (1 + math.exp(-math.tanh(0.5)))  # 3.07: positions 2, 3 and 4 lie within 2 of it, 5 does not exist
    scores = {s: 0.5 * value for s, value in ((2, -1.0), (3, 0.5), (4, 3.0))}
    total = sum(math.exp(score) for score in scores.values())
    expected = [
        math.exp(scores[s]) / total * math.exp(-((s - centre) ** 2) / (2 * 1.0**2)) if s in scores else 0.0
        for s in range(6)
    ]
    found = mechanism.weights(q, k, Mask(lengths_B=lengths_B))[0, 0, 0]
    assert found.tolist() == pytest.approx(expected)
    assert found.sum() < 1


def test_the_gaussian_is_half_as_wide_as_the_window() -> None:
    found = formulas.gaussian(torch.tensor([0.0, 2.0, 4.0]), torch.tensor([[2.0]]), window=4)
    assert found.tolist() == [pytest.approx([math.exp(-0.5), 1.0, math.exp(-0.5)])]  # σ = D/2 = 2


def test_a_dot_of_unequal_widths_is_refused_with_the_remedy() -> None:
    with pytest.raises(RecipeError, match=r"decoder state \(7\).*states \(4.*set kind = \"general\""):
        DotReaderConfig().build(D, C)


def test_a_memory_is_projected_once() -> None:
    for made in (AdditiveReaderConfig(hidden=6).build(D, C), GeneralReaderConfig().build(D, C)):
        calls: list[int] = []
        made.project_key.register_forward_hook(lambda *_, calls=calls: calls.append(1))
        memory = made.memory(torch.randn(B, S, C), EVERYTHING)
        for position in range(T):
            made(torch.randn(B, 1, D), memory, position)
        assert len(calls) == 1
