"""Recurrent cells: what is remembered of the past, and how one more input changes it.

Each formula is a function of the input's share and the past's share of its gates. The input's share of a whole
sequence is one matrix product; only the past's has to wait for its turn.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from regard.layers import CellPart

State = tuple[Tensor, ...]
"""What a cell remembers, by row: (h,) or, with a memory cell, (h, c). The first is what others see."""


def rnn_step(x_BJ: Tensor, past_BJ: Tensor, state: State) -> State:
    """h' = tanh(W x + U h) (Elman 1990)."""
    return (torch.tanh(x_BJ + past_BJ),)


def gru_step(x_BJ: Tensor, past_BJ: Tensor, state: State) -> State:
    """h' = (1 − z) ⊙ n + z ⊙ h with n = tanh(W_n x + r ⊙ U_n h), gates r and z (Cho et al. 2014, section 2.3).

    As in torch and cuDNN, r multiplies U h and not h, so that one product serves all gates.
    """
    (h_BD,) = state
    width = h_BD.shape[-1]
    r_BD, z_BD = torch.sigmoid(x_BJ[..., : 2 * width] + past_BJ[..., : 2 * width]).chunk(2, dim=-1)
    n_BD = torch.tanh(torch.addcmul(x_BJ[..., 2 * width :], r_BD, past_BJ[..., 2 * width :]))
    return (torch.lerp(n_BD, h_BD, z_BD),)


def lstm_step(x_BJ: Tensor, past_BJ: Tensor, state: State) -> State:
    """c' = f ⊙ c + i ⊙ g, h' = o ⊙ tanh(c') with gates i, f, o (Hochreiter & Schmidhuber 1997; Gers et al. 2000)."""
    _, c_BD = state
    i, f, g, o = (x_BJ + past_BJ).chunk(4, dim=-1)
    c_BD = torch.addcmul(torch.sigmoid(f) * c_BD, torch.sigmoid(i), torch.tanh(g))
    return torch.sigmoid(o) * torch.tanh(c_BD), c_BD


Step = Callable[[Tensor, Tensor, State], State]


class Cell(nn.Module):
    """The weights of a cell around one of the formulas; the gates stand side by side, in torch's order."""

    def __init__(self, input_width: int, width: int, step: Step, *, gates: int, parts: int) -> None:
        super().__init__()
        self.width = width
        self.parts = parts  # how many tensors the state has
        self.step = step
        self.input = nn.Linear(input_width, gates * width)
        self.past = nn.Linear(width, gates * width)
        for input_gate, past_gate in zip(self.input.weight.chunk(gates), self.past.weight.chunk(gates), strict=True):
            nn.init.xavier_uniform_(input_gate)
            nn.init.orthogonal_(past_gate)
        nn.init.zeros_(self.input.bias)
        nn.init.zeros_(self.past.bias)

    def project(self, x_BTI: Tensor) -> Tensor:
        """The input's share of the gates, for any number of steps at once."""
        return self.input(x_BTI)

    def forward(self, x_BJ: Tensor, state: State) -> State:
        """One step, given the input's share. What is remembered keeps its precision, also where products are narrow."""
        like = state[0]
        return self.step(x_BJ.to(like.dtype), self.past(like).to(like.dtype), state)

    def start(self, rows: int, like: Tensor) -> State:
        """Nothing remembered."""
        return (like.new_zeros(rows, self.width),) * self.parts


class RnnConfig(CellPart):
    """The plain recurrent cell."""

    kind: str = "rnn"

    def build(self, input_width: int, width: int) -> Cell:
        return Cell(input_width, width, rnn_step, gates=1, parts=1)


class GruConfig(CellPart):
    """Gates that let the past through unchanged."""

    kind: str = "gru"

    def build(self, input_width: int, width: int) -> Cell:
        return Cell(input_width, width, gru_step, gates=3, parts=1)


class LstmConfig(CellPart):
    """A memory cell beside the state; its forget gate starts open (Gers et al. 2000)."""

    kind: str = "lstm"

    def build(self, input_width: int, width: int) -> Cell:
        cell = Cell(input_width, width, lstm_step, gates=4, parts=2)
        nn.init.ones_(cell.input.bias.data[width : 2 * width])
        return cell
