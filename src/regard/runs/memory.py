"""What training a model needs in memory, against what there is: said before the model is built."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from regard.core.errors import RecipeError, TrainingError, is_out_of_memory
from regard.core.ports import Ports
from regard.models import ModelPart
from regard.training.machine import available_memory

BYTES_PER_PARAMETER = 16
"""In training: the weight itself, its gradient, and two moments of the optimiser, in float32."""
BYTES_PER_NUMBER = 4
TOO_MANY = ("overflow", "too large", "invalid shape", "numel")
"""What torch says where sizes are beyond all numbers."""
REMEDY = "set a smaller model.width or model.position.max_length, fewer layers, or a smaller tokenizer.vocabulary"


def count_parameters(model: ModelPart, ports: Ports) -> int:
    """How many a model has; none of them is made."""
    return count(outline(model, ports).parameters())


def outline(model: ModelPart, ports: Ports) -> nn.Module:
    """The model without its numbers: on torch's device that holds none."""
    with torch.device("meta"):
        return model.build(ports)


def count(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.numel() for tensor in tensors)


def check_memory(model: ModelPart, ports: Ports, device: torch.device) -> None:
    """Refuses a model that cannot be trained in the memory that there is."""
    try:
        planned = outline(model, ports)
        parameters, tables = count(planned.parameters()), count(planned.buffers())
    except (RuntimeError, OverflowError, TypeError, ValueError) as error:
        if isinstance(error, NotImplementedError) or not any(word in str(error).lower() for word in TOO_MANY):
            return  # it cannot be counted, and whoever builds it says what is wrong
        raise RecipeError(f"the model of this recipe is larger than any memory; {REMEDY}") from error
    needed, there = parameters * BYTES_PER_PARAMETER + tables * BYTES_PER_NUMBER, available_memory(device)
    if needed > there:
        raise RecipeError(
            f"the model of this recipe has {parameters:,} parameters and {tables:,} numbers in tables; training needs "
            f"{in_gigabytes(needed)} of memory for them, and {in_gigabytes(there)} are free here; {REMEDY}"
        )


def in_gigabytes(size: float) -> str:
    return f"{size / 1e9:,.1f} GB"


@contextmanager
def explain_out_of_memory() -> Iterator[None]:
    """Memory that ran out, in words."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise TrainingError(
            "there is not enough memory for this training; set a smaller training.batch_tokens, a larger "
            "training.accumulate, training.recompute = true, a smaller model, or fewer data "
            f"({str(error).splitlines()[0] if str(error) else type(error).__name__})"
        ) from error
