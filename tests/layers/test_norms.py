"""Norms: by hand, and our gradient of the RMS norm against numbers and against torch's."""

import pytest
import torch
from torch import nn

from regard.layers.norms import RmsNorm, RmsNormConfig


def test_the_rms_norm_by_hand() -> None:
    norm = RmsNormConfig(epsilon=2.0).build(2)
    norm.weight.data = torch.tensor([1.0, 10.0])
    # √(mean of 9 and 25, + 2) = √19
    found = norm(torch.tensor([3.0, -5.0]))
    assert torch.allclose(found, torch.tensor([3.0, -50.0]) / 19**0.5)


def test_its_gradient_is_the_slope() -> None:
    norm = RmsNorm(5, eps=0.1).double()
    nn.init.normal_(norm.weight)
    x = torch.randn(2, 3, 4, 5, dtype=torch.float64).transpose(1, 2).requires_grad_()
    assert torch.autograd.gradcheck(norm, (x,))

    def by_gain(gain: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(norm, {"weight": gain}, (x,))

    assert torch.autograd.gradcheck(by_gain, (norm.weight,))


@pytest.mark.parametrize("shape", [(7, 16), (2, 3, 16), (1, 16)])
def test_with_and_without_gradients_it_gives_what_torch_gives(shape: tuple[int, ...]) -> None:
    torch.manual_seed(3)
    ours, theirs = RmsNorm(16, eps=1e-5), nn.RMSNorm(16, eps=1e-5)
    nn.init.normal_(ours.weight)
    theirs.load_state_dict(ours.state_dict())
    x, y = (torch.randn(shape, generator=torch.Generator().manual_seed(1)).requires_grad_() for _ in range(2))
    found, expected = ours(x), theirs(y)
    assert torch.allclose(found, expected, atol=1e-6)
    with torch.no_grad():
        assert torch.equal(ours(x), expected)
    found.square().sum().backward()
    expected.square().sum().backward()
    assert torch.allclose(x.grad, y.grad, atol=1e-5)
    assert torch.allclose(ours.weight.grad, theirs.weight.grad, atol=1e-4)


def test_a_row_of_zeros_has_a_finite_gradient() -> None:
    x = torch.zeros(2, 4, requires_grad=True)
    RmsNorm(4, eps=1e-5)(x).sum().backward()
    assert torch.isfinite(x.grad).all()


def test_under_autocast_it_stays_as_wide_as_torch_makes_it() -> None:
    x = torch.randn(3, 8, dtype=torch.bfloat16, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        ours, theirs = RmsNorm(8)(x), nn.RMSNorm(8)(x)
    assert ours.dtype == theirs.dtype
    assert torch.equal(ours, theirs)
