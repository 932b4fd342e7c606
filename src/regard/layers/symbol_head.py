"""The head of temporal classification: at every step of time a symbol, or that nothing is said."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.core.inputs import States
from regard.layers.dropout import Dropout
from regard.layers.headed import small_linear

NEVER = -1e4
"""The logit of every symbol beyond an input's end, where the blank has 0: there nothing is said for certain."""


class SymbolHead(nn.Module):
    """logits_BT(W+1) = W s + b of W symbols and, as the last, the blank.

    Beyond an input's end the blank is certain. It costs nothing there, and no answer changes by it: padding is
    invisible without anybody having to know how long a row is.
    """

    def __init__(self, width: int, symbols: int, dropout: float) -> None:
        super().__init__()
        self.blank = symbols
        self.dropout = Dropout(dropout)
        self.symbols = small_linear(width, symbols + 1)

    def forward(self, states: States) -> Tensor:
        logits_BTW = self.symbols(self.dropout(states.x_BND))
        lengths_B = states.lengths_B
        if lengths_B is None:
            return logits_BTW
        steps_T = torch.arange(logits_BTW.shape[1], device=logits_BTW.device)
        beyond_BT1 = (steps_T >= lengths_B[:, None])[..., None]
        silent_W = torch.full_like(logits_BTW[0, 0], NEVER)
        silent_W[self.blank] = 0.0
        return torch.where(beyond_BT1, silent_W, logits_BTW)


def is_beyond(logits_BTW: Tensor) -> Tensor:
    """Which steps stand beyond the end of their input, as the head marks them."""
    return logits_BTW[..., 0] <= NEVER / 2
