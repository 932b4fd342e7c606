"""The law that what is saved and loaded answers the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from regard.training import checkpoints


def check_saved_and_loaded(
    model: nn.Module, other: nn.Module, answer: Callable[[nn.Module], Tensor], path: Path
) -> None:
    """``other`` answers differently until it has the weights of ``model``."""
    checkpoints.save_tensors(path, checkpoints.weights_of(model))
    assert not torch.equal(answer(other), answer(model))
    checkpoints.load_weights(other, checkpoints.load_tensors(path), "here")
    assert torch.equal(answer(other), answer(model))
