"""The seams of the house, each a Protocol with its law: mechanism, position, decodable, body, engine, observer.

Tasks have files of their own: ``task``, ``capabilities``, ``batch`` and ``answers`` beside this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from torch import Tensor, nn

    from regard.attention.cache import AttentionCache
    from regard.attention.masks import Mask
    from regard.attention.places import Places
    from regard.core.anatomy import Anatomy
    from regard.core.inputs import Inputs, States
    from regard.core.task import Progress


@runtime_checkable
class Mechanism(Protocol):
    """How a query reads a memory; an ``nn.Module``.

    Law: ``forward`` equals ``weights(...) @ v`` wherever ``has_matrix``; a masked key has no influence; a
    query that may look at nothing reads 0; with ``causal`` declared, no key after a query has influence even
    without a mask; with ``cacheable`` declared, queries may arrive later than their keys (the mask's places). Heads are
    independent: asked about some of them, ``weights`` gives theirs.

    What it remembers between two steps of decoding is its own: ``new_cache`` makes it. With ``keeps_keys`` that is
    every key and value, and its heads show it all of them. Without, they show it the new positions alone, under a mask
    that speaks of these, and hand it its ``cache``, which it brings up to date.
    """

    causal: bool
    cacheable: bool
    has_matrix: bool
    keeps_keys: bool

    def __call__(
        self,
        q_BHTK: Tensor,
        k_BHSK: Tensor,
        v_BHSV: Tensor,
        mask: Mask,
        bias: Tensor | None = None,
        cache: AttentionCache | None = None,
    ) -> Tensor: ...

    def weights(self, q_BHTK: Tensor, k_BHSK: Tensor, mask: Mask, bias: Tensor | None = None) -> Tensor:
        """The exact matrix weights_BHTS, or NoMatrix."""
        ...

    def new_cache(
        self, rows: int, heads: int, key_width: int, value_width: int, like: Tensor, room: int = 0
    ) -> AttentionCache:
        """An empty one for so many rows and key/value heads, on the device of ``like``."""
        ...


class Position(Protocol):
    """Where a token stands. Any of the three may do nothing; a model calls all three and asks no questions.

    ``places`` is the place of the first token, the others following it, or places_BT where rows differ in age.
    Law: a token at a place is treated as at that place of the full pass, whatever else stands in the batch.
    """

    @property
    def max_length(self) -> int:
        """How many positions there are; 0: as many as one likes."""
        ...

    def embed(self, x_BTD: Tensor, places: Places = 0) -> Tensor:
        """Acts on embeddings (absolute positions: added or concatenated)."""
        ...

    def rotate(self, x_BHTK: Tensor, places: Places = 0) -> Tensor:
        """Acts on queries and keys (rotary positions)."""
        ...

    def bias(self, queries: int, keys: int, places: Places = 0) -> Tensor | None:
        """Acts on scores: bias_HTS, or bias_BHTS where rows differ (relative positions)."""
        ...


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


@runtime_checkable
class Body(Protocol):
    """A model that gives every position of an input a state; heads of tasks stand on it. Every family of the house is
    one.

    Law: what is padded has no influence on the states of what is there. With ``causal`` a state knows only what
    stood before its position, else both sides of it; ``max_length`` how many it can read (0: as many as one likes).
    Its anatomy names the modules that are needed for reading: the others write, and a head takes their place.
    """

    anatomy: Anatomy

    @property
    def causal(self) -> bool: ...

    @property
    def max_length(self) -> int: ...

    @property
    def width(self) -> int: ...

    def represent(self, inputs: Inputs) -> States: ...


@runtime_checkable
class HasGrid(Protocol):
    """A body whose positions fill a grid (the patches of a picture), row by row after its class token."""

    @property
    def grid(self) -> tuple[int, ...]: ...

    @property
    def class_tokens(self) -> int:
        """How many positions come before those of the grid."""
        ...


@runtime_checkable
class ReadsAndWrites(Protocol):
    """A model with a source and an answer, which may have limits of their own."""

    @property
    def max_lengths(self) -> tuple[int, int]:
        """How many positions a source and an answer may have; 0: as many as one likes."""
        ...


def max_lengths_of(model: Any) -> tuple[int, int]:
    """The limits of source and answer; a model that states none has none."""
    return model.max_lengths if isinstance(model, ReadsAndWrites) else (0, 0)


def max_length_of(model: Any) -> int:
    """How many positions a body reads at once; 0: as many as one likes."""
    return model.max_length if isinstance(model, Body) else 0


@runtime_checkable
class GuessesWords(Protocol):
    """A head that says what is hidden: ``transform`` makes of states what is compared with every word."""

    words: Any

    def transform(self, states_ND: Tensor) -> Tensor: ...


@runtime_checkable
class HasPooler(Protocol):
    """A body that makes one vector of a text's states."""

    pooler: nn.Module


@runtime_checkable
class RelatesTexts(HasPooler, Protocol):
    """A body that can say whether two texts follow one another."""

    relation: nn.Module


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


class Observer(Protocol):
    """Is told what happens in training; draws bars, writes files, decides to stop."""

    def on_phase(self, what: str) -> None:
        """What is done now, before the first step; each may take a while."""
        ...

    def on_start(self, total_steps: int, step: int) -> None: ...

    def on_step(self, step: int, figures: Mapping[str, float]) -> None: ...

    def on_validation(self, step: int, figures: Mapping[str, float]) -> None: ...

    def on_checkpoint(self, step: int, folder: Path) -> None: ...

    def on_message(self, message: str) -> None:
        """A sentence for the user that is not an error (a checkpoint skipped, an early stop)."""
        ...

    def on_end(self, step: int) -> None: ...


