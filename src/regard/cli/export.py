"""``regard export``: a run becomes a folder that others read."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer

from regard.cli.console import JSON_OPTION, plain, say, write_json

EXAMPLES = """\b
Examples:
  regard export runs/first --to huggingface --out exported/first
  regard export runs/first --to onnx --out exported/first-onnx
"""

FORMATS = "huggingface (gpt, llama, transformer) or onnx (every kind)."
NEXT = {
    "huggingface": lambda exported: f'transformers.{exported.loader}.from_pretrained("{exported.folder}")',
    "onnx": lambda exported: f"{exported.loader}; {exported.folder}/regard.json says what the graphs take and give",
}
"""What to do with what was written."""


def export(
    run: Path = typer.Argument(help="A run folder; which kinds of model can go depends on the format."),
    to: str = typer.Option(..., "--to", metavar="FORMAT", help=FORMATS),
    out: Path = typer.Option(..., "--out", metavar="FOLDER", help="The folder to make."),
    as_json: bool = JSON_OPTION,
) -> None:
    """Write a run in a format that others read."""
    from regard.interop.exporting import export as write

    exported = write(run, to, out)
    if as_json:
        write_json(asdict(exported))
        return
    say(f"[bold]{plain(exported.folder)}[/bold]: {exported.architecture}, {exported.parameters:,} parameters")
    say(plain(f"next: {NEXT[exported.target](exported)}"), style="dim")


export.__doc__ = f"{export.__doc__}\n\n{EXAMPLES}"
