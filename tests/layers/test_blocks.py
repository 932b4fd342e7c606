"""Residual blocks against the published formulas in plain code."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from regard.attention.heads import CrossAttention, HeadShape, SelfAttention
from regard.attention.masks import CAUSAL, Mask
from regard.attention.softmax import ScaledDot
from regard.layers.blocks import DecoderLayer, EncoderLayer, PostNorm, PreNorm
from regard.layers.feed_forward import FeedForward

WIDTH = 14
NORMS = {"post": PostNorm, "pre": PreNorm}


def layer_norm(norm: nn.LayerNorm, x_BTD: Tensor) -> Tensor:
    centred = x_BTD - x_BTD.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() * norm.weight + norm.bias


def by_formula(kind: str, residual: PostNorm | PreNorm, x_BTD: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
    if kind == "post":
        return layer_norm(residual.norm, x_BTD + sublayer(x_BTD))
    return x_BTD + sublayer(layer_norm(residual.norm, x_BTD))


def disturbed(module: nn.Module) -> nn.Module:
    """Norms start as identities and biases at zero; random values show whether they are used."""
    torch.manual_seed(3)
    for weight in module.parameters():
        if weight.dim() == 1:
            nn.init.normal_(weight)
    return module


def test_post_norm_by_hand() -> None:
    # x + f(x) = (1, 3): mean 2, standard deviation 1, hence (−1, 1), times 10, plus (0, 5).
    residual = PostNorm(2, dropout=0.0)
    residual.norm.weight.data, residual.norm.bias.data = torch.tensor([10.0, 10.0]), torch.tensor([0.0, 5.0])
    found = residual(torch.tensor([[[0.0, 1.0]]]), lambda x: x + torch.tensor([1.0, 1.0]))
    assert found.flatten().tolist() == pytest.approx([-10.0, 15.0], abs=1e-3)


def test_pre_norm_by_hand() -> None:
    # x = (1, 3) becomes (−1, 1), f doubles it, and x itself is added untouched.
    residual = PreNorm(2, dropout=0.0)
    found = residual(torch.tensor([[[1.0, 3.0]]]), lambda x: 2 * x)
    assert found.flatten().tolist() == pytest.approx([-1.0, 5.0], abs=1e-3)


@pytest.mark.parametrize("kind", list(NORMS))
def test_dropout_acts_on_the_sublayers_answer_and_never_on_the_residual_path(kind: str) -> None:
    torch.manual_seed(1)
    residual = NORMS[kind](WIDTH, dropout=0.5)
    residual.norm = nn.Identity()
    x_BTD = torch.full((2, 5, WIDTH), 7.0)
    assert set(residual(x_BTD, torch.ones_like).unique().tolist()) == {7.0, 9.0}
    assert set(residual.eval()(x_BTD, torch.ones_like).unique().tolist()) == {8.0}


@pytest.mark.parametrize("kind", list(NORMS))
def test_an_encoder_layer_is_attention_then_feed_forward_each_in_its_residual(kind: str) -> None:
    attention = SelfAttention(HeadShape(WIDTH, 2), ScaledDot())
    network = FeedForward(WIDTH, 11, torch.relu)
    layer = disturbed(EncoderLayer(attention, network, lambda: NORMS[kind](WIDTH, 0.0)))
    x_BSD, mask = torch.randn(2, 5, WIDTH), Mask(lengths_B=torch.tensor([3, 5]))
    between = by_formula(kind, layer.attention_residual, x_BSD, lambda x: attention(x, mask))
    expected = by_formula(kind, layer.feed_forward_residual, between, network)
    assert torch.allclose(layer(x_BSD, mask, None), expected, atol=1e-5)


@pytest.mark.parametrize("kind", list(NORMS))
def test_a_decoder_layer_reads_itself_then_the_memory_then_thinks(kind: str) -> None:
    attention = SelfAttention(HeadShape(WIDTH, 2), ScaledDot())
    cross = CrossAttention(HeadShape(WIDTH, 7), ScaledDot())
    network = FeedForward(WIDTH, 11, torch.relu)
    layer = disturbed(DecoderLayer(attention, cross, network, lambda: NORMS[kind](WIDTH, 0.0)))
    memory = cross.memory(torch.randn(2, 5, WIDTH), Mask(lengths_B=torch.tensor([2, 5])))
    x_BTD = torch.randn(2, 3, WIDTH)
    x = by_formula(kind, layer.attention_residual, x_BTD, lambda x: attention(x, CAUSAL))
    x = by_formula(kind, layer.cross_residual, x, lambda x: cross(x, memory))
    expected = by_formula(kind, layer.feed_forward_residual, x, network)
    assert torch.allclose(layer(x_BTD, memory, CAUSAL, None), expected, atol=1e-5)


def test_every_residual_has_a_norm_of_its_own() -> None:
    layer = EncoderLayer(
        SelfAttention(HeadShape(WIDTH, 2), ScaledDot()),
        FeedForward(WIDTH, 11, torch.relu),
        lambda: PostNorm(WIDTH, 0.0),
    )
    assert layer.attention_residual.norm is not layer.feed_forward_residual.norm
