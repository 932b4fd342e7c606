"""``regard evaluate``: a run is scored, alone or against another."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import typer

from regard.cli.class_tables import show_classes
from regard.cli.console import JSON_OPTION, console, counting, flag, plain, say, write_json
from regard.cli.engine import ENGINE, ENGINE_DTYPE, with_engine
from regard.cli.printing import check_no_decoding, chooses
from regard.cli.strategy import BEAM, GREEDY, choose, said
from regard.core.errors import OptionError

EXAMPLES = """\b
Examples:
  regard evaluate runs/first
  regard evaluate runs/first --source news.en --reference news.fr --beam 5
  regard evaluate runs/first --against runs/second
  regard evaluate runs/first --engine ctranslate2 --engine-dtype int8
"""

OF_TEXT = ("loss", "perplexity", "bits_per_character", "masked_perplexity", "pseudo_perplexity")
SHOWN = (
    "accuracy", "macro_f1", "entity_f1", "entity_precision", "entity_recall",
    "always_the_most_frequent", "calibration_error", "brier", "masked_accuracy", "next_accuracy",
    "bracket_f1", "bracket_precision", "bracket_recall", "unlabelled_f1", "tag_accuracy", "bleu",
    "chrf", "exact_match", "f1", "no_answer_accuracy", "token_accuracy", "word_error_rate", "character_error_rate",
    "alignment_error_rate", "repaired", "retrieval_accuracy", "mean_reciprocal_rank",
)  # fmt: skip


def evaluate(
    run: Path = typer.Argument(help="Run folder."),
    source: Path = typer.Option(
        None, "--source", metavar="FILE", help="Inputs to score instead of the run's own test split, one per line."
    ),
    reference: Path = typer.Option(None, "--reference", metavar="FILE", help="References for --source, one per line."),
    beam: int = typer.Option(0, "--beam", metavar="N", min=0, help=BEAM, show_default=False),
    greedy: bool = flag("--greedy", GREEDY),
    against: Path = typer.Option(
        None, "--against", metavar="RUN", help="Compare with another run: paired significance test on the same inputs."
    ),
    engine: str = ENGINE,
    engine_dtype: str = ENGINE_DTYPE,
    as_json: bool = JSON_OPTION,
) -> None:
    """Score a run on its test split, or on files of your own."""
    if (source is None) != (reference is None):
        raise OptionError("--source and --reference belong together; give both or none")
    check_files_exist(path for path in (source, reference) if path is not None)
    from regard.runs.evaluate import evaluate as score
    from regard.runs.load import load
    from regard.runs.significance import significance

    loaded = with_engine(load(run), engine, engine_dtype)
    if chooses(loaded):
        check_no_decoding(loaded, said({"beam": beam, "greedy": greedy}))
    options = choose(loaded.recipe.decoding, beam=beam, greedy=greedy)
    with counting("scoring") as progress:
        scores = score(loaded, source=source or "", reference=reference or "", options=options, progress=progress)
    if against is not None:
        other = with_engine(load(against), engine, engine_dtype)
        given = options if beam or greedy else None  # else each decodes as its own recipe says
        scores["against"] = significance(loaded, other, source or "", reference or "", given)
    if as_json:
        write_json(scores)
    else:
        show(scores)


def check_files_exist(paths: Iterable[Path]) -> None:
    """Both files in one error, and before anything heavy is loaded."""
    from regard.data.readers import missing_files

    missing = [path for path in paths if not path.exists()]
    if missing:
        raise missing_files(missing)


def show(scores: dict[str, Any]) -> None:
    """A table of the figures with their intervals; signatures below."""
    from rich.table import Table

    splits = ["", *(f"{split}_" for split in scores.get("splits", ())[1:])]
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("score")
    for split in splits:
        table.add_column(split.rstrip("_") or str(scores.get("split", "given")), justify="right")
    for name in (*(OF_TEXT if {"perplexity", "masked_perplexity"} & scores.keys() else ()), *SHOWN):
        if any(f"{split}{name}" in scores for split in splits):
            table.add_row(name.replace("_", " "), *(_figure(scores, f"{split}{name}") for split in splits))
    console.print(table)
    show_classes(scores)
    if "engine" in scores:
        say(f"answers by {plain(scores['engine'])}; scores.json is left as it was", style="dim")
    if "bleu_signature" in scores:
        say(f"BLEU {plain(scores['bleu_signature'])}", style="dim")
    if scores.get("skipped"):
        lines = ", ".join(str(one["line"]) for one in scores["skipped"][:10])
        say(f"{len(scores['skipped'])} lines were left out, one side being empty: {lines}", style="dim")
    if "against" in scores:
        say(plain(scores["against"]["sentence"]))


def _figure(scores: dict[str, Any], name: str) -> str:
    if name not in scores:
        return "–"
    digits = 2 if name.endswith(("bleu", "chrf")) else 4
    text = f"{scores[name]:.{digits}f}"
    if f"{name}_low" in scores:
        text += f" [dim]({scores[f'{name}_low']:.{digits}f}–{scores[f'{name}_high']:.{digits}f})[/dim]"
    return text


evaluate.__doc__ = f"{evaluate.__doc__}\n\n{EXAMPLES}"
