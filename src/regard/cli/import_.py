"""``regard import``: turns a Hugging Face folder into a run."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer

from regard.cli.console import JSON_OPTION, escape_markup, flag, notes, say, write_json

EXAMPLES = """\b
Examples:
  regard import path/to/gpt2 --out runs/gpt2
  regard import path/to/old-model --out runs/old --convert
  regard import path/to/nameless --out runs/nameless --as bert --case keep
"""


def import_(
    folder: Path = typer.Argument(help="Hugging Face folder of a GPT-2, Llama, Marian, BERT, … with its tokenizer."),
    out: Path = typer.Option(..., "--out", metavar="RUN", help="Run folder to create."),
    convert: bool = flag("--convert", "Read pickled weights (tensors only, no code is run)."),
    named: str = typer.Option(
        "", "--as", metavar="FAMILY", help="Family, where the folder names none: bert, roberta, BertForMaskedLM, …"
    ),
    case: str = typer.Option(
        "", "--case", metavar="CASE", help="Case of texts, where vocab.txt is all there is: lower (default) or keep."
    ),
    ignored: list[str] = typer.Option(
        [], "--ignore", metavar="NAME", help="Ignore this key of config.json; repeatable."
    ),
    as_json: bool = JSON_OPTION,
) -> None:
    """Turn a Hugging Face folder into a run."""
    from regard.interop.huggingface.importing import import_folder
    from regard.runs.folder import RunFolder
    from regard.runs.recipe import Recipe

    imported = import_folder(folder, out, convert=convert, ignored=ignored, named=named, case=case)
    for note in imported.notes:
        say(f"[yellow]note:[/yellow] {escape_markup(note)}", to=notes)
    if as_json:
        write_json(asdict(imported))
        return
    of_texts = f", {imported.pieces:,} pieces, context {imported.context:,}" if imported.pieces else ""
    run = escape_markup(imported.run)
    say(f"[bold]{run}[/bold]: {imported.architecture}, {imported.parameters:,} parameters{of_texts}")
    asked = Recipe.of_run(RunFolder(out).recipe).example()
    say(escape_markup(f"next: regard predict {out} {asked}"), style="dim")


import_.__doc__ = f"{import_.__doc__}\n\n{EXAMPLES}"
