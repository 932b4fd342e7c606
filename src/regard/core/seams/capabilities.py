"""Capabilities that a task may have beyond its six methods: small Protocols, tested by ``isinstance``.

A task that has the methods of a capability has the capability; ``tests/laws`` holds every task to what it declares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from regard.core.answers import Answer, LabelAnswer, NumberAnswer, NumbersAnswer, SpanAnswer, TagsAnswer

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor, nn

    from regard.core.metrics import Details
    from regard.core.probe import Probe
    from regard.core.seams.task import Session, Sums
    from regard.core.yardsticks import Yardstick
    from regard.data.corpus import Corpus, Pair
    from regard.decoding.engine import TorchEngine
    from regard.layers.losses.distillation import Softening
    from regard.tasks.masked.filling import Filling
    from regard.tasks.metrics.bleu import Comparison
    from regard.tasks.running.continuation import Continuation
    from regard.tasks.translation import Translation


@runtime_checkable
class HasHead(Protocol):
    """Its model is a body with a head, which takes the place of the body's own output layers."""

    def head(self, body: Any) -> nn.Module: ...


@runtime_checkable
class Distils(Protocol):
    """Can learn from another model of the same task beside its examples."""

    def check_taught(self, teacher: Any) -> None:
        """Refuses a task whose answers are others, and settings that would have no effect beside a teacher."""
        ...

    def distilled(self, model: Any, teacher: Any, batch: Any, softening: Softening) -> Sums:
        """The sums of training with that model beside."""
        ...


@runtime_checkable
class ChecksLengths(Protocol):
    """Refuses, before the first step, examples that the model has no positions for, or a training step no tokens."""

    def check_lengths(self, model: Any, batch_tokens: int) -> None: ...


@runtime_checkable
class Stateful(Protocol):
    """Keeps something from step to step (the state of streams that are read on), which checkpoints must hold."""

    def state_dict(self) -> dict[str, Tensor]: ...

    def load_state_dict(self, tensors: Mapping[str, Tensor]) -> None: ...


@runtime_checkable
class Derives(Protocol):
    """Has figures that are no means over examples but follow from them, such as perplexity."""

    def derived(self, split: str, means: Mapping[str, float]) -> dict[str, float]: ...


@runtime_checkable
class Samples(Protocol):
    """Shows after each validation what the model writes now."""

    def sample(self, model: Any, device: Any) -> str: ...


@runtime_checkable
class Compares(Protocol):
    """Tests whether two systems' answers to the same inputs differ by more than chance."""

    def compare(self, pairs: Sequence[Any], first: Sequence[str], second: Sequence[str]) -> Comparison: ...


@runtime_checkable
class ScoresInDetail(Protocol):
    """Keeps what the scores of a split come from. Law: the scores are those of ``score``."""

    def score_in_detail(self, session: Session, split: str) -> Details: ...


@runtime_checkable
class ScoresPairs(Protocol):
    """Scores inputs with references that a user gives."""

    def score_pairs(self, session: Session, pairs: Sequence[Pair]) -> dict[str, Any]: ...


@runtime_checkable
class HasYardsticks(Protocol):
    """Says how far simple methods come that are fitted on the training split in seconds, by the name of the method.

    Law: the same corpus gives the same figures, which are among those of ``score``.
    """

    def yardsticks(self, corpus: Corpus[Any], split: str) -> Mapping[str, Yardstick]: ...


@runtime_checkable
class Translates(Protocol):
    """Goes from a source to a target that is searched for token by token; ``translation`` is the task that does it."""

    @property
    def translation(self) -> Translation: ...

    def engine(self, model: Any, device: Any) -> TorchEngine: ...

    def encode_pairs(self, pairs: Sequence[Pair]) -> Sequence[Any]: ...

    def as_written(self, sources: Sequence[str], targets: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        """Given texts as the model reads and writes them, where answers are shown in another form."""
        ...


@runtime_checkable
class Continues(Protocol):
    """Writes on from a prompt."""

    def continuation(self, session: Session) -> Continuation: ...


@runtime_checkable
class Fills(Protocol):
    """Guesses what is hidden behind masks."""

    def filling(self, session: Session) -> Filling: ...


@runtime_checkable
class Classifies(Protocol):
    """Says which class an input belongs to."""

    def classify(self, session: Session, inputs: Sequence[Any], figure: str = "softmax") -> list[list[LabelAnswer]]: ...


@runtime_checkable
class EstimatesNumbers(Protocol):
    """Says of an input one number, or a few."""

    def estimate(self, session: Session, inputs: Sequence[Any]) -> list[NumberAnswer]: ...


@runtime_checkable
class Transcribes(Protocol):
    """Writes down what is heard."""

    def transcribe(self, session: Session, inputs: Sequence[Any]) -> list[list[Answer]]:
        """For each input its texts, the most probable first."""
        ...


@runtime_checkable
class Forecasts(Protocol):
    """Says what comes next, with how certain that is."""

    def forecast(self, session: Session, inputs: Sequence[Any]) -> list[NumbersAnswer]: ...


@runtime_checkable
class Tags(Protocol):
    """Says of every word of a text which tag it has."""

    def tag(self, session: Session, texts: Sequence[str]) -> list[TagsAnswer]: ...


@runtime_checkable
class AnswersQuestions(Protocol):
    """Finds answers to questions in their contexts."""

    def answer(
        self, session: Session, asked: Sequence[tuple[str, str]], n_best: int = 1
    ) -> list[list[SpanAnswer]]: ...


@runtime_checkable
class ParsesInputs(Protocol):
    """Is asked about something else than its modality's whole inputs (a node of a graph), and says how one types that.
    """

    def parse(self, argument: str) -> Any:
        """A word of the command line as ``predict`` takes it."""
        ...

    def members(self, argument: str) -> Sequence[str]:
        """The words for everything that a word stands for; itself where that is one."""
        ...


@runtime_checkable
class HasLabels(Protocol):
    """Chooses among named labels, in the order of its logits."""

    @property
    def labels(self) -> tuple[str, ...]: ...


@runtime_checkable
class Probeable(Protocol):
    """Makes of inputs what its model is asked, for those who look inside, check and export.

    Law: the model is asked the same as in training; rows that are asked together answer as each alone.
    """

    def probe(self, session: Session, raw: Any, target: str = "") -> Probe:
        """One raw input; where an answer is read beside it, with the target, or the answer that the model finds."""
        ...

    def probe_examples(self, session: Session, items: Sequence[Any]) -> Probe:
        """Encoded examples side by side, as ``examples`` gives them; the axes are those of the first."""
        ...

    def random_examples(
        self, session: Session, generator: np.random.Generator, rows: int, length: int
    ) -> Sequence[Any]:
        """Examples of no meaning, of different sizes where they have some, at most ``length`` positions long."""
        ...
