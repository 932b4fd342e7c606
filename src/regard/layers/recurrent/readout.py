"""From a recurrent decoder's findings to the states that are compared with every word."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.layers.dropout import Dropout


class Readout(nn.Module):
    """tanh(W [h; …]) before the vocabulary: state, context and last word have their say (Luong et al. 2015, eq. 5)."""

    def __init__(self, input_width: int, width: int, dropout: float) -> None:
        super().__init__()
        self.linear = nn.Linear(input_width, width)
        self.dropout = Dropout(dropout)
        nn.init.xavier_uniform_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, *found_RTC: Tensor) -> Tensor:
        return self.dropout(torch.tanh(self.linear(torch.cat(found_RTC, dim=-1))))


class Maxout(nn.Module):
    """The larger of each pair of W [h; …] (Goodfellow et al. 2013), the deep output of Bahdanau et al. 2015."""

    def __init__(self, input_width: int, width: int, dropout: float) -> None:
        super().__init__()
        self.linear = nn.Linear(input_width, 2 * width)
        self.dropout = Dropout(dropout)
        nn.init.xavier_uniform_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, *found_RTC: Tensor) -> Tensor:
        return self.dropout(self.linear(torch.cat(found_RTC, dim=-1)).unflatten(-1, (-1, 2)).amax(-1))
