"""The chunked loss equals torch's cross-entropy in value and gradients, whatever the chunk."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some
from torch import Tensor
from torch.nn import functional

from regard.core.precision import widest_type
from regard.layers import vocabulary_loss as module
from regard.layers.embeddings import VocabularyHead, output_matrix, output_states
from regard.layers.vocabulary_loss import vocabulary_loss


def problem(positions: int, width: int, words: int, seed: int = 1) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.randn(positions, width, generator=generator).requires_grad_(),
        torch.randn(words, width, generator=generator).requires_grad_(),
        torch.randint(0, words, (positions,), generator=generator),
    ]


def check_against_torch(states_ND: Tensor, weight_WD: Tensor, targets_N: Tensor, smoothing: float) -> None:
    found = vocabulary_loss(states_ND, weight_WD, targets_N, smoothing)
    logits_NW = states_ND @ weight_WD.T
    expected = functional.cross_entropy(logits_NW, targets_N, reduction="sum", label_smoothing=smoothing)
    plain = functional.cross_entropy(logits_NW, targets_N, reduction="sum")
    assert found.smoothed.item() == pytest.approx(expected.item(), rel=1e-5, abs=1e-5)
    assert found.negative_log_likelihood.item() == pytest.approx(plain.item(), rel=1e-5, abs=1e-5)
    assert found.correct.item() == (logits_NW.argmax(1) == targets_N).sum().item()
    inputs = (states_ND, weight_WD)
    for one, other in zip(
        torch.autograd.grad(3.0 * found.smoothed, inputs), torch.autograd.grad(3.0 * expected, inputs), strict=True
    ):
        assert torch.allclose(one, other, atol=1e-4)


def test_the_loss_by_hand() -> None:
    # Probabilities 1/4 and 3/4; smoothing 0.2 over two words leaves 0.9 on the target.
    weight_WD = torch.tensor([[1.0], [3.0]]).log()
    loss = vocabulary_loss(torch.ones(1, 1), weight_WD, torch.tensor([1]), 0.2)
    log_4 = torch.tensor(4.0).log()
    expected = 0.1 * log_4 + 0.9 * torch.tensor(4 / 3).log()
    assert loss.smoothed.item() == pytest.approx(expected.item())
    assert loss.negative_log_likelihood.item() == pytest.approx(torch.tensor(4 / 3).log().item())
    assert loss.correct.item() == 1


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.37])
@pytest.mark.parametrize("chunk", [1, 17, 34, 50, 17 * 13, 1 << 22])
def test_equals_torch_with_chunks_of_any_size(
    chunk: int, smoothing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "onednn_is_faster", lambda: False)
    monkeypatch.setattr(module, "CHUNK_ELEMENTS", chunk)  # 1 position a chunk, up to all 13 at once
    check_against_torch(*problem(positions=13, width=5, words=17), smoothing)


@pytest.mark.parametrize("block", [1, 4, 64])
def test_equals_torch_in_blocks_of_any_size(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "onednn_is_faster", lambda: True)
    monkeypatch.setattr(module, "BLOCK", block)
    monkeypatch.setattr(module, "BLOCK_CHUNK_ELEMENTS", 17 * 4)
    check_against_torch(*problem(positions=13, width=5, words=17), 0.1)


@settings(max_examples=40, deadline=None)
@given(
    positions=some.integers(1, 23),
    width=some.integers(1, 9),
    words=some.integers(1, 31),
    smoothing=some.floats(0, 0.9),
    rows=some.integers(1, 23),
    seed=some.integers(0, 99),
)
def test_equals_torch_for_any_shape(
    positions: int, width: int, words: int, smoothing: float, rows: int, seed: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK_ELEMENTS", rows * words)
        check_against_torch(*problem(positions, width, words, seed), smoothing)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_extreme_logits_stay_finite_and_right(sign: float) -> None:
    states_ND = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], requires_grad=True)
    weight_WD = (sign * torch.tensor([[1e4, -1e4], [-1e4, 1e4], [0.0, 5e3]])).requires_grad_()
    targets_N = torch.tensor([0, 0, 2])
    check_against_torch(states_ND, weight_WD, targets_N, 0.1)
    loss = vocabulary_loss(states_ND, weight_WD, targets_N, 0.1).smoothed
    assert all(bool(g.isfinite().all()) for g in torch.autograd.grad(loss, (states_ND, weight_WD)))


def test_an_empty_batch_costs_nothing() -> None:
    states_ND, weight_WD, targets_N = problem(positions=0, width=5, words=7)
    loss = vocabulary_loss(states_ND, weight_WD, targets_N, 0.1)
    assert loss.smoothed.item() == loss.negative_log_likelihood.item() == loss.correct.item() == 0
    loss.smoothed.backward()
    assert states_ND.grad is not None
    assert states_ND.grad.shape == (0, 5)
    assert weight_WD.grad is not None
    assert not weight_WD.grad.any()


def test_one_of_the_two_gradients_may_be_unwanted() -> None:
    states_ND, weight_WD, targets_N = problem(positions=3, width=5, words=7)
    both = torch.autograd.grad(vocabulary_loss(states_ND, weight_WD, targets_N).smoothed, (states_ND, weight_WD))
    (states_only,) = torch.autograd.grad(
        vocabulary_loss(states_ND, weight_WD.detach(), targets_N).smoothed, (states_ND,)
    )
    (weight_only,) = torch.autograd.grad(
        vocabulary_loss(states_ND.detach(), weight_WD, targets_N).smoothed, (weight_WD,)
    )
    assert torch.equal(states_only, both[0])
    assert torch.equal(weight_only, both[1])


def test_where_no_gradient_is_wanted_none_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    products = []
    plain_product = torch.mm

    def counted(*inputs: Tensor, out: Tensor) -> Tensor:
        products.append(out)
        return plain_product(*inputs, out=out)

    states_ND, weight_WD, targets_N = problem(positions=3, width=5, words=7)
    trained = vocabulary_loss(states_ND, weight_WD, targets_N, 0.1).smoothed
    monkeypatch.setattr(torch, "mm", counted)
    with torch.no_grad():
        evaluated = vocabulary_loss(states_ND, weight_WD, targets_N, 0.1).smoothed
    assert evaluated.item() == trained.item()
    assert not evaluated.requires_grad
    assert len(products) == 1  # the logits alone: validation must not pay for a backward pass


def test_the_inputs_are_left_as_they_were() -> None:
    states_ND, weight_WD, targets_N = problem(positions=3, width=5, words=7)
    before = [x.detach().clone() for x in (states_ND, weight_WD, targets_N)]
    vocabulary_loss(states_ND, weight_WD, targets_N, 0.1).smoothed.backward()
    assert all(torch.equal(x, y) for x, y in zip((states_ND, weight_WD, targets_N), before))


def test_a_second_backward_pass_is_refused_rather_than_wrong() -> None:
    states_ND, weight_WD, targets_N = problem(positions=3, width=5, words=7)
    loss = vocabulary_loss(states_ND, weight_WD, targets_N).smoothed
    (2 * loss).backward(retain_graph=True)  # the gradients are scaled in place
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_a_bias_is_part_of_the_product() -> None:
    states_ND, _, targets_N = problem(7, 3, 5)
    head = VocabularyHead(5, 3, bias=True)
    assert head.bias is not None
    with torch.no_grad():
        head.bias.copy_(torch.randn(5, generator=torch.Generator().manual_seed(2)))
    found = vocabulary_loss(output_states(head, states_ND), output_matrix(head), targets_N, 0.1).smoothed
    wanted = functional.cross_entropy(head(states_ND), targets_N, reduction="sum", label_smoothing=0.1)
    assert found.item() == pytest.approx(wanted.item(), rel=1e-5)
    inputs = (states_ND, head.weight, head.bias)
    for one, other in zip(torch.autograd.grad(found, inputs), torch.autograd.grad(wanted, inputs), strict=True):
        assert torch.allclose(one, other, atol=1e-5)
    plain = VocabularyHead(5, 3)
    assert output_matrix(plain) is plain.weight
    assert output_states(plain, states_ND) is states_ND


@pytest.mark.parametrize("block", [1, 4, 64])
def test_narrow_products_come_close_and_their_sums_stay_wide(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", block)
    monkeypatch.setattr(module, "BLOCK_CHUNK_ELEMENTS", 17 * 4)
    states_ND, weight_WD, targets_N = problem(positions=13, width=5, words=17)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        narrow = vocabulary_loss(states_ND, weight_WD, targets_N, 0.1)
    wide = vocabulary_loss(states_ND, weight_WD, targets_N, 0.1)
    assert narrow.smoothed.dtype == torch.float32
    assert narrow.smoothed.item() == pytest.approx(wide.smoothed.item(), rel=5e-3)
    assert narrow.smoothed.item() != wide.smoothed.item()
    inputs = (states_ND, weight_WD)
    for one, other in zip(
        torch.autograd.grad(narrow.smoothed, inputs), torch.autograd.grad(wide.smoothed, inputs), strict=True
    ):
        assert one.dtype == torch.float32
        torch.testing.assert_close(one, other, atol=0.03, rtol=0.02)


def test_among_narrow_logits_one_of_those_that_tie_is_the_answer() -> None:
    states_ND, weight_WD = torch.ones(3, 2), torch.tensor([[1.0, 1.0], [1.0, 1.001], [0.0, 0.0]])
    targets_N = torch.tensor([0, 1, 2])  # in narrow numbers the first two words have one logit
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        assert int(vocabulary_loss(states_ND, weight_WD, targets_N).correct) == 1


def test_where_there_is_no_float64_sums_are_kept_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    states_ND, weight_WD, targets_N = torch.randn(7, 5), torch.randn(11, 5), torch.arange(7)
    wide = vocabulary_loss(states_ND, weight_WD, targets_N, 0.1)
    assert widest_type("cpu") == torch.float64
    monkeypatch.setattr("regard.layers.vocabulary_loss.widest_type", lambda device: widest_type("mps"))
    narrow = vocabulary_loss(states_ND, weight_WD, targets_N, 0.1)
    assert narrow.negative_log_likelihood.dtype == torch.float32
    assert narrow.smoothed.item() == pytest.approx(wide.smoothed.item(), rel=1e-5)
