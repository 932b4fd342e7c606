"""R-Drop's loss against the formula, and its gradients against autograd."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from regard.layers.losses import consistency as chunked
from regard.layers.losses.consistency import consistency_loss
from regard.layers.vocabulary_loss import vocabulary_loss


def example(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(4)
    first, second = (torch.randn(11, 5, generator=generator, dtype=dtype) for _ in range(2))
    weight = torch.randn(7, 5, generator=generator, dtype=dtype)
    return first, second, weight, torch.randint(0, 7, (11,), generator=generator)


def by_formula(
    first: Tensor, second: Tensor, weight: Tensor, targets: Tensor, smoothing: float, alpha: float
) -> Tensor:
    log_p, log_q = (functional.log_softmax(states @ weight.t(), dim=1) for states in (first, second))
    entropies = [
        functional.cross_entropy(states @ weight.t(), targets, label_smoothing=smoothing, reduction="sum")
        for states in (first, second)
    ]
    p_from_q = functional.kl_div(log_q, log_p, log_target=True, reduction="sum")
    q_from_p = functional.kl_div(log_p, log_q, log_target=True, reduction="sum")
    return sum(entropies) / 2 + alpha / 4 * (p_from_q + q_from_p)


@pytest.mark.parametrize("rows_at_once", [1, 3, 100])
@pytest.mark.parametrize(("smoothing", "alpha"), [(0.0, 1.0), (0.1, 5.0), (0.1, 0.0)])
def test_value_and_gradients(
    rows_at_once: int, smoothing: float, alpha: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunked, "CHUNK_ELEMENTS", rows_at_once * 14)
    first, second, weight, targets = example()
    leaves = [tensor.clone().requires_grad_() for tensor in (first, second, weight)]
    expected = by_formula(*leaves, targets, smoothing, alpha)
    wanted = torch.autograd.grad(expected * 3, leaves)
    found = consistency_loss(*leaves, targets, smoothing, alpha)
    torch.testing.assert_close(found.smoothed, expected)
    for got, want in zip(torch.autograd.grad(found.smoothed * 3, leaves), wanted, strict=True):
        torch.testing.assert_close(got, want)


def test_two_equal_passes_are_the_plain_loss() -> None:
    first, _, weight, targets = example()
    both = consistency_loss(first, first, weight, targets, 0.1, 5.0)
    plain = vocabulary_loss(first, weight, targets, 0.1)
    torch.testing.assert_close(both.smoothed, plain.smoothed)
    torch.testing.assert_close(both.negative_log_likelihood, plain.negative_log_likelihood)
    assert int(both.correct) == int(plain.correct)


def test_narrow_products_elsewhere_leave_it_wide() -> None:
    """Training in bfloat16 must not round the small difference between the passes away, nor stumble over two types."""
    leaves = [tensor.requires_grad_() for tensor in example(torch.float32)[:3]]
    targets = example()[3]
    expected = consistency_loss(*leaves, targets, 0.1, 5.0).smoothed
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = consistency_loss(*leaves, targets, 0.1, 5.0).smoothed
    assert torch.equal(found, expected)
    for got, want in zip(torch.autograd.grad(found, leaves), torch.autograd.grad(expected, leaves), strict=True):
        assert torch.equal(got, want)
