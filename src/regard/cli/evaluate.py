"""``regard evaluate``: scores a run, alone or against another."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import typer

from regard.cli.console import JSON_OPTION, counting, flag, write_json
from regard.cli.options.applicable import check_applicable, evaluation_options
from regard.cli.options.engine import ENGINE, ENGINE_DTYPE, with_engine
from regard.cli.options.strategy import BEAM, GREEDY, choose_strategy
from regard.cli.tables.score_tables import show_scores
from regard.core.errors import OptionError

EXAMPLES = """\b
Examples:
  regard evaluate runs/first
  regard evaluate runs/first --source news.en --reference news.fr --beam 5
  regard evaluate runs/mood --data mine.csv --set data.text=review --set data.label=stars
  regard evaluate runs/first --against runs/second
  regard evaluate runs/first --engine ctranslate2 --engine-dtype int8
"""


def evaluate(
    run: Path = typer.Argument(help="Run folder."),
    source: Path = typer.Option(
        None, "--source", metavar="FILE", help="Inputs to score instead of the run's own test split, one per line."
    ),
    reference: Path = typer.Option(None, "--reference", metavar="FILE", help="References for --source, one per line."),
    data: list[str] = typer.Option(
        [], "--data", metavar="FILE",
        help="Score this file (or folder, or pattern) instead, read as the run's own data are; repeatable.",
    ),
    settings: list[str] = typer.Option(
        [], "--set", metavar="data.KEY=VALUE",
        help="Read --data with other settings, such as data.label=stars; repeatable.",
    ),
    beam: int = typer.Option(None, "--beam", metavar="N", min=1, help=BEAM, show_default=False),
    greedy: bool = flag("--greedy", GREEDY),
    against: Path = typer.Option(
        None, "--against", metavar="RUN", help="Compare with another run: paired significance test on the same inputs."
    ),
    yardsticks: bool = typer.Option(
        None, "--yardsticks/--no-yardsticks",
        help="Also score simple methods, fitted on the training split in seconds; default: yes, but not for --source.",
    ),
    engine: str = ENGINE,
    engine_dtype: str = ENGINE_DTYPE,
    as_json: bool = JSON_OPTION,
) -> None:
    """Score a run on its test split, or on files of your own."""
    if (source is None) != (reference is None):
        raise OptionError("--source and --reference belong together; give both or none")
    if data and source is not None:
        raise OptionError("--data and --source both name what is scored; give one of them")
    if settings and not data:
        raise OptionError("--set changes how the files of --data are read; give --data too")
    if yardsticks is not None and source is not None:
        raise OptionError(
            "simple methods are scored on the run's own test split and on --data; leave out --yardsticks and "
            "--no-yardsticks beside --source"
        )
    check_files_exist(path for path in (source, reference) if path is not None)
    from regard.runs.evaluate import evaluate as score
    from regard.runs.load import load
    from regard.runs.significance import check_comparable, significance

    loaded = load(run)
    check_applicable(loaded, evaluation_options(loaded), {"beam": beam, "greedy": greedy})
    loaded = with_engine(loaded, engine, engine_dtype)
    other = None if against is None else with_engine(load(against), engine, engine_dtype)
    if other is not None:
        check_comparable(loaded, other)
    options = choose_strategy(loaded.recipe.decoding, beam=beam, greedy=greedy)
    with counting("scoring") as progress:
        scores = score(
            loaded, source=source or "", reference=reference or "", data=data, settings=settings, options=options,
            progress=progress, yardsticks=yardsticks is not False,
        )  # fmt: skip
    if other is not None:
        given = options if beam or greedy else None  # else each decodes as its own recipe says
        scores["against"] = significance(loaded, other, source or "", reference or "", given, data, settings)
    if as_json:
        write_json(scores)
    else:
        show_scores(scores)


def check_files_exist(paths: Iterable[Path]) -> None:
    """Both files in one error, and before anything heavy is loaded."""
    from regard.data.readers import missing_files

    missing = [path for path in paths if not path.exists()]
    if missing:
        raise missing_files(missing)


evaluate.__doc__ = f"{evaluate.__doc__}\n\n{EXAMPLES}"
