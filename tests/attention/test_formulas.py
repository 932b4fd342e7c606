"""The lectures' formulas against values computed by hand, plain loops, and torch's own attention."""

import math

import pytest
import torch
from torch import Tensor

from regard.attention import formulas
from regard.attention.lookup import SharedLookup, SimilarityLookup, SingleHead
from regard.attention.masks import CAUSAL, Mask

LOG_3 = math.log(3)


def by_loops(q_TK: Tensor, k_SK: Tensor, v_SV: Tensor, may_look_TS: Tensor | None = None) -> Tensor:
    """softmax(QKᵀ/√d_k) V with nothing but numbers."""
    out_TV = torch.zeros(len(q_TK), v_SV.shape[1])
    for t, query in enumerate(q_TK.tolist()):
        allowed = [s for s in range(len(k_SK)) if may_look_TS is None or may_look_TS[t, s]]
        fits = {s: math.exp(sum(a * b for a, b in zip(query, k_SK[s].tolist())) / len(query) ** 0.5) for s in allowed}
        for s in allowed:
            out_TV[t] += fits[s] / sum(fits.values()) * v_SV[s]
    return out_TV


def test_scores_log_1_and_log_3_give_a_quarter_and_three_quarters() -> None:
    weights_TS = formulas.normalise(torch.tensor([[math.log(1), LOG_3]]))
    assert weights_TS[0].tolist() == pytest.approx([0.25, 0.75])
    out_TV = formulas.read(weights_TS, torch.tensor([[4.0, 8.0, 0.0], [0.0, 4.0, -4.0]]))
    assert out_TV[0].tolist() == pytest.approx([1.0, 5.0, -3.0])


def test_dot_scores_by_hand() -> None:
    q_TK, k_SK = torch.tensor([[1.0, 2.0], [0.0, -1.0]]), torch.tensor([[3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
    assert formulas.dot_scores(q_TK, k_SK).tolist() == [[11.0, 17.0, 23.0], [-4.0, -6.0, -8.0]]


def test_scaling_divides_by_the_root_of_the_key_width() -> None:
    q_TK = torch.tensor([[2.0, 0.0, 0.0, 0.0]])
    k_SK = torch.tensor([[0.0, 7.0, 7.0, 7.0], [LOG_3, 7.0, 7.0, 7.0]])  # d_k = 4: q·k / 2
    v_SV = torch.tensor([[8.0], [4.0]])
    assert formulas.scaled_dot_scores(q_TK, k_SK)[0].tolist() == pytest.approx([0.0, LOG_3])
    assert formulas.attention(q_TK, k_SK, v_SV).item() == pytest.approx(5.0)


@pytest.mark.parametrize("width", [2, 31, 997])
def test_scaled_scores_keep_variance_one_whatever_the_width(width: int) -> None:
    torch.manual_seed(5)
    scores = formulas.scaled_dot_scores(torch.randn(211, width), torch.randn(223, width))
    assert scores.var().item() == pytest.approx(1.0, rel=0.2)


@pytest.mark.parametrize("temperature", [0.0, 1e-3])
def test_towards_temperature_zero_attention_is_a_hard_lookup_and_ties_share(temperature: float) -> None:
    scores_TS = torch.tensor([[2.0, 5.0, 1.0, 5.0, 0.0], [-3.0, -4.0, -3.5, -9.0, -5.0]])
    weights_TS = formulas.normalise(scores_TS, temperature=temperature)
    assert weights_TS.tolist() == [[0.0, 0.5, 0.0, 0.5, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0]]


def test_the_hard_lookup_takes_the_best_of_what_may_be_seen() -> None:
    scores_TS = torch.tensor([[2.0, 5.0, 1.0], [2.0, 5.0, 1.0]])
    may_look_TS = torch.tensor([[True, False, True], [False, False, False]])
    weights_TS = formulas.normalise(scores_TS, may_look_TS, temperature=0)
    assert weights_TS.tolist() == [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]


def test_a_high_temperature_forgets_the_scores() -> None:
    weights_TS = formulas.normalise(torch.tensor([[1.0, 2.0, 3.0, 4.0, 5.0]]), temperature=1e6)
    assert weights_TS[0].tolist() == pytest.approx([0.2] * 5, abs=1e-5)


def test_masked_keys_get_nothing_and_a_fully_masked_row_reads_zero_with_finite_gradients() -> None:
    scores_TS = torch.tensor([[0.0, LOG_3, 50.0], [1.0, 2.0, 3.0]], requires_grad=True)
    may_look_TS = torch.tensor([[True, True, False], [False, False, False]])
    weights_TS = formulas.normalise(scores_TS, may_look_TS)
    assert weights_TS[0].tolist() == pytest.approx([0.25, 0.75, 0.0])
    assert weights_TS[1].tolist() == [0.0, 0.0, 0.0]
    (weights_TS * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert scores_TS.grad is not None
    assert scores_TS.grad[0].tolist() == pytest.approx([-0.1875, 0.1875, 0.0])  # w₀w₁(1 − 2) by hand
    assert scores_TS.grad[1].tolist() == [0.0, 0.0, 0.0]


def test_additive_score_by_hand() -> None:
    # tanh(log 2) = 0.6 and tanh(log 3) = 0.8; the widths of query, key and hidden layer are 2, 3 and 2.
    w_AC = torch.tensor([[math.log(2), 0.0], [0.0, 1.0]])
    u_BC = torch.tensor([[0.0, -LOG_3], [0.0, 0.0], [math.log(2), 0.0]])
    v_C = torch.tensor([10.0, 5.0])
    q_TA = torch.tensor([[1.0, 0.0], [0.0, 0.0]])
    k_SB = torch.tensor([[1.0, 9.0, 0.0], [0.0, 9.0, -1.0], [0.0, 9.0, 1.0]])
    scores_TS = formulas.additive_scores(q_TA, k_SB, w_AC, u_BC, v_C)
    tanh_log_4 = 15 / 17
    expected = [[6.0 - 4.0, 0.0, 10 * tanh_log_4], [-4.0, -6.0, 6.0]]
    for found, row in zip(scores_TS.tolist(), expected, strict=True):
        assert found == pytest.approx(row, abs=1e-5)


def test_bilinear_score_by_hand() -> None:
    matrix_AB = torch.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, -1.0]])
    q_TA, k_SB = torch.tensor([[1.0, 2.0]]), torch.tensor([[4.0, 5.0, 6.0], [1.0, 0.0, 9.0]])
    assert formulas.bilinear_scores(q_TA, k_SB, matrix_AB).tolist() == [[34.0, 1.0]]


def test_similarity_lookup_by_hand() -> None:
    x_SD = torch.tensor([[0.0], [math.sqrt(LOG_3)]])  # XXᵀ holds zeros and one log 3
    expected = [math.sqrt(LOG_3) / 2, math.sqrt(LOG_3) * 0.75]
    assert formulas.similarity_lookup(x_SD).flatten().tolist() == pytest.approx(expected)
    assert SimilarityLookup()(x_SD[None]).flatten().tolist() == pytest.approx(expected)
    assert formulas.similarity_lookup(x_SD, temperature=0).flatten().tolist() == pytest.approx(
        [math.sqrt(LOG_3) / 2, math.sqrt(LOG_3)]
    )


def test_shared_lookup_by_hand_and_its_symmetry() -> None:
    u_DK = torch.tensor([[0.0], [math.sqrt(LOG_3)]])
    found = formulas.shared_lookup(torch.eye(2), u_DK)
    assert found.flatten().tolist() == pytest.approx([math.sqrt(LOG_3) / 2, math.sqrt(LOG_3) * 0.75])
    torch.manual_seed(1)
    module, x_BSD = SharedLookup(7, 3), torch.randn(2, 5, 7)
    shared_BSK = x_BSD @ module.u_DK
    scores_BSS = formulas.dot_scores(shared_BSK, shared_BSK)
    assert torch.allclose(scores_BSS, scores_BSS.mT, atol=1e-6)
    assert torch.allclose(module(x_BSD), torch.softmax(scores_BSS, -1) @ shared_BSK, atol=1e-6)


@pytest.mark.parametrize("masked", [False, True])
def test_attention_equals_plain_loops_with_keys_and_values_of_different_widths(masked: bool) -> None:
    torch.manual_seed(2)
    q_TK, k_SK, v_SV = torch.randn(3, 7), torch.randn(5, 7), torch.randn(5, 11)
    may_look_TS = torch.tensor([[1, 0, 1, 0, 1], [0, 0, 0, 1, 0], [1, 1, 1, 1, 0]]).bool() if masked else None
    found = formulas.attention(q_TK, k_SK, v_SV, may_look_TS)
    assert found.shape == (3, 11)
    assert torch.allclose(found, by_loops(q_TK, k_SK, v_SV, may_look_TS), atol=1e-5)


def test_projected_attention_is_cross_attention_with_a_memory_and_self_attention_without() -> None:
    torch.manual_seed(3)
    head = SingleHead(width=5, key_width=3, value_width=11, memory_width=2)
    x_BTD, memory_BSD = torch.randn(2, 3, 5), torch.randn(2, 7, 2)
    lengths_B = torch.tensor([4, 7])
    found_BTV = head(x_BTD, memory_BSD, Mask(lengths_B=lengths_B))
    for x_TD, memory_SD, length, found_TV in zip(x_BTD, memory_BSD, lengths_B.tolist(), found_BTV):
        seen = memory_SD[:length]
        expected = by_loops(x_TD @ head.w_q_DK, seen @ head.w_k_DK, seen @ head.w_v_DV)
        assert torch.allclose(found_TV, expected, atol=1e-5)
    itself, x_TD = SingleHead(5, 3, 11), x_BTD[0]
    queries, keys, values = (x_TD @ weight for weight in (itself.w_q_DK, itself.w_k_DK, itself.w_v_DV))
    expected = by_loops(queries, keys, values, torch.ones(3, 3).tril().bool())
    assert torch.allclose(itself(x_BTD, mask=CAUSAL)[0], expected, atol=1e-5)


def test_heads_are_slices_of_the_width_and_join_again() -> None:
    x_BTJ = torch.arange(2 * 3 * 10.0).view(2, 3, 10)
    x_BHTK = formulas.split_heads(x_BTJ, 5)
    assert x_BHTK.shape == (2, 5, 3, 2)
    assert x_BHTK[1, 4, 2].tolist() == x_BTJ[1, 2, 8:10].tolist()
    assert torch.equal(formulas.join_heads(x_BHTK), x_BTJ)


@pytest.mark.parametrize("masked", [False, True])
def test_multi_head_attention_equals_torch_whose_mask_means_the_opposite(masked: bool) -> None:
    torch.manual_seed(4)
    width, heads = 21, 3
    theirs = torch.nn.MultiheadAttention(width, heads, bias=False, batch_first=True)
    x_BTD, memory_BSD = torch.randn(2, 5, width), torch.randn(2, 11, width)
    may_look_BTS = (torch.rand(2, 5, 11) < 0.6).logical_or(torch.arange(11) == 0) if masked else None
    forbidden = None if may_look_BTS is None else ~may_look_BTS.repeat_interleave(heads, dim=0)
    expected, _ = theirs(x_BTD, memory_BSD, memory_BSD, attn_mask=forbidden)
    w_q, w_k, w_v = (weight.T for weight in theirs.in_proj_weight.split(width))
    found = formulas.multi_head_attention(
        x_BTD, memory_BSD, w_q, w_k, w_v, theirs.out_proj.weight.T, heads, may_look_BTS
    )
    assert torch.allclose(found, expected, atol=1e-5)


def test_multi_head_attention_with_values_wider_than_keys_is_each_head_by_itself() -> None:
    torch.manual_seed(6)
    heads, key_width, value_width = 3, 2, 7
    x_TD, memory_SD = torch.randn(5, 13), torch.randn(11, 13)
    w_q, w_k = torch.randn(13, heads * key_width), torch.randn(13, heads * key_width)
    w_v, w_o = torch.randn(13, heads * value_width), torch.randn(heads * value_width, 13)
    answers = [
        by_loops(
            x_TD @ w_q[:, key_width * h :][:, :key_width],
            memory_SD @ w_k[:, key_width * h :][:, :key_width],
            memory_SD @ w_v[:, value_width * h :][:, :value_width],
        )
        for h in range(heads)
    ]
    expected = torch.cat(answers, dim=-1) @ w_o
    found = formulas.multi_head_attention(x_TD[None], memory_SD[None], w_q, w_k, w_v, w_o, heads)
    assert torch.allclose(found[0], expected, atol=1e-4)
