"""``regard compare``: trains recipes on the same data with the same budget and reports them side by side."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import typer

from regard.cli.console import JSON_OPTION, TrainingBar, counting, escape_markup, notes, say, write_json
from regard.core.errors import OptionError

EXAMPLES = """\b
Examples:
  regard compare lineage --out runs/lineage --budget 3m
  regard compare bahdanau transformer-2017 --out runs/two --budget 500steps --seeds 1,2
  regard compare lineage --out runs/de-en --budget 6m --set data.kind=pairs
      --set data.folder=path/to/multi30k --set 'data.train={source="train.de", target="train.en"}'
"""


def compare(
    recipes: list[str] = typer.Argument(
        help="Recipes to compare: shipped names, TOML files, or a shipped set such as lineage."
    ),
    out: Path = typer.Option(..., "--out", metavar="FOLDER", help="Output folder for the runs and the report."),
    budget: str = typer.Option(
        None, "--budget", metavar="TIME",
        help="Budget per training: 90s, 10m, 1h or 2000steps; default: as the recipes say."
    ),
    seeds: str = typer.Option(
        "1", "--seeds", metavar="N,…", help="Training seeds, comma-separated; the data is the same for all."
    ),
    settings: list[str] = typer.Option(
        [], "--set", metavar="A.B=C", help="Override a value in every recipe; repeatable."
    ),
    cost_seconds: float = typer.Option(
        20.0, "--cost-seconds", metavar="S", min=0.1, help="Seconds that the report may spend on timing single layers."
    ),
    long_sequences: str = typer.Option(
        None, "--long-sequences", metavar="N,…",
        help="Also train small models to copy and recall sequences of these lengths (10,20,50,100,200,500: an hour).",
    ),
    as_json: bool = JSON_OPTION,
) -> None:
    """Train recipes on the same data with the same budget and report them side by side.

    After an interruption, the same command continues where it stopped.
    """
    from regard.inspection.reports.comparison import report_of, write_report
    from regard.runs.budget import Budget
    from regard.runs.comparison import Comparison, score_entry, train_entry
    from regard.training.stopping import Interrupted

    given = Budget.parse(budget) if budget is not None else Budget()
    comparison = Comparison.of(recipes, out, given, numbers(seeds, "--seeds"), settings)
    lengths = sorted(numbers(long_sequences, "--long-sequences")) if long_sequences is not None else []
    tell = partial(say, to=notes)
    entries = comparison.decide(lambda text: tell(escape_markup(text)))
    results = []
    try:
        for place, entry in enumerate(entries, start=1):
            say(f"[bold]{place}/{len(entries)}  {escape_markup(entry.name)}[/bold], seed {entry.seed}, "
                f"{entry.recipe.training.steps:,} steps", to=notes)  # fmt: skip
            with TrainingBar(entry.folder, entry.recipe.input.unit) as bar:
                trained = train_entry(entry, [bar])
            with counting("scoring") as progress:
                results.append(score_entry(entry, trained, progress))
    except (Interrupted, KeyboardInterrupt):
        say("stopped; run the same command to continue", to=notes)
        raise typer.Exit(130) from None
    report = report_of(comparison, results, cost_seconds, lengths, lambda text: tell(escape_markup(text)))
    written = write_report(report, out)
    if as_json:
        write_json({**report.as_dict(), "page": str(written)})
        return
    show(report)
    say(escape_markup(f"report: {written}"))


def numbers(text: str, option: str) -> list[int]:
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        raise OptionError(f"{option} takes whole numbers separated by commas, as 1,2,3; found {text!r}") from None
    if len(set(found)) != len(found) or min(found) < 1:
        raise OptionError(f"{option} takes distinct numbers, 1 or higher; found {text!r}")
    return found


def show(report: Any) -> None:
    """The table in columns of its own, because one with intervals is wider than most terminals and must not be cut."""
    from regard.inspection.reports.comparison_page import filled_columns

    columns, rows = filled_columns(report)
    lines = [columns, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for number, (name, *figures) in enumerate(lines):
        rest = "  ".join(figure.rjust(width) for figure, width in zip(figures, widths[1:], strict=True))
        say(escape_markup(f"{name.ljust(widths[0])}  {rest}"), style="" if number else "dim")


compare.__doc__ = f"{compare.__doc__}\n\n{EXAMPLES}"
