"""Answers a chunk of inputs, or scores answers that the user gives; aligns words if asked to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from regard.cli.predicting.inputs import Chunk
from regard.cli.predicting.prompting import OutputStyle
from regard.core.errors import DataError, InputError

if TYPE_CHECKING:
    from regard.core.answers import Answer
    from regard.core.seams.task import Progress
    from regard.decoding.options import Strategy
    from regard.runs.load import Run

Links = list[tuple[int, int]]
TAB = "\t"
CHARACTERS_PER_TOKEN = 4


class Answered(NamedTuple):
    """An input with its number from 1, its answers, best first (of an empty text none), and links of the best one."""

    number: int
    text: str
    answers: Sequence[Answer]
    links: Links | None = None


@dataclass(frozen=True)
class Answering:
    """How a run answers: the same for every chunk."""

    run: Run
    options: Strategy
    style: OutputStyle = field(default_factory=OutputStyle)
    context: str = ""
    alignment: bool = False

    @property
    def extra_characters(self) -> int:
        """Characters that come to each input: its context, and an answer whose length does not follow the input's."""
        from regard.core.seams.capabilities import Continues
        from regard.tasks.running.continuation import USUAL_LENGTH

        written = self.options.max_length or USUAL_LENGTH if isinstance(self.run.task, Continues) else 0
        return len(self.context) + CHARACTERS_PER_TOKEN * written

    def __call__(self, chunk: Chunk, progress: Progress | None = None) -> list[Answered]:
        texts = with_context(chunk.texts, self.context) if self.context else chunk.texts
        if chunk.references is not None:
            answers = score_given(self.run, texts, chunk.references)
        elif self.style != OutputStyle():
            answers = self.style.continuations(self.run, texts, self.options, progress, chunk.first)
        else:
            answers = self.run.answers(texts, self.options, progress, first=chunk.first)
        links: Sequence[Links | None] = [None] * len(answers)
        if self.alignment:
            links = align(self.run, texts, [own[0].text if own else "" for own in answers])
        numbers = range(chunk.first + 1, chunk.first + 1 + len(answers))
        return [Answered(*one) for one in zip(numbers, texts, answers, links, strict=True)]


def score_given(run: Run, inputs: list[str], references: list[str]) -> list[list[Answer]]:
    """The given answers with their log-probabilities; a pair of two empty lines has none."""
    from regard.core.answers import Answer

    totals = [sum(pieces) for pieces in run.score(inputs, references)]
    return [
        [Answer(reference, total, total)] if source.strip() or reference.strip() else []
        for source, reference, total in zip(inputs, references, totals, strict=True)
    ]


def align(run: Run, sources: list[str], targets: list[str]) -> list[Links]:
    """Word links (source, target) by the head that evaluation chose, else by the layer before the last."""
    import numpy as np

    from regard.tasks.metrics.alignment import links_from_weights

    usable = [index for index, pair in enumerate(zip(sources, targets)) if all(text.strip() for text in pair)]
    found = run.alignment([sources[i] for i in usable], [targets[i] for i in usable])
    links: list[Links] = [[] for _ in sources]
    for index, weights in zip(usable, found, strict=True):
        head = run.alignment_head
        if head is None:
            layers = sorted({layer for layer, _ in weights.by_head})
            chosen = layers[-2] if len(layers) > 1 else layers[-1]
            matrix = np.mean([value for (layer, _), value in weights.by_head.items() if layer == chosen], axis=0)
        else:
            matrix = weights.by_head[head]
        links[index] = sorted(links_from_weights(matrix))
    return links


def read_context(file: Path) -> str:
    """The text of a file in one line, without the tabs that part it from a question."""
    from regard.data.readers import read_lines

    text = " ".join(read_lines(file)).replace(TAB, " ")
    if not text.strip():
        raise DataError(f"{file} is empty; --context takes a file with the text that the questions are about")
    return text


def with_context(questions: list[str], context: str) -> list[str]:
    """Every question with the context behind it; an empty question stays empty."""
    both = {place: "" for place, question in enumerate(questions) if TAB in question}
    if both:
        raise InputError("--context gives the context, and there is another one after a tab in", both, "leave one out")
    return [f"{question}{TAB}{context}" if question.strip() else "" for question in questions]
