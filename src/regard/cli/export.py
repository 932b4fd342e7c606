"""``regard export``: writes a run for Hugging Face, ONNX or CTranslate2."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer

from regard.cli.console import JSON_OPTION, escape_markup, say, write_json
from regard.core.errors import OptionError

EXAMPLES = """\b
Examples:
  regard export runs/first --to huggingface --out exported/first
  regard export runs/first --to onnx --out exported/first-onnx
  regard export runs/first --to ctranslate2 --dtype int8 --out exported/fast
"""

FORMATS = "huggingface (gpt, llama, transformer, bert), onnx (all but bert), or ctranslate2 (gpt, llama, transformer)."
NEXT = {
    "huggingface": 'transformers.{loader}.from_pretrained("{folder}")',
    "onnx": "{loader}; {folder}/regard.json lists the inputs and outputs of each graph",
    "ctranslate2": 'ctranslate2.{loader}("{folder}")',
}
"""What to do with what was written."""


def export(
    run: Path = typer.Argument(help="Run folder; which models can be exported depends on the format."),
    to: str = typer.Option(..., "--to", metavar="FORMAT", help=FORMATS),
    out: Path = typer.Option(..., "--out", metavar="FOLDER", help="Output folder."),
    dtype: str = typer.Option(
        None, "--dtype", metavar="TYPE", help="Weight type for ctranslate2: float32 (default) or int8."
    ),
    as_json: bool = JSON_OPTION,
) -> None:
    """Export a run to Hugging Face, ONNX or CTranslate2."""
    from regard.interop.exporting import export as write

    if dtype == "":
        raise OptionError("--dtype is empty; name a type, or leave it out")
    exported = write(run, to, out, dtype or "")
    if as_json:
        write_json(asdict(exported))
        return
    say(f"[bold]{escape_markup(exported.folder)}[/bold]: {exported.architecture}, {exported.parameters:,} parameters")
    opened = NEXT[exported.target].format(loader=exported.loader, folder=exported.folder)
    say(escape_markup(f"next: {opened}"), style="dim")


export.__doc__ = f"{export.__doc__}\n\n{EXAMPLES}"
