"""``regard train``: a recipe becomes a run folder."""

from __future__ import annotations

import json
import math
import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from regard.cli.console import JSON_OPTION, TrainingBar, notes, plain, say, write_json
from regard.cli.ranks import shared
from regard.core.errors import OptionError

if TYPE_CHECKING:
    from regard.runs.recipe import Recipe
    from regard.runs.train import Decide

EXAMPLES = """\b
Examples:
  regard train small-world --out runs/first
  regard train reverse --out runs/reverse --set training.steps=300
  regard train multi30k --out runs/de --set data.folder=path/to/multi30k
  regard train bahdanau --out runs/bahdanau --budget 5m
  regard train mood --from runs/bert --out runs/mood --set training.learning_rate=3e-4
  regard train runs/first/recipe.toml --out runs/first --resume
  regard train copy --out runs/copy --ranks 2
"""


def train(
    recipe: str = typer.Argument(help="Shipped recipe (see: regard recipes list) or a TOML file."),
    out: Path = typer.Option(..., "--out", metavar="FOLDER", help="Run folder to create."),
    settings: list[str] = typer.Option(
        [], "--set", metavar="A.B=C", help="Override a value by its path; repeatable."
    ),
    start: Path = typer.Option(
        None, "--from", metavar="RUN",
        help="Start from the model, tokenizer and weights of this run; task heads are new."
    ),
    resume: bool = typer.Option(
        False, "--resume", metavar="", help="Continue from the newest complete checkpoint in the folder."
    ),
    budget: str = typer.Option(
        "", "--budget", metavar="TIME", help="90s, 10m or 1h, turned into steps by a short measurement; or 2000steps."
    ),
    ranks: int = typer.Option(
        1, "--ranks", metavar="N", min=1, help="Number of processes on this machine that share every step.",
        show_default=False,
    ),
    as_json: bool = JSON_OPTION,
) -> None:
    """Train a model; Ctrl-C saves a checkpoint first."""
    if ranks > 1 and budget:
        raise OptionError("--budget measures one process; with --ranks say how many steps: --set training.steps=N")
    words = ["train", recipe, "--out", str(out), *(word for one in settings for word in ("--set", one))]
    words += [*(["--from", str(start)] if start is not None else []), *(["--resume"] if resume else [])]
    with shared(ranks, words):
        train_here(recipe, out, settings, start, budget, resume=resume, as_json=as_json)


def train_here(
    recipe: str, out: Path, settings: list[str], start: Path | None, budget: str, *, resume: bool, as_json: bool
) -> None:
    """The same in this process, be it alone or one of several."""
    from regard.runs.recipe import Recipe
    from regard.runs.starting import start_from
    from regard.runs.train import train as run_training
    from regard.training.stopping import Interrupted

    began = time.monotonic()
    if start is not None:
        settings = [*settings, f"start.run={json.dumps(str(start))}"]
    chosen = start_from(Recipe.read(recipe, settings), settings)
    bar, decide = TrainingBar(out), None
    if budget:
        chosen, decide = within_budget(chosen, budget, bar, began)
    try:
        with bar:
            trained = run_training(chosen, out, resume=resume, observers=[bar], decide=decide)
    except Interrupted as stop:
        again = plain(f"regard train {out}/recipe.toml --out {out} --resume")
        say(f"stopped and saved after step {stop.step}; go on with:\n{again}", to=notes)
        raise typer.Exit(130) from None
    if os.environ.get("RANK", "0") != "0":
        return  # under torchrun the leading process speaks for all
    if not bar.total:
        say("this run was finished already; nothing was done", to=notes)
    page = analysed(out) if bar.total and chosen.task.explains_itself else None
    if as_json:
        write_json(asdict(trained))
        return
    loss = trained.validation_loss
    say(
        f"[bold]{plain(trained.run)}[/bold]: {trained.steps} steps in {trained.seconds:,.0f} s "
        f"({trained.tokens_per_second:,.0f} tokens/s)"
        + (f", validation loss {loss:.4f}" if math.isfinite(loss) else ", without validation")
    )
    if page is not None:
        say(plain(f"what it has learned: {page}"))
    asked = chosen.task.example(chosen.tokenizer) if chosen.input.is_text else chosen.input.example
    say(plain(f"next: regard evaluate {out}\n      regard predict {out} {asked}"), style="dim")


def analysed(out: Path) -> Path:
    """The page about what has just been trained."""
    from regard.inspection.reports.writing import write_analysis
    from regard.inspection.reports.writing_page import writing_page
    from regard.runs.load import load

    run = load(out)
    with notes.status("looking at what it has learned"):
        return write_analysis(run, writing_page)


def within_budget(recipe: Recipe, budget: str, bar: TrainingBar, began: float) -> tuple[Recipe, Decide | None]:
    """The recipe with as many steps as the budget says, or with what will decide them once the data is read."""
    from regard.runs.budget import Budget, Deadline, with_steps, within, without_steps

    given = Budget.parse(budget)
    if given.steps:
        return with_steps(recipe, given.steps), None
    return without_steps(recipe), within(Deadline(given.seconds, began), bar.on_message)


train.__doc__ = f"{train.__doc__}\n\n{EXAMPLES}"
