"""How answers are told that are not written: labels with probabilities, tagged words in colour, places in a text."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from regard.cli.console import console, plain, write_json
from regard.core.errors import OptionError

if TYPE_CHECKING:
    from regard.core.seams import Answer

SHOWN = 4
"""Digits of a probability."""


def tells_labels(run: Any) -> bool:
    return hasattr(getattr(run, "task", None), "classify")


def tell_labels(
    inputs: Sequence[str], answers: Sequence[Sequence[Answer]], n_best: int, *, as_json: bool
) -> None:
    """The label of each text and its probability; with --n-best so many labels, with the text's number and rank."""
    kept = [list(own[:n_best]) for own in answers]
    if as_json:
        labels = [[one.text for one in own] if n_best > 1 else (own[0].text if own else "") for own in kept]
        shares = [{one.text: one.score for one in own} for own in answers]
        write_json({"inputs": list(inputs), "outputs": labels, "probabilities": shares})
        return
    for number, own in enumerate(kept, start=1):
        if not own:
            sys.stdout.write("\n")
        for rank, one in enumerate(own, start=1):
            place = f"{number}\t{rank}\t" if n_best > 1 else ""
            style = "bold" if rank == 1 else "dim"
            tell(f"{place}[{style}]{plain(one.text)}[/{style}]\t{one.score:.{SHOWN}f}")


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
