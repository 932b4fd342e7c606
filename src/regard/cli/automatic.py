"""Files instead of a recipe: looks at them, says what they hold, and makes a recipe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from regard.cli.console import escape_markup, notes, say
from regard.core.errors import OptionError

if TYPE_CHECKING:
    from regard.data.discovery.found import Hints
    from regard.runs.automatic.proposal import Proposal
    from regard.runs.budget import Deadline
    from regard.runs.recipe import Recipe
    from regard.runs.train import Decide, Gathered

USUAL_BUDGET = "30m"
"""Where files are given and no time: enough for most of the quality on two cores."""


class Automatic(NamedTuple):
    """A recipe whose size and steps are still to be measured."""

    recipe: Recipe
    decide: Decide
    proposal: Callable[[], Proposal]  # once it is decided


def is_recipe(given: Sequence[str]) -> bool:
    """Whether the words of the command line name a recipe, and not files to learn from."""
    from regard.runs.recipe import recipes

    return len(given) == 1 and (given[0] in recipes() or given[0].endswith(".toml") or not Path(given[0]).exists())


def from_files(
    given: Sequence[str], hints: Hints, settings: Sequence[str], deadline: Deadline, report: Callable[[str], None]
) -> Automatic:
    """Looks at the files and says what it sees; what is left to decide waits for the data."""
    from regard.data.discovery.looking import discover
    from regard.runs.automatic.questions import propose
    from regard.runs.automatic.sizes import decide_size

    report("looking at the files")
    found = discover([Path(one) for one in given], hints)
    for line in found.observations:
        say(f"[dim]found[/dim]    {escape_markup(line)}", to=notes)
    for line in found.reasons:
        say(f"[dim]so[/dim]       {escape_markup(line)}", to=notes)
    for line in found.warnings:
        say(f"[yellow]note[/yellow]     {escape_markup(line)}", to=notes)
    proposal = propose(found, Path(given[0]).resolve().name.split(".")[0] or "recipe")
    decided = [proposal]

    def decide(gathered: Gathered) -> Recipe:
        made, recipe = decide_size(proposal, gathered, deadline, settings, report)
        decided.append(made)
        for one in made.decisions:
            why = f"  [dim]{escape_markup(one.reason)}[/dim]" if one.reason else ""
            say(f"[dim]decided[/dim]  {escape_markup(one.line())}{why}", to=notes)
        return recipe

    return Automatic(proposal.first().recipe(*settings), decide, lambda: decided[-1])


def check_files(given: Sequence[str], named: Sequence[str]) -> None:
    """Options about columns belong to files."""
    if named and is_recipe(given):
        raise OptionError(
            f"{', '.join(named)} describe files to train on; with a recipe, set its "
            "[data] keys instead: --set data.KEY=VALUE"
        )
