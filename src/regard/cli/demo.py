"""``regard demo``: trains, scores and shows a translator of the small world in a few minutes."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from regard.cli.console import JSON_OPTION, NullObserver, TrainingBar, counting, escape_markup, notes, say, write_json
from regard.cli.tables.score_tables import show_scores
from regard.core.errors import OptionError

if TYPE_CHECKING:
    from regard.runs.load import Run
    from regard.tasks.pairs.alignment import WordWeights

SENTENCES = (
    "the cat sat on the mat",
    "the black cat sat on the mat",
    "the old woman does not see the white horse",
    "the girl who sleeps loves the small dog",
    "the men went to the market",
)

MARK = ".regard-demo"
ON_THE_PAGE = (
    "exact_match", "compositional_exact_match", "bleu", "chrf", "token_accuracy", "alignment_error_rate"
)  # fmt: skip


def demo(
    out: Path = typer.Option(Path("demo"), "--out", metavar="FOLDER", help="Output folder for the run and the page."),
    settings: list[str] = typer.Option([], "--set", metavar="A.B=C", help="Override a value of the recipe."),
    as_json: bool = JSON_OPTION,
) -> None:
    """Train an English to French Transformer on the built-in small world, score it, and look inside.

    \b
    Examples:
      regard demo
      regard demo --out quick --set training.steps=300
    """
    from regard.runs.evaluate import evaluate
    from regard.runs.load import load
    from regard.runs.train import train
    from regard.training.stopping import Interrupted

    run_folder = out / "run"
    replace_old_demo(run_folder)
    say("[bold]1. training[/bold] on sentences of the small world (Ctrl-C stops)", to=notes)
    began = time.monotonic()
    try:
        with TrainingBar(run_folder) as bar:
            train("small-world", run_folder, settings, observers=[DemoMarker(run_folder), bar])
    except KeyboardInterrupt:  # before the first step
        write_marker(run_folder)
        raise
    except Interrupted as stop:
        say(f"stopped after step {stop.step}; the next demo starts from the beginning", to=notes)
        raise typer.Exit(130) from None
    seconds = time.monotonic() - began
    say(f"   trained in {seconds:.0f} s", to=notes)
    say("[bold]2. scoring[/bold] on sentences that it has not seen", to=notes)
    run = load(run_folder)
    with counting("translating") as progress:
        scores = evaluate(run, progress=progress)
    translations = run.predict(SENTENCES)
    found = run.alignment(SENTENCES, translations, words=_words)
    page = out / "alignment.html"
    write_page(page, run, scores, found, seconds)
    if as_json:
        write_json({**scores, "train_seconds": seconds, "run": str(run_folder), "page": str(page),
                    "translations": dict(zip(SENTENCES, translations, strict=True))})  # fmt: skip
        return
    show_scores(scores)
    say("\n[bold]3. translating[/bold]")
    width = max(map(len, SENTENCES))
    for source, target in zip(SENTENCES, translations, strict=True):
        say(f"   {source:<{width}} [dim]→[/dim] [bold]{escape_markup(target)}[/bold]")
    show_alignment(run, found[0])
    say(f"\nthe page: [bold]{escape_markup(page)}[/bold]")
    say(escape_markup(f"next: regard predict {run_folder} \"the small bird sings\""), style="dim")


class DemoMarker(NullObserver):
    """Leaves a mark in the run, so that the next demo knows it for one of its kind."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def on_start(self, total_steps: int, step: int) -> None:
        write_marker(self.folder)


def write_marker(run_folder: Path) -> None:
    if run_folder.is_dir():
        (run_folder / MARK).touch()


def replace_old_demo(folder: Path) -> None:
    """The run of an earlier demo is replaced; anything else that stands there is not touched."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (folder / MARK).exists():
        raise OptionError(f"{folder} was not created by regard demo; choose another --out, or remove it first")
    shutil.rmtree(folder)


def _words(text: str) -> tuple[str, ...]:
    from regard.data.world import words

    return words(text)


def show_alignment(run: Run, weights: WordWeights) -> None:
    """The word alignment that cross-attention found: each target word and what it reads most."""
    head = run.alignment_head or next(iter(weights.by_head))
    matrix = weights.by_head[head]
    say(f"\n[bold]4. the alignment[/bold] found by cross-attention (layer {head[0] + 1}, head {head[1] + 1})")
    for row, target in zip(matrix, weights.target_words):
        best = int(row.argmax())
        bar = "█" * round(float(row[best]) * 20)
        say(f"   {escape_markup(target):>12} ← {weights.source_words[best]:<12} [dim]{row[best]:.2f}[/dim] {bar}")


def write_page(path: Path, run: Run, scores: dict[str, Any], found: list[WordWeights], seconds: float) -> None:
    from regard.core.files import write_text
    from regard.inspection.reports.demo_page import AlignedPair, DemoReport, demo_page

    head = run.alignment_head or next(iter(found[0].by_head))
    pairs = [
        AlignedPair(one.source_words, one.target_words, one.by_head[head].tolist(), reference="") for one in found
    ]
    lines = [json.loads(line) for line in run.folder.metrics.read_text(encoding="utf-8").splitlines()]
    curves = {
        split: [(int(line["step"]), float(line["loss"])) for line in lines if line.get("split") == split]
        for split in ("train", "validation")
    }
    parameters = sum(weight.numel() for weight in run.model.parameters())
    facts = {
        "parameters": f"{parameters:,}",
        "training": f"{seconds:.0f} seconds",
        "steps": f"{run.recipe.training.steps:,}",
        "head shown": f"layer {head[0] + 1}, head {head[1] + 1}, chosen on validation sentences",
    }
    figures = {name: float(scores[name]) for name in ON_THE_PAGE if name in scores}
    report = DemoReport("English to French, small world", pairs, figures, facts, curves["train"], curves["validation"])
    write_text(path, demo_page(report))
