"""The states of a model layer by layer, for one input."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import Tensor, nn

from regard.core.errors import OptionError
from regard.core.seams.anatomy import anatomy_of
from regard.core.taps import record_outputs

BEFORE = "embedding"
"""The depth before the first layer."""


def levels(model: nn.Module) -> list[str]:
    """The modules whose outputs are the states on their way to the answer, in order."""
    pattern = anatomy_of(model).depth_path
    if not pattern:
        raise OptionError(
            f"{type(model).__name__} reads its answers off once, from all it has found: there are no depths; "
            "name the run of a model whose layers follow one another (transformer, gpt, llama, bert, convolution, "
            "recurrent)"
        )
    names = (name for name, _ in model.named_modules())
    return [name for name in names if fnmatchcase(name, pattern) and name.count(".") == pattern.count(".")]


@contextmanager
def passing_states(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """states_BTD by depth, once the block is over; of layers that work on all positions at once, also what goes into
    the first."""
    names = levels(model)
    entering: list[Any] = []
    found: dict[str, Tensor] = {}
    first = model.get_submodule(names[0])
    handle = first.register_forward_pre_hook(lambda module, inputs: entering.append(inputs[0]))
    try:
        with record_outputs(model, *names) as seen:
            yield found
    finally:
        handle.remove()
    if entering[0].dim() == 3:
        found[BEFORE] = torch.cat(entering, dim=1)
    found.update({name: joined(seen[name]) for name in names})


@torch.inference_mode()
def states_by_depth(model: nn.Module, inputs: tuple[Any, ...]) -> dict[str, Tensor]:
    """The same of one pass over the arguments that a model takes."""
    with passing_states(model) as found:
        model.eval()(*inputs)
    return found


def joined(calls: list[Any]) -> Tensor:
    """What a module gave, over all its calls; of several things the first; steps stand one after another."""
    parts = [one if isinstance(one, Tensor) else one[0] for one in calls]
    return torch.cat([part.unsqueeze(1) if part.dim() == 2 else part for part in parts], dim=-2)
