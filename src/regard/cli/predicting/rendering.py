"""How answers are printed, by their type: texts, labels with probabilities, tagged words, spans of a context."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

from rich.text import Text

from regard.cli.console import console, escape_markup

if TYPE_CHECKING:
    from regard.cli.predicting.answering import Answered
    from regard.core.answers import LabelAnswer, NumberAnswer, SpanAnswer, TaggedWord, TagsAnswer
    from regard.core.seams.task import Task

DIGITS = 4
"""Of a probability."""
AROUND = 60
"""Characters of the context that are shown on either side of an answer."""
COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "red", "bright_cyan", "bright_magenta", "bright_yellow")
LINE_ENDS = str.maketrans("\r\n", "  ")


class Rendering(Protocol):
    """One line in, one line out; with several answers as many lines, each begun by the input's number and a rank."""

    @property
    def names(self) -> Sequence[str]:
        """The keys of a record."""
        ...

    def shown(self, one: Answered) -> str:
        """Whole lines, in colour for whoever looks."""
        ...

    def record(self, one: Answered) -> dict[str, Any]:
        """What JSON says of it, under the names of the lists that it goes into."""
        ...


def rendering_of(task: Task, n_best: int, *, scores: bool, alignment: bool) -> Rendering:
    """The one for what a task answers."""
    from regard.cli.predicting.forecasts import Steps
    from regard.core.seams.capabilities import (
        AnswersQuestions,
        Classifies,
        EstimatesNumbers,
        Forecasts,
        HasLabels,
        Tags,
    )

    if isinstance(task, Forecasts):
        return Steps()
    if isinstance(task, Classifies):
        return Labels(n_best)
    if isinstance(task, Tags):
        return TaggedWords(task.labels if isinstance(task, HasLabels) else ())
    if isinstance(task, AnswersQuestions):
        return Spans(n_best)
    if isinstance(task, EstimatesNumbers):
        return Numbers()
    return Texts(n_best, scores, alignment)


@dataclass(frozen=True)
class Texts:
    """Answers as they are written, the log-probability before and word links behind, if wanted, parted by tabs.

    A model of bytes or characters may write the end of a line: it becomes a space, or lines would shift.
    """

    n_best: int = 1
    scores: bool = False
    alignment: bool = False

    @property
    def names(self) -> Sequence[str]:
        return ["inputs", "outputs", *(["scores"] if self.scores else []), *(["alignments"] if self.alignment else [])]

    def shown(self, one: Answered) -> str:
        lines = []
        for rank, answer in enumerate(one.answers, start=1):
            fields = [f"{answer.log_probability:.4f}"] if self.scores else []
            fields.append(answer.text.translate(LINE_ENDS))
            if one.links is not None and rank == 1:
                fields.append(" ".join(f"{source}-{target}" for source, target in one.links))
            lines.append(prefix(one.number, rank, self.n_best) + "\t".join(fields) + "\n")
        return "".join(lines) or "\n"

    def record(self, one: Answered) -> dict[str, Any]:
        found = {"inputs": one.text, "outputs": outputs([answer.text for answer in one.answers], self.n_best)}
        if self.scores:
            totals = [answer.log_probability for answer in one.answers]
            found["scores"] = totals if self.n_best > 1 else (totals or [0.0])[0]
        if self.alignment:
            found["alignments"] = one.links
        return found


@dataclass(frozen=True)
class Labels:
    """The label of each input and its probability."""

    n_best: int = 1
    names: ClassVar[Sequence[str]] = ("inputs", "outputs", "probabilities")

    def shown(self, one: Answered) -> str:
        return marked(
            f"{prefix(one.number, rank, self.n_best)}[{style}]{escape_markup(label.text)}[/{style}]"
            f"\t{label.score:.{DIGITS}f}"
            for rank, (label, style) in enumerate(zip(self.kept(one), ("bold", *["dim"] * self.n_best)), start=1)
        )

    def record(self, one: Answered) -> dict[str, Any]:
        labels = outputs([label.text for label in self.kept(one)], self.n_best)
        return {
            "inputs": one.text, "outputs": labels, "probabilities": {every.text: every.score for every in one.answers},
        }  # fmt: skip

    def kept(self, one: Answered) -> Sequence[LabelAnswer]:
        return cast("Sequence[LabelAnswer]", one.answers[: self.n_best])


@dataclass(frozen=True)
class Numbers:
    """The number that is said of each input, or several, with spaces between them."""

    names: ClassVar[Sequence[str]] = ("inputs", "outputs")

    def shown(self, one: Answered) -> str:
        return "".join(f"{answer.text}\n" for answer in one.answers) or "\n"

    def record(self, one: Answered) -> dict[str, Any]:
        values = [value for answer in cast("Sequence[NumberAnswer]", one.answers) for value in answer.values]
        return {"inputs": one.text, "outputs": values[0] if len(values) == 1 else values}


@dataclass(frozen=True)
class TaggedWords:
    """Each word with its tag, in the tag's colour; in a file or another program word/TAG."""

    tags: Sequence[str]
    names: ClassVar[Sequence[str]] = ("inputs", "outputs", "words")

    @cached_property
    def colours(self) -> dict[str, str]:
        kinds = sorted({entity_type(tag) for tag in self.tags} - {"O"})
        return {kind: COLOURS[place % len(COLOURS)] for place, kind in enumerate(kinds)}

    def shown(self, one: Answered) -> str:
        return marked([" ".join(map(self.coloured, self.words(one)))])

    def coloured(self, one: TaggedWord) -> str:
        colour, word, tag = self.colours.get(entity_type(one.tag)), escape_markup(one.word), escape_markup(one.tag)
        return f"[{colour}]{word}[/{colour}][dim]/{tag}[/dim]" if colour else f"{word}[dim]/{tag}[/dim]"

    def record(self, one: Answered) -> dict[str, Any]:
        words = self.words(one)
        output = " ".join(f"{word.word}/{word.tag}" for word in words)
        return {"inputs": one.text, "outputs": output, "words": [word._asdict() for word in words]}

    def words(self, one: Answered) -> Sequence[TaggedWord]:
        return cast("TagsAnswer", one.answers[0]).words if one.answers else ()


@dataclass(frozen=True)
class Spans:
    """The answer, its probability and the characters of the context between which it stands, counted from 0."""

    n_best: int = 1
    names: ClassVar[Sequence[str]] = ("inputs", "outputs", "answers")

    def shown(self, one: Answered) -> str:
        lines = []
        for rank, answer in enumerate(cast("Sequence[SpanAnswer]", one.answers), start=1):
            text = escape_markup(" ".join(answer.text.split()))
            place = f"[dim]{answer.start}-{answer.stop}[/dim]"
            figures = f"{answer.probability:.{DIGITS}f}\t{place}"
            lines.append(f"{prefix(one.number, rank, self.n_best)}[bold]{text}[/bold]\t{figures}")
            if console.is_terminal and rank == 1 and answer.text:
                lines.append(shown_in_context(one.text.split("\t", 1)[1], answer))
        return marked(lines)

    def record(self, one: Answered) -> dict[str, Any]:
        found = [
            {"text": each.text, "probability": each.probability, "start": each.start, "stop": each.stop}
            for each in cast("Sequence[SpanAnswer]", one.answers)
        ]
        return {
            "inputs": one.text, "outputs": outputs([each.text for each in one.answers], self.n_best), "answers": found,
        }  # fmt: skip


def prefix(number: int, rank: int, n_best: int) -> str:
    """With --n-best the input's number and the rank come first."""
    return f"{number}\t{rank}\t" if n_best > 1 else ""


def outputs(texts: Sequence[str], n_best: int) -> Any:
    """All answers where several are wanted, else the best one."""
    return [*texts] if n_best > 1 else texts[0] if texts else ""


def entity_type(tag: str) -> str:
    return tag.removeprefix("B-").removeprefix("I-")


def shown_in_context(context: str, answer: SpanAnswer) -> str:
    before, after = context[max(0, answer.start - AROUND) : answer.start], context[answer.stop : answer.stop + AROUND]
    before, found, after = (escape_markup(part) for part in (before, answer.text, after))
    return f"  [dim]…{before}[/dim][bold]{found}[/bold][dim]{after}…[/dim]"


def marked(lines: Iterable[str]) -> str:
    """Lines with markup, in colour for whoever looks; for a file or another program with their tabs as they are."""
    found = [*lines] or [""]
    if not console.is_terminal:
        return "".join(f"{Text.from_markup(line).plain}\n" for line in found)
    with console.capture() as seen:
        for line in found:
            console.print(line, soft_wrap=True)
    return seen.get()
