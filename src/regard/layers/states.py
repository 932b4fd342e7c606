"""States of padded rows: the positions that are real."""

from __future__ import annotations

from torch import Tensor


def real_states(states_BTD: Tensor, real_N: Tensor) -> Tensor:
    """states_ND of the positions that are not padding."""
    states_ND = states_BTD.flatten(0, 1)
    return states_ND.index_select(0, real_N) if len(real_N) < len(states_ND) else states_ND
