"""In what number type products are computed: as wide as the weights, or narrow where a training asks for it."""

from __future__ import annotations

import torch


def narrow_type(device: str) -> torch.dtype | None:
    """The type to which autocast narrows products on this kind of device now, or None outside of it."""
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None
