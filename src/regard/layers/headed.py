"""A body with a head: a model that reads, and on its states what a task wants to know."""

from __future__ import annotations

from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from regard.core.errors import OptionError
from regard.core.inputs import Inputs, States
from regard.core.penalties import add_penalty
from regard.core.seams import Body, HasGrid, HasPooler
from regard.core.seams.anatomy import anatomy_of
from regard.layers.dropout import Dropout

Pooling = Literal["auto", "mean", "sum", "first", "last", "pooler", "tokens"]
"""How the states of a text become one: their mean, their sum (which knows how many there are), that of its first or
last token, what the model's own pooler says, or those of class and distillation token side by side; auto: the mean
where states know both sides, else the last, which alone has seen everything."""


class Headed(nn.Module):
    """head(states of the body): what the body writes with is given up."""

    def __init__(self, body: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.body = without_decoder(body)
        self.head = head

    def forward(self, inputs: Inputs) -> Tensor:
        states = cast(Body, self.body).represent(inputs)
        add_penalty(states.penalty)
        return self.head(states)


def body_of(model: nn.Module) -> nn.Module:
    """The model under its head, or the model itself where it has none."""
    return model.body if isinstance(model, Headed) else model


def without_decoder(body: nn.Module) -> nn.Module:
    """The same model with only those modules that reading needs; one that is also needed by another name stays."""
    reading = anatomy_of(body).reading
    if not reading:
        raise OptionError(
            f"{type(body).__name__} cannot take the head of a task: it does not say with which of its modules it "
            "reads (see Body in regard.core.seams); choose another model.kind"
        )
    needed = {id(body.get_submodule(name)) for name in reading}
    for name, child in list(body._modules.items()):
        if id(child) not in needed:
            delattr(body, name)
    return body


class Pool(nn.Module):
    """One state for a text."""

    def __init__(self, pooling: Pooling, body: Any) -> None:
        super().__init__()
        if pooling == "auto":
            pooling = "mean" if not body.causal else "last"
        if pooling == "pooler" and not isinstance(body, HasPooler):
            raise OptionError(f'{type(body).__name__} has no pooler; set task.pooling to "mean", "first" or "last"')
        if pooling == "tokens" and not (isinstance(body, HasGrid) and body.class_tokens > 1):
            raise OptionError(
                'task.pooling = "tokens" is for a body with a class token and a distillation token; set '
                "model.front.distillation_token=true, or another pooling"
            )
        self.pooling = pooling
        self.states = body.class_tokens if pooling == "tokens" else 1  # how many stand side by side
        self.pooler = body.pooler if pooling == "pooler" else nn.Identity()

    def forward(self, states: States) -> Tensor:
        states_BSD, lengths_B = states.x_BND, states.lengths_B
        if self.pooling == "pooler":
            return self.pooler(states_BSD)
        if self.pooling == "first":
            return states_BSD[:, 0]
        if self.pooling == "tokens":
            return states_BSD[:, : self.states].flatten(1)
        if self.pooling == "last":
            if lengths_B is None:
                return states_BSD[:, -1]
            return states_BSD[torch.arange(len(states_BSD), device=states_BSD.device), lengths_B - 1]
        if self.pooling == "sum":
            return sum_of_states(states_BSD, lengths_B)
        return mean_state(states_BSD, lengths_B)


def sum_of_states(states_BSD: Tensor, lengths_B: Tensor | None) -> Tensor:
    """The sum of what is there."""
    if lengths_B is None:
        return states_BSD.sum(dim=1)
    there_BS = torch.arange(states_BSD.shape[1], device=states_BSD.device) < lengths_B[:, None]
    return torch.einsum("bsd,bs->bd", states_BSD, there_BS.to(states_BSD.dtype))


def mean_state(states_BSD: Tensor, lengths_B: Tensor | None) -> Tensor:
    """The mean over what is there."""
    if lengths_B is None:
        return states_BSD.mean(dim=1)
    return sum_of_states(states_BSD, lengths_B) / lengths_B[:, None].to(states_BSD.dtype)


class ClassHead(nn.Module):
    """logits_BC of the classes that an input may belong to: W pool(states) + b."""

    def __init__(self, pool: Pool, width: int, classes: int, dropout: float) -> None:
        super().__init__()
        self.pool, self.dropout = pool, Dropout(dropout)
        self.classes = small_linear(width, classes)

    def forward(self, states: States) -> Tensor:
        return self.classes(self.dropout(self.pool(states)))


class NumberHead(nn.Module):
    """numbers_BC that are said of an input: W pool(states) + b."""

    def __init__(self, pool: Pool, width: int, numbers: int, dropout: float) -> None:
        super().__init__()
        self.pool, self.dropout = pool, Dropout(dropout)
        self.numbers = small_linear(width, numbers)

    def forward(self, states: States) -> Tensor:
        return self.numbers(self.dropout(self.pool(states)))


class TokenHead(nn.Module):
    """logits_BSC of the classes that each token may belong to: W s + b."""

    def __init__(self, width: int, classes: int, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.classes = small_linear(width, classes)

    def forward(self, states: States) -> Tensor:
        return self.classes(self.dropout(states.x_BND))


class PairHead(nn.Module):
    """vectors_BN(K+1) of positions; ``pair_logits`` reads from them how well two go together: z_i·z_j/√K + b_i + b_j.

    The inner product of what a graph encoder says of two nodes (Kipf & Welling 2016, eq. 2), with a bias of each.
    """

    def __init__(self, width: int, pair_width: int, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.vectors = nn.Linear(width, pair_width)
        self.biases = small_linear(width, 1)

    def forward(self, states: States) -> Tensor:
        x_BND = self.dropout(states.x_BND)
        return torch.cat((self.vectors(x_BND), self.biases(x_BND)), dim=-1)


def pair_logits(vectors_NK: Tensor, pairs_M2: Tensor) -> Tensor:
    """logits_M of pairs of positions."""
    one_MK, other_MK = vectors_NK[pairs_M2[:, 0]], vectors_NK[pairs_M2[:, 1]]
    width = vectors_NK.shape[1] - 1
    return (one_MK[:, :-1] * other_MK[:, :-1]).sum(dim=1) * width**-0.5 + one_MK[:, -1] + other_MK[:, -1]


class VectorHead(nn.Module):
    """vector_BD of a text: its pooled state, of length 1 where that is wanted."""

    def __init__(self, pool: Pool, *, unit: bool) -> None:
        super().__init__()
        self.pool, self.unit = pool, unit

    def forward(self, states: States) -> Tensor:
        vector_BD = self.pool(states)
        return nn.functional.normalize(vector_BD, dim=-1) if self.unit else vector_BD


def small_linear(width: int, classes: int) -> nn.Linear:
    """Starts out small: at first all classes are nearly equally probable."""
    linear = nn.Linear(width, classes)
    nn.init.normal_(linear.weight, std=0.02)
    nn.init.zeros_(linear.bias)
    return linear
