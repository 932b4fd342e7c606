"""``regard train``: trains a recipe, or files of your own, into a run folder."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from regard.cli.automatic import USUAL_BUDGET, check_files, from_files, is_recipe
from regard.cli.console import JSON_OPTION, TrainingBar, escape_markup, flag, notes, say, write_json
from regard.cli.options.columns import NO_HINTS, with_columns
from regard.cli.options.ranks import launch_ranks
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
  regard train mails.csv --out runs/mails --budget 10m
  regard train words.tsv --source-column word --target-column sound --out runs/words
  regard train pictures/ --out runs/pictures
  regard train mood --from runs/bert --out runs/mood --set training.learning_rate=3e-4
  regard train runs/first/recipe.toml --out runs/first --resume
  regard train copy --out runs/copy --ranks 2
"""


@with_columns
def train(
    recipe: list[str] = typer.Argument(
        metavar="RECIPE|FILE…",
        help="Shipped recipe (see: regard recipes list), a TOML file, or files of your own: a table, texts, pictures.",
    ),
    out: Path = typer.Option(..., "--out", metavar="FOLDER", help="Run folder to create."),
    settings: list[str] = typer.Option(
        [], "--set", metavar="A.B=C", help="Override a value by its path; repeatable."
    ),
    start: Path = typer.Option(
        None, "--from", metavar="RUN",
        help="Start from the model, tokenizer and weights of this run; task heads are new."
    ),
    resume: bool = flag("--resume", "Continue from the newest complete checkpoint in the folder."),
    budget: str = typer.Option(
        "", "--budget", metavar="TIME",
        help="Time for everything, as in 90s, 10m or 1h, turned into steps by a short measurement (default for files: "
        "30m); or steps, as in 2000steps.",
    ),
    hints: Mapping[str, str] = NO_HINTS,
    ranks: int = typer.Option(
        1, "--ranks", metavar="N", min=1, help="Number of processes on this machine that share every step.",
        show_default=False,
    ),
    as_json: bool = JSON_OPTION,
) -> None:
    """Train a model from a recipe or from files of your own; Ctrl-C saves a checkpoint first."""
    if ranks > 1 and budget:
        raise OptionError("--budget measures one process; with --ranks say how many steps: --set training.steps=N")
    check_files(recipe, [f"--{name.replace('_', '-')}" for name, value in hints.items() if value])
    words = ["train", *recipe, "--out", str(out), *(word for one in settings for word in ("--set", one))]
    words += [*(["--from", str(start)] if start is not None else []), *(["--resume"] if resume else [])]
    was_free = not out.exists() or (out.is_dir() and not any(out.iterdir()))
    try:
        with launch_ranks(ranks, words):
            run_training(recipe, out, settings, start, budget, hints, resume=resume, as_json=as_json)
    except KeyboardInterrupt:
        say(escape_markup(stopped_message(out, was_free=was_free)), to=notes)
        raise typer.Exit(130) from None


def stopped_message(out: Path, *, was_free: bool) -> str:
    """What is there after Ctrl-C, and how to go on from it."""
    from regard.runs.folder import RunFolder
    from regard.training import checkpoints

    folder = RunFolder(out)
    if folder.is_empty or not (was_free or folder.recipe.exists()):
        return "stopped before the first step: nothing was kept, and the same command begins again"
    if folder.weights.exists() and folder.summary.exists():
        return f"stopped after training: the run is complete; score it with: regard evaluate {out}"
    has_saved = bool(checkpoints.folders(folder.checkpoints))
    saved = "the newest checkpoint is kept" if has_saved else "no checkpoint was saved yet"
    return f"stopped: {saved}; continue with:\nregard train {out}/recipe.toml --out {out} --resume"


def run_training(
    given: list[str],
    out: Path,
    settings: list[str],
    start: Path | None,
    budget: str,
    hints: Mapping[str, str],
    *,
    resume: bool,
    as_json: bool,
) -> None:
    """The same in this process, be it alone or one of several."""
    from regard.runs.recipe import Recipe
    from regard.runs.starting import start_from
    from regard.runs.train import train as run_training
    from regard.training.stopping import Interrupted

    began = time.monotonic()
    if start is not None:
        settings = [*settings, f"start.run={json.dumps(str(start))}"]
    bar, decide = TrainingBar(out), None
    if is_recipe(given):
        chosen = start_from(Recipe.read(given[0], settings), settings)
        if budget:
            chosen, decide = within_budget(chosen, budget, bar, began)
    else:
        chosen, decide = recipe_of_files(given, out, settings, budget, hints, bar, began, resume=resume)
    bar.unit = chosen.input.unit
    try:
        with bar:
            trained = run_training(chosen, out, resume=resume, observers=[bar], decide=decide)
    except Interrupted as stop:
        again = escape_markup(f"regard train {out}/recipe.toml --out {out} --resume")
        say(f"stopped and saved after step {stop.step}; continue with:\n{again}", to=notes)
        raise typer.Exit(130) from None
    if os.environ.get("RANK", "0") != "0":
        return  # under torchrun the leading process speaks for all
    if not bar.total:
        say("this run was finished already; nothing was done", to=notes)
    page = write_analysis_page(out) if bar.total and chosen.task.explains_itself else None
    if as_json:
        write_json(asdict(trained))
        return
    loss = trained.validation_loss
    say(
        f"[bold]{escape_markup(trained.run)}[/bold]: {trained.steps} steps in {trained.seconds:,.0f} s "
        f"({trained.tokens_per_second:,.0f} {chosen.input.unit}/s)"
        + (f", validation loss {loss:.4f}" if math.isfinite(loss) else ", without validation")
    )
    if page is not None:
        say(escape_markup(f"what it has learned: {page}"))
    say(escape_markup(f"next: regard evaluate {out}\n      regard predict {out} {chosen.example()}"), style="dim")


def write_analysis_page(out: Path) -> Path:
    """The page about what has just been trained."""
    from regard.inspection.reports.writing import write_analysis
    from regard.inspection.reports.writing_page import writing_page
    from regard.runs.load import load

    run = load(out)
    with notes.status("analysing the trained model"):
        return write_analysis(run, writing_page)


def recipe_of_files(
    given: list[str],
    out: Path,
    settings: list[str],
    budget: str,
    hints: Mapping[str, str],
    bar: TrainingBar,
    began: float,
    *,
    resume: bool,
) -> tuple[Recipe, Decide | None]:
    """The recipe for files of the user's own; size and steps are decided once the data is read."""
    from regard.data.discovery.found import Hints
    from regard.runs.budget import Budget, Deadline
    from regard.runs.folder import RunFolder
    from regard.runs.recipe import Recipe

    if resume and RunFolder(out).recipe.exists():
        raise OptionError(f"{out} has a recipe; continue with: regard train {out}/recipe.toml --out {out} --resume")
    time_given = Budget.parse(budget or USUAL_BUDGET)
    if not time_given.seconds:
        raise OptionError(f"with files --budget is a time, as 10m; found {budget!r}; or --set training.steps=N")
    RunFolder(out).check_free()
    found = from_files(given, Hints(**hints), settings, Deadline(time_given.seconds, began), bar.on_phase)
    return Recipe.of(found.recipe), found.decide


def within_budget(recipe: Recipe, budget: str, bar: TrainingBar, began: float) -> tuple[Recipe, Decide | None]:
    """The recipe with as many steps as the budget says, or with what will decide them once the data is read."""
    from regard.runs.budget import Budget, Deadline, with_steps, within, without_steps

    given = Budget.parse(budget)
    if given.steps:
        return with_steps(recipe, given.steps), None
    return without_steps(recipe), within(Deadline(given.seconds, began), bar.on_message)


train.__doc__ = f"{train.__doc__}\n\n{EXAMPLES}"
