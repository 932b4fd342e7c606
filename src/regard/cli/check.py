"""``regard check``: does a run give the same answers in every way it can be run?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from regard.cli.console import JSON_OPTION, escape_markup, notes, say, write_json

EXAMPLES = """\b
Examples:
  regard check runs/first
  regard check runs/first --json
"""


def check(
    run: Path = typer.Argument(help="Run folder."),
    seed: int = typer.Option(
        1, "--seed", metavar="N", min=0, help="Seed of the random inputs that are used for the comparison."
    ),
    as_json: bool = JSON_OPTION,
) -> None:
    """Check that a run gives the same answers with and without cache, batching, fused kernels, bfloat16 and export.

    Exits with 1 when two ways do not agree.
    """
    from regard.interop.checking import check as check_run
    from regard.runs.load import load

    with notes.status("asking"):
        found = check_run(load(run, device="cpu", check=False), seed)
    if as_json:
        write_json({"run": str(run), "checks": [one.as_dict() for one in found], "holds": all(c.holds for c in found)})
    else:
        for one in found:
            say(line(one))
    if not all(one.holds for one in found):
        raise typer.Exit(1)


def line(one: Any) -> str:
    """A mark, the largest difference beside what is tolerated, and where another token would have been written."""
    if one.skipped:
        return f"[dim]–  {one.name.ljust(12)} {escape_markup(one.what)}: not done, {escape_markup(one.skipped)}[/dim]"
    mark = "[green]✓[/green]" if one.holds else "[bold red]✗[/bold red]"
    first = f", the same {one.unit}s" if one.unit else ""
    if one.first >= 0:
        first = f", first different {one.unit} at position {one.first + 1}: {one.token!r}, {one.other!r}"
    figures = f"{one.difference:.1e} (at most {one.tolerance:.1e}){escape_markup(first)}"
    return f"{mark}  {one.name.ljust(12)} {escape_markup(one.what)}: {figures}"


check.__doc__ = f"{check.__doc__}\n\n{EXAMPLES}"
