"""One batch can be learned by heart: the loop of a law that several kinds of models are held to."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
import torch
from torch import Tensor


def check_overfits(parameters: Iterable[Tensor], steps: int, loss_of: Callable[[], Tensor]) -> None:
    optimizer = torch.optim.Adam(parameters, lr=1e-2)
    for _ in range(steps):
        loss = loss_of()
        if loss < 0.05:
            return
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    pytest.fail(f"the loss is still {loss:.3f}")
