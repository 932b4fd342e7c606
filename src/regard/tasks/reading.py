"""Runs inputs through a body and its head: batch sizes and length limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from regard.core.batch import Batch
from regard.core.errors import OptionError
from regard.core.inputs import Inputs


@dataclass(frozen=True, slots=True)
class TextBatch(Batch):
    """Texts that a body reads, and in subclasses what is asked about them."""

    text: Inputs

    @property
    def tokens(self) -> int:
        return int(self.text.real_lengths_B.sum())


READ_AT_ONCE = 8192
"""Positions of a batch when inputs are answered or scored."""


def logits_of(model: nn.Module, inputs: Inputs) -> Tensor:
    return model(inputs).float()


def check_length(body: Any, max_length: int) -> None:
    """A window wider than what the body reads is refused before training."""
    if body.max_length and max_length > body.max_length:
        raise OptionError(
            f"the body reads {body.max_length} tokens, but task.max_length is {max_length}; set "
            f"task.max_length={body.max_length}"
        )
