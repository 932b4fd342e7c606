"""Gated convolutions over a sequence: a window of neighbours instead of all the past or of everything."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class GatedConvolution(nn.Module):
    """A ⊙ σ(B), [A B] a linear map of every window of k neighbours (Dauphin et al. 2017, eq. 1).

    The window is centred; what lies beyond the ends is 0. Stacked L times, a position sees L(k − 1) + 1 others.
    """

    def __init__(self, width: int, kernel: int) -> None:
        super().__init__()
        self.kernel = kernel
        self.linear = nn.Linear(kernel * width, 2 * width)
        nn.init.xavier_uniform_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, x_BTD: Tensor) -> Tensor:
        before = (self.kernel - 1) // 2
        return self.windows(functional.pad(x_BTD, (0, 0, before, self.kernel - 1 - before)))

    def windows(self, x_BTD: Tensor) -> Tensor:
        """One output for every k neighbours, hence k − 1 positions fewer."""
        beside_BTKD = x_BTD.unfold(1, self.kernel, 1).transpose(-1, -2)
        return functional.glu(self.linear(beside_BTKD.flatten(2)), dim=-1)


class CausalConvolution(GatedConvolution):
    """The same over a position and the k − 1 before it, so that the future stays unseen."""

    def extend(self, x_RTD: Tensor, past_RCD: Tensor, lengths_R: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The outputs for new positions, and the k − 1 last (real) inputs for those that will follow."""
        both_RTD = torch.cat((past_RCD, x_RTD), dim=1)
        out_RTD = self.windows(both_RTD)
        if lengths_R is None:
            return out_RTD, both_RTD[:, both_RTD.shape[1] - (self.kernel - 1) :]
        place_RC = lengths_R[:, None] + torch.arange(self.kernel - 1, device=lengths_R.device)
        return out_RTD, both_RTD[torch.arange(len(both_RTD), device=lengths_R.device)[:, None], place_RC]

    def no_past(self, rows: int, width: int, like: Tensor) -> Tensor:
        return like.new_zeros(rows, self.kernel - 1, width)
