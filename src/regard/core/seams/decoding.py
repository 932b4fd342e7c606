"""The seams of decoding: a model that writes token by token, its state, and the engine that searches for answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from torch import Tensor

    from regard.core.seams.task import Progress


class DecodingState(Protocol):
    """All that a model remembers between two steps of decoding.

    Law: rows that belong to one sentence stand together. ``reorder`` keeps the given rows, in that order; a
    row may be repeated or left out. It moves only what differs between the rows of one sentence; what is the
    same for a whole sentence (its encoded source) is kept once. ``join`` sets the rows of another state of the same
    model behind these; they may be older or younger, and their sources longer or shorter. Who joins or leaves
    changes nothing for the other rows. Old states are consumed.
    """

    def reorder(self, rows: Tensor) -> DecodingState: ...

    def join(self, other: Any) -> DecodingState: ...


@runtime_checkable
class ConstantSizeState(Protocol):
    """A decoding state of constant size, which can go on from window to window of a text (a recurrent one)."""

    @property
    def rows(self) -> int: ...

    def detached(self) -> ConstantSizeState:
        """The same, through which no gradient flows."""
        ...

    def tensors(self) -> dict[str, Tensor]:
        """All of it, by name, for checkpoints."""
        ...

    def restored(self, tensors: Mapping[str, Tensor]) -> ConstantSizeState:
        """A state of this shape that remembers the given tensors."""
        ...


class Decodable(Protocol):
    """A model from which an answer can be read token by token.

    Law: ``step`` over tokens one by one gives the same logits as one step over all of them, and the same as
    the parallel training pass. Nothing hides in the module: all memory is in the state. With ``lengths_B`` only the
    first so many tokens of each row are real: the rest pads it, leaves no trace in the state, and its logits mean
    nothing.
    """

    def start(self, source: Any) -> DecodingState:
        """One row for each sentence of the source batch."""
        ...

    def step(self, tokens_BT: Tensor, state: Any, lengths_B: Tensor | None = None) -> tuple[Tensor, Any]:
        """logits_BTW for what follows each token, and the new state; the old state is consumed."""
        ...


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One answer: its tokens without the closing symbol, its total log-probability, and its ranking score."""

    tokens: tuple[int, ...]
    log_probability: float
    score: float
    finished: bool = True


class Engine(Protocol):
    """Inputs to hypotheses, whatever does the work.

    Law: one list of hypotheses, best first, for each input, in the order of the inputs, and the same answer
    whatever else stands in the batch. With ``prompts`` an answer begins after its prompt, and only what follows is
    returned. ``watch`` makes, for the places of a batch, somebody who is shown its tokens as they are chosen. Random
    numbers follow the ``numbers`` of the inputs (without: 0, 1, 2 …), so that inputs may be asked in several calls.
    """

    @property
    def name(self) -> str:
        """What stands beside scores."""
        ...

    def predict(
        self,
        inputs: Sequence[Sequence[int]],
        options: Any,
        *,
        prompts: Sequence[Sequence[int]] | None = None,
        progress: Progress | None = None,
        watch: Callable[[Sequence[int]], Any] | None = None,
        numbers: Sequence[int] | None = None,
    ) -> list[list[Hypothesis]]: ...
