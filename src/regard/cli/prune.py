"""``regard prune``: a smaller run, without the heads and layers that the model can spare."""

from __future__ import annotations

from pathlib import Path

import typer

from regard.cli.console import JSON_OPTION, counting, escape_markup, say, write_json

EXAMPLES = """\b
Examples:
  regard prune runs/de-en --out runs/smaller --heads 2
  regard prune runs/gpt --out runs/shallow --layers 1
  regard train multi30k --from runs/smaller --out runs/recovered
"""


def prune(
    run: Path = typer.Argument(help="Run folder."),
    out: Path = typer.Option(..., "--out", metavar="FOLDER", help="Folder of the smaller run."),
    heads: int = typer.Option(0, "--heads", metavar="N", min=0, help="Number of heads to remove from every attention."),
    layers: int = typer.Option(0, "--layers", metavar="N", min=0, help="Number of layers to remove, from all stacks."),
    split: str = typer.Option("validation", "--split", metavar="NAME", help="Split by whose loss parts are judged."),
    as_json: bool = JSON_OPTION,
) -> None:
    """Remove the heads and layers whose absence hurts the loss least, and write what is left as a run."""
    from regard.inspection.pruning import prune as pruned_run
    from regard.runs.load import load

    with counting("judging heads and layers") as progress:
        found = pruned_run(load(run), out, heads, layers, split, progress)
    if as_json:
        write_json(found.as_dict())
        return
    say(escape_markup(f"removed: {', '.join(found.removed)}"))
    rows = [("", "loss", "parameters", "seconds")]
    for name, one in (("before", found.before), ("after", found.after)):
        rows.append((name, f"{one.loss:.4f}", f"{one.parameters:,}", f"{one.seconds:.2f}"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        say(escape_markup("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))))
    say(escape_markup(f"train on what is left: regard train RECIPE --from {out} --out …"), style="dim")


prune.__doc__ = f"{prune.__doc__}\n\n{EXAMPLES}"
