"""How answers are told that are not written: labels with probabilities, tagged words in colour, places in a text."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from rich.text import Text

from regard.cli.console import console, plain, write_json
from regard.core.errors import OptionError

SHOWN = 4
"""Digits of a probability."""
COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "red", "bright_cyan", "bright_magenta", "bright_yellow")


def chooses(run: Any) -> bool:
    """Whether a run's answers are chosen among what is there, not written."""
    return any(hasattr(getattr(run, "task", None), name) for name in TOLD)


def tell_choices(run: Any, inputs: Sequence[str], n_best: int, progress: Any, *, as_json: bool) -> None:
    """One line in, one line out; an empty line has no answer."""
    method = next(name for name in TOLD if hasattr(run.task, name))
    filled = [place for place, text in enumerate(inputs) if text.strip()]
    found = getattr(run.task, method)(run.model, [inputs[place] for place in filled], run.device, progress)
    answers: list[Any] = [[] for _ in inputs]
    for place, own in zip(filled, found, strict=True):
        answers[place] = own
    TOLD[method](inputs, answers, n_best, as_json=as_json)


def tell_labels(
    inputs: Sequence[str], answers: Sequence[Sequence[tuple[str, float]]], n_best: int, *, as_json: bool
) -> None:
    """The label of each text and its probability; with --n-best so many labels, with the text's number and rank."""
    kept = [list(own[:n_best]) for own in answers]
    if as_json:
        labels = [[label for label, _ in own] if n_best > 1 else (own[0][0] if own else "") for own in kept]
        write_json({"inputs": list(inputs), "outputs": labels, "probabilities": [dict(own) for own in answers]})
        return
    for number, own in enumerate(kept, start=1):
        if not own:
            sys.stdout.write("\n")
        for rank, (label, share) in enumerate(own, start=1):
            place = f"{number}\t{rank}\t" if n_best > 1 else ""
            style = "bold" if rank == 1 else "dim"
            tell(f"{place}[{style}]{plain(label)}[/{style}]\t{share:.{SHOWN}f}")


def tell_tags(inputs: Sequence[str], tagged: Sequence[Sequence[Any]], n_best: int, *, as_json: bool) -> None:
    """Each word with its tag, in the tag's colour; in a file or another program word/TAG."""
    if as_json:
        words = [
            [{"word": one.word, "tag": one.tag, "probability": one.probability, "start": one.start, "stop": one.stop}
             for one in own]
            for own in tagged
        ]  # fmt: skip
        outputs = [" ".join(f"{one.word}/{one.tag}" for one in own) for own in tagged]
        write_json({"inputs": list(inputs), "outputs": outputs, "words": words})
        return
    kinds = sorted({one.tag.removeprefix("B-").removeprefix("I-") for own in tagged for one in own} - {"O"})
    colours = {kind: COLOURS[place % len(COLOURS)] for place, kind in enumerate(kinds)}
    for own in tagged:
        tell(" ".join(_tagged(one, colours) for one in own))


def _tagged(one: Any, colours: dict[str, str]) -> str:
    colour = colours.get(one.tag.removeprefix("B-").removeprefix("I-"))
    word = plain(one.word)
    return f"[{colour}]{word}[/{colour}][dim]/{plain(one.tag)}[/dim]" if colour else f"{word}[dim]/{one.tag}[/dim]"


def tell(marked: str) -> None:
    """In colour for whoever looks; for a file or another program with its tabs as they are."""
    if console.is_terminal:
        console.print(marked, soft_wrap=True)
    else:
        sys.stdout.write(f"{Text.from_markup(marked).plain}\n")


def refuse_decoding(task: Any, **given: Any) -> None:
    """Whoever chooses among labels or places searches for no words."""
    named = [f"--{name.replace('_', '-')}" for name, value in given.items() if value]
    if named:
        raise OptionError(
            f"{', '.join(named)} belong to runs that write answers; this one ({task.config.kind}) chooses among what "
            "is there: leave them out"
        )


TOLD: dict[str, Any] = {"classify": tell_labels, "tag": tell_tags}
"""What a task can do, and how it is told."""
