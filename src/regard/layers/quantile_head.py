"""A head that forecasts: from the states of the last positions to quantiles of every step that lies ahead."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.core.inputs import States
from regard.layers.dropout import Dropout
from regard.layers.headed import small_linear


class QuantileHead(nn.Module):
    """quantiles_BHCQ of the last ``horizon`` steps, rising with their levels.

    A position stands for ``steps_each`` steps; from its state a matrix makes their medians, and the gaps by which the
    other levels lie below or above, which softplus keeps positive.
    """

    def __init__(
        self, width: int, horizon: int, steps_each: int, channels: int, levels: tuple[float, ...], dropout: float
    ) -> None:
        super().__init__()
        self.horizon, self.steps_each, self.shape = horizon, steps_each, (steps_each, channels, len(levels))
        self.middle = levels.index(0.5)
        self.dropout = Dropout(dropout)
        self.quantiles = small_linear(width, steps_each * channels * len(levels))

    def forward(self, states: States) -> Tensor:
        positions = -(-self.horizon // self.steps_each)
        last_BND = self.dropout(states.x_BND[:, -positions:])
        raw_BHCQ = self.quantiles(last_BND).unflatten(-1, self.shape).flatten(1, 2)[:, -self.horizon :]
        median = raw_BHCQ[..., self.middle : self.middle + 1]
        above = functional.softplus(raw_BHCQ[..., self.middle + 1 :]).cumsum(-1)
        below = functional.softplus(raw_BHCQ[..., : self.middle]).flip(-1).cumsum(-1).flip(-1)
        return torch.cat((median - below, median, median + above), dim=-1)
