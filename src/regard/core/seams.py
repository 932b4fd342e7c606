"""The seams of the house, each a Protocol with its law: mechanism, position, decodable, engine, task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    import torch
    from torch import Tensor, nn

    from regard.attention.cache import AttentionCache
    from regard.attention.masks import Mask
    from regard.attention.places import Places
    from regard.core.symbols import Sizes


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
    def capacity(self) -> int:
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


class Body(Protocol):
    """A model that gives every token of a text a state; heads of tasks stand on it. Every family of the house is one.

    Law: what is padded has no influence on the states of what is there. ``sight`` says whether a state knows both
    sides of its token or only what stood before; ``capacity`` how many tokens it can read (0: as many as one likes);
    ``reading`` names the modules that are needed for it: the others write, and a head takes their place.
    """

    reading: tuple[str, ...]

    @property
    def sight(self) -> Literal["both", "before"]: ...

    @property
    def capacity(self) -> int: ...

    @property
    def state_width(self) -> int: ...

    def represent(self, tokens_BS: Tensor, lengths_B: Tensor, segments_BS: Tensor | None = None) -> Tensor:
        """states_BSD of padded texts; ``segments_BS`` tells apart what is read together, for families that ask."""
        ...


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One answer: its tokens without the closing symbol, its total log-probability, and its ranking score."""

    tokens: tuple[int, ...]
    log_probability: float
    score: float
    finished: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer as a user sees it, with its total log-probability and its score in the search."""

    text: str
    log_probability: float
    score: float


class Engine(Protocol):
    """Inputs to hypotheses, whatever does the work.

    Law: one list of hypotheses, best first, for each input, in the order of the inputs, and the same answer
    whatever else stands in the batch. With ``prompts`` an answer begins after its prompt, and only what follows is
    returned. ``watch`` makes, for the places of a batch, somebody who is shown its tokens as they are chosen.
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
    ) -> list[list[Hypothesis]]: ...


@dataclass(slots=True)
class Sums:
    """Named sums with their counts, so that means over batches, accumulation and ranks come out right.

    ``sums["loss"]`` is the differentiable total; ``counts`` divides it.
    """

    sums: dict[str, Tensor]
    counts: dict[str, int]

    def mean(self, name: str) -> float:
        return float(self.sums[name].detach()) / max(self.counts[name], 1)


Progress = Callable[[int, int], None]
"""Is told how many of how many are done."""


class Task(Protocol):
    """What is asked of a model and what counts as good; the training loop knows a task only through this.

    Law: ``sums(model, batch)`` adds over examples, i.e. the sums over the parts of a batch equal the sums over
    the whole, unless ``additive`` is False; then accumulation and several ranks are refused.

    A task may also have: ``tokens(lengths_NA)`` (how many tokens are read, where that is not the number of loss
    terms), ``weights(epoch)`` (how often each training example is seen), ``one_shape`` (True: nearly all batches are as
    wide and as long as one another), ``order(examples, budget)`` (its own batches, or None), ``carried()`` and
    ``restore(tensors)`` (what it keeps from step to step, for checkpoints), ``derived(split, means)`` (figures that
    are no means), ``glimpse(model, device)`` (a sample to look at), ``head(body)`` (what stands on a body in the
    place of its writing parts), ``check_room(model, budget)`` (refuses, before the first step, examples that
    the model has no positions for, or a training step no tokens), ``spelled(sources, answers)`` (given texts as the
    model reads and writes them, where answers are shown in another form), ``compare(pairs, first,
    second)`` (a test of two systems' answers, where BLEU is not its score), and in ``predict`` and ``score`` a keyword
    ``engine``: who searches for answers in the model's place. Its configuration may have ``settled(corpus)``, the same
    with what the data decides, and ``unsettled()``.
    """

    additive: bool

    def sizes(self) -> Sizes:
        """What the data fixes about the model."""
        ...

    def examples(self, split: str, epoch: int) -> Sequence[Any]:
        """The encoded examples of a split, the same for the same (seed, epoch)."""
        ...

    def lengths(self, examples: Sequence[Any]) -> np.ndarray:
        """lengths_NA: the sizes of every example along each padded axis, which batches are made from."""
        ...

    def weight(self, lengths_NA: np.ndarray) -> int:
        """How many loss terms the examples of these lengths hold (the count of ``sums["loss"]``)."""
        ...

    def collate(self, examples: Sequence[Any], device: torch.device) -> Any:
        """Examples become one batch of tensors."""
        ...

    def sums(self, model: nn.Module, batch: Any) -> Sums:
        """A batch becomes named sums; ``loss`` is the one that is trained on."""
        ...

    def predict(
        self, model: nn.Module, inputs: Sequence[Any], options: Any, device: torch.device, progress: Progress | None
    ) -> list[list[Answer]]:
        """For each input its answers, best first, in the order of the inputs."""
        ...

    def score(
        self, model: nn.Module, split: str, options: Any, device: torch.device, progress: Progress | None
    ) -> dict[str, Any]:
        """Figures by name (rates are fractions of 1), and the notes that belong to them, such as signatures."""
        ...


class Observer(Protocol):
    """Is told what happens in training; draws bars, writes files, decides to stop."""

    def started(self, total_steps: int, step: int) -> None: ...

    def stepped(self, step: int, figures: Mapping[str, float]) -> None: ...

    def validated(self, step: int, figures: Mapping[str, float]) -> None: ...

    def saved(self, step: int, folder: Path) -> None: ...

    def said(self, message: str) -> None:
        """A sentence for the user that is not an error (a checkpoint skipped, an early stop)."""
        ...

    def finished(self, step: int) -> None: ...


