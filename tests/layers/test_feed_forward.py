"""The feed-forward network is two 1×1 convolutions, position by position."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from regard.core.config import parse
from regard.core.errors import RecipeError
from regard.layers import FEED_FORWARDS
from regard.layers.feed_forward import ACTIVATIONS, FeedForward, FeedForwardConfig, GatedFeedForwardConfig


def random_network(activation: str, dropout: float = 0.0) -> FeedForward:
    torch.manual_seed(1)
    network = FeedForwardConfig(width=13, activation=activation).build(7, dropout)
    assert isinstance(network, FeedForward)
    for weight in network.parameters():
        nn.init.normal_(weight)
    return network


@pytest.mark.parametrize("activation, plain", [("relu", nn.ReLU()), ("gelu", nn.GELU())])
def test_equals_two_convolutions_of_width_one(activation: str, plain: nn.Module) -> None:
    network = random_network(activation)
    first, second = nn.Conv1d(7, 13, kernel_size=1), nn.Conv1d(13, 7, kernel_size=1)
    for convolution, layer in ((first, network.inner), (second, network.outer)):
        convolution.weight.data = layer.weight.data[:, :, None].clone()
        convolution.bias.data = layer.bias.data.clone()
    x_BTD = torch.randn(2, 5, 7)
    expected = second(plain(first(x_BTD.mT))).mT
    found = network(x_BTD)
    assert torch.allclose(found, expected, atol=1e-5)
    found.sum().backward()
    expected.sum().backward()
    assert torch.allclose(network.inner.weight.grad, first.weight.grad[:, :, 0], atol=1e-4)


def test_relu_and_gelu_by_hand() -> None:
    for activation, expected in (("relu", 2.0), ("gelu", functional.gelu(torch.tensor([2.0, -3.0])).sum().item())):
        network = FeedForwardConfig(width=2, activation=activation).build(1, 0.0)
        network.inner.weight.data, network.outer.weight.data = torch.tensor([[2.0], [-3.0]]), torch.ones(1, 2)
        assert network(torch.ones(1, 1, 1)).item() == pytest.approx(expected)
    assert functional.gelu(torch.tensor(1.0)).item() == pytest.approx(0.841345, abs=1e-5)  # x·Φ(x), not the tanh


def test_a_position_knows_nothing_of_its_neighbours() -> None:
    network, x_BTD = random_network("relu"), torch.randn(2, 5, 7)
    other = x_BTD.clone()
    other[:, 3] += 100
    changed = (network(x_BTD) != network(other)).any(-1)
    assert changed.tolist() == [[False, False, False, True, False]] * 2


def test_dropout_stands_inside_and_rests_in_evaluation() -> None:
    network, x_BTD = random_network("relu", dropout=0.5), torch.randn(2, 5, 7)
    network.outer.bias.data.zero_()
    network.inner.weight.data.zero_()
    network.inner.bias.data.fill_(1.0)
    network.outer.weight.data.fill_(1.0)
    assert network.eval()(x_BTD).unique().tolist() == [13.0]
    # Each of 13 hidden units is 0 or 2, so every sum is an even number.
    assert set(network.train()(x_BTD).unique().tolist()) <= {2.0 * kept for kept in range(14)}


def test_the_kind_builds_and_refuses_a_width_of_nothing() -> None:
    assert isinstance(FEED_FORWARDS.make().build(5, 0.0), FeedForward)
    with pytest.raises(RecipeError, match="width: Input should be greater than or equal to 1, found 0"):
        parse(FeedForwardConfig, {"width": 0})


def test_the_gated_network_is_its_formula() -> None:
    torch.manual_seed(3)
    network = GatedFeedForwardConfig(width=5, activation="silu").build(3, 0.0)
    x_BTD = torch.randn(2, 4, 3)
    w1, w3 = network.inner.weight[:5], network.inner.weight[5:]
    gate = x_BTD @ w1.T
    expected = (gate * torch.sigmoid(gate) * (x_BTD @ w3.T)) @ network.outer.weight.T
    torch.testing.assert_close(network(x_BTD), expected)
    assert all(layer.bias is None for layer in (network.inner, network.outer))


def test_squared_relu_by_hand_and_its_gradient() -> None:
    x = torch.tensor([-2.0, 0.0, 3.0], requires_grad=True)
    found = ACTIVATIONS["squared-relu"](x)
    assert found.tolist() == [0.0, 0.0, 9.0]
    found.backward(torch.tensor([1.0, 1.0, 0.5]))
    assert x.grad is not None
    assert x.grad.tolist() == [0.0, 0.0, 3.0]
    with torch.no_grad():
        assert ACTIVATIONS["squared-relu"](x).tolist() == [0.0, 0.0, 9.0]


def test_the_gelu_of_gpt_2_is_torchs_with_its_gradient_far_out_and_near() -> None:
    x = torch.cat((torch.linspace(-12, 12, 4001), torch.tensor([-1e4, -0.0, 1e4]))).requires_grad_()
    exact = x.detach().double().requires_grad_()
    found, wanted = ACTIVATIONS["gelu-tanh"](x), torch.nn.functional.gelu(exact, approximate="tanh")
    torch.testing.assert_close(found.double(), wanted, atol=1e-6, rtol=1e-6)
    dy = torch.linspace(1, -2, len(x))
    (dx,), (wanted_dx,) = torch.autograd.grad(found, x, dy), torch.autograd.grad(wanted, exact, dy.double())
    torch.testing.assert_close(dx.double(), wanted_dx, atol=5e-6, rtol=1e-6)
    with torch.no_grad():
        assert torch.equal(ACTIVATIONS["gelu-tanh"](x), found)


def test_the_gelu_of_gpt_2_in_narrow_numbers_rounds_like_them() -> None:
    x = torch.linspace(-6, 6, 1001, dtype=torch.bfloat16).requires_grad_()
    exact = x.detach().double().requires_grad_()
    found, wanted = ACTIVATIONS["gelu-tanh"](x), torch.nn.functional.gelu(exact, approximate="tanh")
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.double(), wanted, atol=0.01, rtol=0.01)
    (dx,), (wanted_dx,) = torch.autograd.grad(found.sum(), x), torch.autograd.grad(wanted.sum(), exact)
    torch.testing.assert_close(dx.double(), wanted_dx, atol=0.02, rtol=0.01)


def test_activations_with_gradients_of_their_own_refuse_a_second_derivative() -> None:
    for name in ("squared-relu", "gelu-tanh"):
        x = torch.tensor([0.5, 2.0], requires_grad=True)
        (first,) = torch.autograd.grad(ACTIVATIONS[name](x).sum(), x, create_graph=True)
        with pytest.raises(RuntimeError):
            torch.autograd.grad(first.sum(), x)
