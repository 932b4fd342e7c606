"""What tasks that write down what is heard share: inputs with texts, scores, and simple methods beside the model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

from regard.core.batch import Examples
from regard.core.errors import DataError, OptionError
from regard.core.metrics import Metric, share
from regard.core.seams.modality import Modality
from regard.core.seams.task import Session
from regard.core.yardsticks import Yardstick
from regard.data.corpus import Corpus, Pair
from regard.data.examples import HasTarget
from regard.data.modalities.both import Modalities
from regard.data.modalities.text.modality import TextModality
from regard.tasks import TaskPart
from regard.tasks.baselines.likely_characters import fit_likely_characters
from regard.tasks.metrics.bleu import Comparison
from regard.tasks.metrics.transcripts import paired_transcripts, transcript_figures
from regard.tasks.whole_inputs import WholeInputs

MOST = 20_000
"""Training texts that the likely characters are counted in."""


class TranscriptPart(TaskPart):
    """A task from sounds, or what else is read step by step, to texts."""

    headline = (
        Metric("character_error_rate", "character error rate", digits=1, percent=True, higher_is_better=False),
        Metric("word_error_rate", "word error rate", digits=1, percent=True, higher_is_better=False),
        share("exact_match", "exact match"),
    )
    writes_text = True
    reads: ClassVar[str]  # what it reads, in the words of a message
    for_texts: ClassVar[str]  # what to choose where both sides are texts

    def check_sides(self, modalities: Modalities) -> TextModality:
        """Where texts are read, they are written with other tasks."""
        if isinstance(modalities.input, TextModality) or not isinstance(modalities.output, TextModality):
            raise OptionError(
                f'task.kind = "{self.kind}" reads {self.reads} and writes texts; for texts on both sides choose '
                f"{self.for_texts}"
            )
        return modalities.output

    def check_targets(self, corpus: Corpus[Any]) -> None:
        if any(not isinstance(one, HasTarget) for own in corpus.splits.values() for one in own[:1]):
            raise DataError(
                f'task.kind = "{self.kind}" learns from inputs with a text each; choose data.kind = "speech" (a table '
                "of paths and texts) or keypad"
            )


class TranscriptTask(ABC):
    """The base of tasks over one corpus of inputs and their texts; what is read is the modality's business.

    ``encode`` makes of a text what a model learns to write.
    """

    additive = True

    def __init__(
        self,
        config: TranscriptPart,
        corpus: Corpus[Any],
        modalities: Modalities,
        seed: int,
        encode: Callable[[HasTarget], Any],
    ) -> None:
        self.corpus, self.modalities = corpus, modalities
        self.tokenizer = config.check_sides(modalities).tokenizer
        config.check_targets(corpus)
        self.inputs = WholeInputs(corpus, modalities.input.limited(0, "start"), encode, seed)

    def examples(self, split: str, epoch: int) -> Examples:
        return self.inputs.examples(split, epoch)

    @abstractmethod
    def judge(self, session: Session, examples: Sequence[Any], encoded: Examples) -> dict[str, Any]:
        """The scores of these examples."""

    def score(self, session: Session, split: str) -> dict[str, Any]:
        return self.judge(session, self.corpus.splits[split], self.inputs.encoded[split])

    def score_pairs(self, session: Session, pairs: Sequence[Pair]) -> dict[str, Any]:
        """The same for inputs and texts that a user gives."""
        given = [GivenText.of(pair, self.inputs.modality) for pair in pairs]
        return self.judge(session, given, self.inputs.split(given))

    def yardsticks(self, corpus: Corpus[Any], split: str) -> Mapping[str, Yardstick]:
        """Always the same likely characters; and the methods that the data itself knows for what it makes."""
        training, scored = corpus.splits["train"], corpus.splits[split]
        references = [one.target for one in scored]
        texts = [one.target for one in training[:MOST]]
        always = fit_likely_characters(texts)
        found = {
            "always the most likely characters": Yardstick(
                transcript_figures([always] * len(scored), references), f"{len(texts):,} texts"
            )
        }
        for name, method in corpus.methods.items():
            fitted = method.fit([one.input for one in training], [one.target for one in training])
            answers = [fitted(one.input) for one in scored]
            found[name] = Yardstick(transcript_figures(answers, references), method.fitted_on(len(training)))
        return found

    def compare(self, pairs: Sequence[Any], first: Sequence[str], second: Sequence[str]) -> Comparison:
        """Two runs' answers to the same inputs: is the difference more than chance?"""
        return paired_transcripts(first, second, [pair.target for pair in pairs])


class GivenText(NamedTuple):
    """An input and the text that a user gives it."""

    input: Any
    target: str
    source: str
    line: int
    origin: str

    @classmethod
    def of(cls, pair: Pair, modality: Modality) -> Self:
        return cls(modality.parse(pair.source), pair.target, pair.source, pair.line, pair.origin)
