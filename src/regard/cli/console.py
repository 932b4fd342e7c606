"""Output for the user: colour that can be turned off, progress bars on standard error, JSON on standard output."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn

from regard.core.errors import OptionError
from regard.core.files import json_safe
from regard.runs.journal import NullObserver

console = Console(highlight=False, emoji=False)
notes = Console(stderr=True, highlight=False, emoji=False)


def flag(name: str, meaning: str) -> Any:
    """An option that is given or not, and takes no value."""
    return typer.Option(False, name, metavar="", help=meaning)


JSON_OPTION = flag("--json", "Print one JSON object to standard output; everything else goes to standard error.")


def without_colour() -> None:
    for one in (console, notes):
        one.no_color = True


def say(text: str, *, to: Console = console, style: str = "") -> None:
    """A line that the terminal folds and nobody else, so that a path or a command in it can be copied."""
    to.print(text, style=style, soft_wrap=True)


def escape_markup(text: Any) -> str:
    """What came from outside is printed as it stands: brackets in it are no markup."""
    return escape(str(text))


def write_json(value: Mapping[str, Any]) -> None:
    """One JSON object on standard output; what JSON cannot say (not-a-number) becomes null."""
    sys.stdout.write(json.dumps(json_safe(value), ensure_ascii=False) + "\n")


def check_output() -> None:
    """Output that nobody can ever see is refused; notes that nobody wants are not."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (for as long as the process lives)
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        raise OptionError("standard output is closed; redirect it to /dev/null if you do not need it")


def discard_output() -> None:
    """What is still to be written to standard output goes nowhere, and nobody complains about it when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int | None], None]]:
    """A bar for work with so many items (None: not known); disappears when it is done or nobody is watching."""
    with _bar(TextColumn("{task.description}"), _line(), MofNCompleteColumn()) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _bar(*columns: ProgressColumn) -> Progress:
    return Progress(
        *columns, TimeRemainingColumn(), console=notes, transient=True, disable=not notes.is_terminal,
        refresh_per_second=4,
    )  # fmt: skip


def _line() -> BarColumn:
    """As long as the figures beside it leave room for, so that none of them is cut off."""
    return BarColumn(bar_width=max(8, min(40, notes.width - 68)))


def counted(count: int, unit: str) -> str:
    """ "1 line", "3 lines"."""
    return f"{count:,} {unit if count != 1 else unit.removesuffix('s')}"


class TrainingBar(NullObserver):
    """A live bar with step, loss, speed and time left; plain lines where there is no terminal.

    Used with ``with``, so that the terminal is given back also after an interruption.
    """

    LINES_EVERY_SECONDS = 20.0

    def __init__(self, folder: Path, unit: str = "tokens") -> None:
        self.folder = folder
        self.unit = unit  # of what so many are read a second
        self.waiting = notes.status("reading the data")
        texts = "loss {task.fields[loss]}", "[dim]validation {task.fields[validation]}[/dim]", "{task.fields[speed]}"
        self.bar = _bar(_line(), MofNCompleteColumn(), *map(TextColumn, texts))
        self.speed = 0.0
        self.total = 0
        self.spoke = time.monotonic()

    def __enter__(self) -> TrainingBar:
        if notes.is_terminal:
            self.waiting.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.waiting.stop()
        self.bar.stop()

    def on_phase(self, what: str) -> None:
        self.waiting.update(what)
        if not notes.is_terminal:
            say(f"{what} …", to=notes)

    def on_start(self, total_steps: int, step: int) -> None:
        self.waiting.stop()
        self.total = total_steps
        self.print_ledger()
        if step:
            say(f"going on after step {step}", to=notes)
        self.task = self.bar.add_task(
            "training", total=total_steps, completed=step, loss="–", validation="–", speed="–"
        )
        self.bar.start()

    def print_ledger(self) -> None:
        """What reading met beside plain pairs: nobody should have to open the ledger to learn of it."""
        ledger = self.folder / "ledger.json"
        if not ledger.exists():
            return
        held = json.loads(ledger.read_text(encoding="utf-8"))
        for note in held["notes"]:
            self.on_message(note)
        reasons = [
            f"{counted(one['count'], one['unit'])} {one['what'].replace('_', ' ')} ({one['reason']})"
            for one in held["reasons"]
        ]
        if reasons:
            self.on_message(f"{', '.join(reasons)}: each is listed in {ledger}")

    def on_step(self, step: int, figures: Mapping[str, float]) -> None:
        now = figures["tokens"] / max(figures["seconds"], 1e-9)
        self.speed = now if not self.speed else 0.95 * self.speed + 0.05 * now
        speed = f"{self.speed:,.0f} {self.unit}/s"
        self.bar.update(self.task, completed=step, loss=f"{figures['loss']:.3f}", speed=speed)
        if not notes.is_terminal and time.monotonic() - self.spoke > self.LINES_EVERY_SECONDS:
            self.spoke = time.monotonic()
            say(f"step {step}/{self.total}  loss {figures['loss']:.3f}  {speed}", to=notes)

    def on_validation(self, step: int, figures: Mapping[str, float]) -> None:
        self.bar.update(self.task, validation=f"{figures['loss']:.3f}")
        others = {name.replace("_", " "): value for name, value in figures.items() if name not in ("loss", "seconds")}
        rest = "".join(f"  {name} {value:.3f}" for name, value in others.items())
        say(f"step {step}: validation loss [bold]{figures['loss']:.4f}[/bold]{rest}", to=notes)

    def on_message(self, message: str) -> None:
        say(f"[yellow]note:[/yellow] {escape_markup(message)}", to=notes)

    def on_end(self, step: int) -> None:
        self.bar.stop()
