"""Layer-wise learning-rate decay: lower layers move more slowly (Howard & Ruder 2018)."""

from __future__ import annotations

import re

from torch import nn

LAYER = re.compile(r"(?:^|\.)(?:layers|cells|convolutions)\.(\d+)\.")
BELOW = ("embedding", "position", "segments")


def layer_scales(model: nn.Module, decay: float) -> dict[nn.Parameter, float]:
    """The share of the learning rate that each weight moves with: 1 at the top, ``decay`` less with every layer below.

    Embeddings stand below the first layer; what comes after the layers, a head among it, stands on top.
    """
    names = [name for name, _ in model.named_parameters()]
    numbers = [int(found.group(1)) for name in names if (found := LAYER.search(name))]
    top = max(numbers, default=-1) + 2
    first = next((place for place, name in enumerate(names) if LAYER.search(name)), 0)

    def depth(place: int, name: str) -> int:
        found = LAYER.search(name)
        if found:
            return int(found.group(1)) + 1
        return 0 if place < first or any(part in name for part in BELOW) else top

    return {
        parameter: decay ** (top - depth(place, name))
        for place, (name, parameter) in enumerate(model.named_parameters())
    }
