"""How answers are told that are not written: labels with probabilities, tagged words in colour, places in a text."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from regard.cli.console import console, plain, write_json
from regard.core.errors import OptionError

if TYPE_CHECKING:
    from regard.core.answers import LabelAnswer, SpanAnswer, TaggedWord, TagsAnswer
    from regard.core.task import Progress
    from regard.decoding.options import Strategy
    from regard.runs.load import Run

SHOWN = 4
"""Digits of a probability."""
AROUND = 60
"""Characters of the context that are shown on either side of an answer."""
COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "red", "bright_cyan", "bright_magenta", "bright_yellow")


def chooses(run: Run) -> bool:
    """Whether a run's answers are chosen among what is there, not written."""
    from regard.core.capabilities import AnswersQuestions, Classifies, Tags

    return isinstance(run.task, Classifies | Tags | AnswersQuestions)


def print_choices(
    run: Run, inputs: Sequence[str], n_best: int, options: Strategy, progress: Progress | None, *, as_json: bool
) -> None:
    """One line in, one line out; an empty line has no answer."""
    from regard.core.capabilities import Classifies, Tags

    answers = spread(inputs, lambda texts: run.answers(texts, options, progress))
    if isinstance(run.task, Classifies):
        print_labels(inputs, answers, n_best, as_json=as_json)
    elif isinstance(run.task, Tags):
        print_tags(inputs, answers, n_best, as_json=as_json)
    else:
        print_spans(inputs, answers, n_best, as_json=as_json)


def spread(inputs: Sequence[str], find: Callable[[list[str]], Sequence[Any]]) -> list[Any]:
    """What ``find`` says about each input; of an empty one nothing."""
    filled = [place for place, text in enumerate(inputs) if text.strip()]
    answers: list[Any] = [[] for _ in inputs]
    for place, own in zip(filled, find([inputs[place] for place in filled]), strict=True):
        answers[place] = own
    return answers


def lead(number: int, rank: int, n_best: int) -> str:
    """With --n-best the text's number and the rank come first."""
    return f"{number}\t{rank}\t" if n_best > 1 else ""


def print_labels(inputs: Sequence[str], answers: list[list[LabelAnswer]], n_best: int, *, as_json: bool) -> None:
    """The label of each input and its probability."""
    kept = [own[:n_best] for own in answers]
    if as_json:
        labels = [[one.label for one in own] if n_best > 1 else (own[0].label if own else "") for own in kept]
        probabilities = [{one.label: one.score for one in own} for own in answers]
        write_json({"inputs": list(inputs), "outputs": labels, "probabilities": probabilities})
        return
    for number, own in enumerate(kept, start=1):
        if not own:
            tell("")
        for rank, one in enumerate(own, start=1):
            style = "bold" if rank == 1 else "dim"
            tell(f"{lead(number, rank, n_best)}[{style}]{plain(one.label)}[/{style}]\t{one.score:.{SHOWN}f}")


def print_tags(inputs: Sequence[str], answers: list[list[TagsAnswer]], n_best: int, *, as_json: bool) -> None:
    """Each word with its tag, in the tag's colour; in a file or another program word/TAG."""
    tagged = [own[0].words if own else () for own in answers]
    if as_json:
        outputs = [" ".join(f"{one.word}/{one.tag}" for one in own) for own in tagged]
        words = [[one._asdict() for one in own] for own in tagged]
        write_json({"inputs": list(inputs), "outputs": outputs, "words": words})
        return
    kinds = sorted({kind_of(one.tag) for own in tagged for one in own} - {"O"})
    colours = {kind: COLOURS[place % len(COLOURS)] for place, kind in enumerate(kinds)}
    for own in tagged:
        tell(" ".join(_tagged(one, colours) for one in own))


def kind_of(tag: str) -> str:
    return tag.removeprefix("B-").removeprefix("I-")


def _tagged(one: TaggedWord, colours: dict[str, str]) -> str:
    colour = colours.get(kind_of(one.tag))
    word = plain(one.word)
    return f"[{colour}]{word}[/{colour}][dim]/{plain(one.tag)}[/dim]" if colour else f"{word}[dim]/{one.tag}[/dim]"


def print_spans(inputs: Sequence[str], answers: list[list[SpanAnswer]], n_best: int, *, as_json: bool) -> None:
    """The answer, its probability and the characters of the context between which it stands, counted from 0."""
    if as_json:
        found = [[{"text": one.text, "probability": one.probability, "start": one.start, "stop": one.stop}
                  for one in own] for own in answers]  # fmt: skip
        outputs = [[one.text for one in own] if n_best > 1 else (own[0].text if own else "") for own in answers]
        write_json({"inputs": list(inputs), "outputs": outputs, "answers": found})
        return
    for number, (given, own) in enumerate(zip(inputs, answers, strict=True), start=1):
        if not own:
            tell("")
        for rank, one in enumerate(own, start=1):
            text = " ".join(one.text.split())
            tell(f"{lead(number, rank, n_best)}[bold]{plain(text)}[/bold]\t{one.probability:.{SHOWN}f}\t"
                 f"[dim]{one.start}-{one.stop}[/dim]")  # fmt: skip
            if console.is_terminal and rank == 1 and one.text:
                context = given.split("\t", 1)[1]
                before, after = context[max(0, one.start - AROUND) : one.start], context[one.stop : one.stop + AROUND]
                tell(f"  [dim]…{plain(before)}[/dim][bold]{plain(one.text)}[/bold][dim]{plain(after)}…[/dim]")


def tell(marked: str) -> None:
    """In colour for whoever looks; for a file or another program with its tabs as they are."""
    if console.is_terminal:
        console.print(marked, soft_wrap=True)
    else:
        sys.stdout.write(f"{Text.from_markup(marked).plain}\n")


def check_no_decoding(run: Run, named: Sequence[str]) -> None:
    """Whoever chooses among labels or places searches for no words."""
    if named:
        raise OptionError(
            f"{', '.join(named)} belong to runs that write answers; this one ({run.recipe.task.kind}) chooses among "
            "what is there: leave them out"
        )
