"""The position-wise feed-forward network, plain or gated: the same layers at every position."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self, runtime_checkable

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from regard.core import rules
from regard.core.auto import AUTO, Auto, decided
from regard.layers import FeedForwardPart
from regard.layers.dropout import Dropout

GELU_SCALE, GELU_CUBE = 2 * math.sqrt(2 / math.pi), 0.044715
BLOCK = 2**19  # elements: few enough to stay in the cache, enough to keep the cores busy


def squared_relu(x: Tensor) -> Tensor:
    """max(x, 0)² (So et al. 2021)."""
    if torch.is_grad_enabled() and not torch.compiler.is_compiling():
        return _SquaredRelu.apply(x)
    return torch.relu(x).square()


class _SquaredRelu(torch.autograd.Function):
    """Its gradient is 2 max(x, 0): one thing to keep and two passes, where the chain of two functions takes four."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        above = torch.relu(x)
        ctx.save_for_backward(above)
        return above * above

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> Tensor:
        (above,) = ctx.saved_tensors
        return (dy * above).mul_(2)


def tanh_gelu(x: Tensor) -> Tensor:
    """½ x (1 + tanh(√(2/π) (x + 0.044715 x³))), as GPT-2 was trained (Hendrycks and Gimpel 2016)."""
    if x.device.type != "cpu" or x.dtype == torch.float64 or torch.compiler.is_exporting():
        return functional.gelu(x, approximate="tanh")
    if torch.compiler.is_compiling():
        return x * torch.sigmoid(GELU_SCALE * (x + GELU_CUBE * x * x * x))
    return _TanhGelu.apply(x)


class _TanhGelu(torch.autograd.Function):
    """The same number as x σ(u), u = 2 √(2/π) (x + 0.044715 x³): a CPU takes a third of the time for σ as for tanh."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        x = x.contiguous()
        share, y = torch.empty_like(x), torch.empty_like(x)
        scale = x.new_tensor(GELU_SCALE)
        for own_x, own_share, own_y in blocks(x, share, y):
            torch.addcmul(scale, own_x, own_x, value=GELU_SCALE * GELU_CUBE, out=own_share).mul_(own_x).sigmoid_()
            torch.mul(own_x, own_share, out=own_y)
        ctx.save_for_backward(x, share)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> Tensor:
        """dy (σ + x u' σ (1 − σ))."""
        x, share = ctx.saved_tensors
        dx, scale = torch.empty_like(x), x.new_tensor(GELU_SCALE)
        for own_x, own_share, own_dx, own_dy in blocks(x, share, dx, dy.contiguous()):
            torch.addcmul(scale, own_x, own_x, value=3 * GELU_SCALE * GELU_CUBE, out=own_dx).mul_(own_x)
            torch.ops.aten.sigmoid_backward.grad_input(own_dx, own_share, grad_input=own_dx)
            own_dx.add_(own_share).mul_(own_dy)
        return dx


def blocks(*tensors: Tensor) -> Iterable[tuple[Tensor, ...]]:
    """Contiguous tensors of one shape in blocks so small that a few passes over them stay in the cache."""
    return zip(*(own.view(-1).split(BLOCK) for own in tensors), strict=True)


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "squared-relu": squared_relu,
    "gelu": functional.gelu,
    "gelu-tanh": tanh_gelu,
    "silu": functional.silu,
}
Activation = Literal["relu", "squared-relu", "gelu", "gelu-tanh", "silu"]


@runtime_checkable
class HasActivation(Protocol):
    """Settings of a network that say which function stands between its layers."""

    @property
    def activation(self) -> Activation: ...


class FeedForward(nn.Module):
    """FFN(x) = f(x W₁ + b₁) W₂ + b₂ (Vaswani et al. 2017, eq. 2): two 1×1 convolutions over the sequence."""

    activations = "dropout"

    def __init__(
        self, width: int, hidden_width: int, activation: Callable[[Tensor], Tensor], dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.inner = nn.Linear(width, hidden_width)
        self.activation = activation
        self.dropout = Dropout(dropout)
        self.outer = nn.Linear(hidden_width, width)
        for layer in (self.inner, self.outer):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x_BTD: Tensor) -> Tensor:
        return self.outer(self.dropout(self.activation(self.inner(x_BTD))))

    def residual_outputs(self) -> tuple[nn.Linear, ...]:
        return (self.outer,)


class GatedFeedForward(nn.Module):
    """FFN(x) = (f(x W₁) ⊙ x W₃) W₂ without biases (Shazeer 2020, eq. 6): one half decides what the other lets through.

    W₁ and W₃ stand stacked in ``inner``.
    """

    activations = "dropout"

    def __init__(
        self, width: int, hidden_width: int, activation: Callable[[Tensor], Tensor], dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.inner = nn.Linear(width, 2 * hidden_width, bias=False)
        self.activation = activation
        self.dropout = Dropout(dropout)
        self.outer = nn.Linear(hidden_width, width, bias=False)
        for weight in (*self.inner.weight.chunk(2), self.outer.weight):
            nn.init.xavier_uniform_(weight)

    def forward(self, x_BTD: Tensor) -> Tensor:
        gate_BTF, open_BTF = self.inner(x_BTD).chunk(2, dim=-1)
        return self.outer(self.dropout(self.activation(gate_BTF) * open_BTF))

    def residual_outputs(self) -> tuple[nn.Linear, ...]:
        return (self.outer,)

    def stacked_matrices(self) -> dict[Tensor, tuple[int, ...]]:
        return {self.inner.weight: (self.outer.in_features, self.outer.in_features)}


class HiddenPart(FeedForwardPart):
    """A network with a hidden layer, whose width follows from the model's where it is not said."""

    width: Annotated[int, Auto(ge=1)] = AUTO
    activation: Activation = "relu"
    network: ClassVar[type[nn.Module]]

    @abstractmethod
    def usual_width(self, model_width: int) -> int: ...

    def settled(self, model_width: int) -> Self:
        return self.model_copy(update={"width": decided(self.width, lambda: self.usual_width(model_width))})

    def build(self, model_width: int, dropout: float) -> nn.Module:
        width = self.settled(model_width).width
        return self.network(model_width, width, ACTIVATIONS[self.activation], dropout)


class FeedForwardConfig(HiddenPart):
    """Two layers with ReLU as published, or another activation."""

    kind: str = "plain"
    network: ClassVar[type[nn.Module]] = FeedForward

    def usual_width(self, model_width: int) -> int:
        return rules.hidden_width(model_width)


class GeluFeedForwardConfig(FeedForwardConfig):
    """Two layers with GELU between them."""

    activation: Activation = "gelu"


class GatedFeedForwardConfig(HiddenPart):
    """Three matrices, SiLU (or GELU) in the gate; two thirds of the usual width have as many parameters."""

    kind: str = "gated"
    activation: Activation = "silu"
    network: ClassVar[type[nn.Module]] = GatedFeedForward

    def usual_width(self, model_width: int) -> int:
        return rules.gated_hidden_width(model_width)
