"""What the training loop knows about examples and batches of any task."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from regard.core.inputs import Inputs

AnyBatch = TypeVar("AnyBatch")


class Batch:
    """Collated examples, a dataclass of tensors. Law: moving it to a device changes nothing but the device."""

    __slots__ = ()

    @property
    @abstractmethod
    def loss_terms(self) -> int:
        """How many terms the loss of this batch sums over (the count of ``sums["loss"]``)."""

    @property
    def tokens(self) -> int:
        """How many positions are read, for speeds; by default as many as there are loss terms."""
        return self.loss_terms

    @property
    def written_lengths_B(self) -> Tensor | None:
        """How many positions of each row that a decoder reads are there; None: nobody reads any, or all are."""
        return None


@dataclass(frozen=True, slots=True)
class TokenBatch(Batch):
    """Texts that are to be written: ``real_N`` are the flat indices of the positions that are not padding, and what
    should stand after each of them is ``targets_N``."""

    real_N: Tensor
    targets_N: Tensor

    @property
    def loss_terms(self) -> int:
        return len(self.targets_N)


@dataclass(frozen=True, slots=True)
class InputBatch(Batch):
    """Inputs of any modality, of which ``positions`` are read."""

    inputs: Inputs
    positions: int

    @property
    def tokens(self) -> int:
        return self.positions


def row_lengths(real_N: Tensor, read_BT: Tensor) -> Tensor:
    """lengths_B, where ``real_N`` are the flat indices of what is no padding."""
    return torch.bincount(real_N // read_BT.shape[1], minlength=len(read_BT))


def move(batch: AnyBatch, device: torch.device) -> AnyBatch:
    """The same batch with every tensor on the device; on the CPU, where batches are made, the batch itself."""
    return batch if device.type == "cpu" else _moved(batch, device)


def _moved(value: Any, device: torch.device) -> Any:
    if isinstance(value, Tensor):
        return value.to(device, non_blocking=True)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{one.name: _moved(getattr(value, one.name), device) for one in fields(value)})
    return value


@dataclass(frozen=True, eq=False)
class Examples(Sequence[Any]):
    """The examples of one epoch, and what batches are made from.

    ``items`` may be made when they are asked for; ``lazy`` says that this takes time (decoding pictures), so that
    they are prepared ahead of the step. ``lengths_NA`` are the sizes of every example along each padded axis.
    ``weights`` says how often each example is seen (none: once). ``order`` gives a task's own batches for a budget of
    tokens, where it has an order of its own (streams that are read on).
    """

    items: Sequence[Any] = ()
    lengths_NA: np.ndarray = field(default_factory=lambda: np.zeros((0, 1), np.int64))
    weights: Sequence[float] = ()
    order: Callable[[int], list[np.ndarray]] | None = None
    lazy: bool = False

    def __post_init__(self) -> None:
        assert len(self.items) == len(self.lengths_NA), "one row of lengths an example is needed"

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, place: int) -> Any: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Any]: ...

    def __getitem__(self, place: int | slice) -> Any:
        return self.items[place]

    def __iter__(self) -> Iterator[Any]:
        return (self.items[place] for place in range(len(self)))

    def at(self, places: Sequence[int] | np.ndarray) -> list[Any]:
        return [self.items[place] for place in places]
