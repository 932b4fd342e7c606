"""``regard measure``: what parts of a model cost on this machine."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from regard.cli.compare import numbers
from regard.cli.console import JSON_OPTION, counting, escape_markup, notes, say, write_json
from regard.core.errors import OptionError

HELP = """Measure what parts of a model cost on this machine.

\b
Examples:
  regard measure attention
  regard measure attention --mechanisms window,linear --lengths 16384
"""
EXAMPLES = """\b
Examples:
  regard measure attention
  regard measure attention --out costs --seconds 3600
  regard measure attention --mechanisms window --set window.size=512
  regard measure attention --mechanisms linear --lengths 16384 --passes both
"""

app = typer.Typer(help=HELP, short_help="Measure what parts of a model cost on this machine.", no_args_is_help=True)


@app.callback()
def measure() -> None:
    """Keeps ``attention`` a word of its own while it is the only one."""


@app.command("attention")
def attention(
    mechanisms: str = typer.Option(
        None, "--mechanisms", metavar="KIND,…",
        help="Kinds of model.attention, beside full attention (softmax); default: all that need no further settings.",
    ),
    lengths: str = typer.Option(
        "256,1024,4096,16384,65536", "--lengths", metavar="N,…", help="Lengths of sequences, comma-separated."
    ),
    passes: str = typer.Option(
        "forward,both,step", "--passes", metavar="P,…",
        help="What to measure: forward, both (forward and backward), step (one token of decoding).",
    ),
    heads: int = typer.Option(4, "--heads", metavar="N", min=1, help="Number of heads."),
    width: int = typer.Option(64, "--width", metavar="N", min=1, help="Width of a head."),
    spread: float = typer.Option(
        1.0, "--spread", metavar="S", min=1e-6, help="Standard deviation of queries and keys, on which errors depend."
    ),
    seconds: float = typer.Option(
        600.0, "--seconds", metavar="S", min=0.1, help="About how long to measure; what takes longer is left out."
    ),
    settings: list[str] = typer.Option(
        [], "--set", metavar="KIND.KEY=C", help="Override a mechanism's setting; repeatable."
    ),
    threads: int = typer.Option(0, "--threads", metavar="N", min=0, help="Threads; 0: as many as torch chooses."),
    out: Path = typer.Option(None, "--out", metavar="FOLDER", help="Write attention.html and attention.json there."),
    as_json: bool = JSON_OPTION,
) -> None:
    """Measure time, memory and error of attention mechanisms beside full attention, as sequences grow."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # else the profiler, which counts memory, writes about itself
    import torch

    from regard.inspection.attention_costs.measuring import Measurement, Shape
    from regard.inspection.attention_costs.report import TITLES, AttentionReport
    from regard.inspection.attention_costs.subjects import USUAL, subjects
    from regard.training import machine

    chosen = list(USUAL) if mechanisms is None else [word.strip() for word in mechanisms.split(",")]
    wanted = tuple(known for known in TITLES if known in passes.split(","))
    unknown = [word for word in passes.split(",") if word not in TITLES]
    if unknown:
        raise OptionError(f"--passes {unknown[0]!r} is not known; choose {', '.join(TITLES)}")
    shape = Shape(tuple(sorted(numbers(lengths, "--lengths"))), heads, width, spread, wanted)
    asked = subjects(chosen, settings)
    machine.tune_allocator()
    machine.set_threads(threads)
    device = torch.device("cpu")
    with counting("measuring") as progress:
        found = Measurement(asked, shape, seconds, device).run(progress)
    report = AttentionReport(shape, found, machine.environment(device))
    written = report.write(out) if out is not None else None
    if as_json:
        write_json({**report.as_dict(), "page": str(written) if written is not None else None})
        return
    for one in wanted:
        say(f"[bold]{TITLES[one]}[/bold]")
        show(report.table(one))
    for note in report.notes():
        say(escape_markup(note), style="dim", to=notes)
    if written is not None:
        say(escape_markup(f"page: {written}"))


def show(rows: list[list[str]]) -> None:
    """A table whose first row names the columns; wider than most terminals, it must not be cut."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, (name, *figures) in enumerate(rows):
        rest = "  ".join(figure.rjust(room) for figure, room in zip(figures, widths[1:], strict=True))
        say(escape_markup(f"{name.ljust(widths[0])}  {rest}"), style="" if number else "dim")


attention.__doc__ = f"{attention.__doc__}\n\n{EXAMPLES}"
