"""``regard init``: writes a recipe for files of your own, with the reason for every choice."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import typer

from regard.cli.automatic import USUAL_BUDGET, from_files, is_recipe
from regard.cli.console import JSON_OPTION, escape_markup, notes, say, write_json
from regard.cli.options.columns import NO_HINTS, with_columns
from regard.core.errors import OptionError

EXAMPLES = """\b
Examples:
  regard init mails.csv --out mails.toml
  regard init train.de train.en --budget 10m --out captions.toml
  regard init pictures/ --out pictures.toml
  regard init words.tsv --source-column word --target-column pronunciation --out words.toml
"""


@with_columns
def init(
    files: list[str] = typer.Argument(help="Files or a folder to learn from."),
    out: Path = typer.Option(..., "--out", metavar="FILE", help="Recipe to write."),
    budget: str = typer.Option(USUAL_BUDGET, "--budget", metavar="TIME", help="How long training may take."),
    hints: Mapping[str, str] = NO_HINTS,
    settings: list[str] = typer.Option([], "--set", metavar="A.B=C", help="Fix a value by its path; repeatable."),
    as_json: bool = JSON_OPTION,
) -> None:
    """Write a recipe for files of your own: look at them, measure this machine, give reasons for all choices."""
    from regard.data.discovery.found import Hints
    from regard.data.readers import missing_files
    from regard.runs.budget import Budget, Deadline
    from regard.runs.folder import RunFolder
    from regard.runs.recipe import recipes
    from regard.runs.train import gather
    from regard.training import machine
    from regard.training.observers import Observers

    if is_recipe(files):
        if files[0] not in recipes() and not Path(files[0]).exists():
            raise missing_files([Path(files[0])])
        raise OptionError(f"{files[0]} is a recipe; init takes files: a table, texts, pictures")
    if out.exists():
        raise OptionError(f"{out} exists; choose another --out, or remove it first")
    given = Budget.parse(budget)
    if not given.seconds:
        raise OptionError(f"--budget is a time here, as 10m; found {budget!r}")

    def report(text: str) -> None:
        say(f"[dim]{escape_markup(text)} …[/dim]", to=notes)

    deadline = Deadline(given.seconds, time.monotonic())
    made = from_files(files, Hints(**hints), settings, deadline, report)
    machine.tune_allocator()
    machine.set_threads(made.recipe.training.threads)
    with tempfile.TemporaryDirectory() as folder:
        report("reading the data")
        made.decide(gather(made.recipe, RunFolder(Path(folder)), machine.Ranks(), Observers()))
    text = made.proposal().to_toml()
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")
    if as_json:
        write_json({"recipe": str(out), "toml": text})
        return
    say(f"[bold]{escape_markup(out)}[/bold] is written", to=notes)
    say(escape_markup(f"next: regard train {out} --out runs/{out.stem}"), style="dim")


init.__doc__ = f"{init.__doc__}\n\n{EXAMPLES}"
