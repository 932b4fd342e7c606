"""What the user sees: colour that turns off, progress bars on standard error, JSON alone on standard output."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from regard.runs.journal import Silent

console = Console(highlight=False)
notes = Console(stderr=True, highlight=False)

JSON_OPTION = typer.Option(False, "--json", help="One JSON object on standard output; all else on standard error.")


def without_colour() -> None:
    for one in (console, notes):
        one.no_color = True


def write_json(value: Mapping[str, Any]) -> None:
    """One JSON object on standard output; what JSON cannot say (not-a-number) becomes null."""
    sys.stdout.write(json.dumps(_sayable(value), ensure_ascii=False) + "\n")


def _sayable(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _sayable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_sayable(inner) for inner in value]
    return value


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar for work with a known number of items; disappears when it is done or nobody is watching."""
    with _bar("{task.description}", MofNCompleteColumn()) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _bar(*columns: Any) -> Progress:
    texts = [TextColumn(column) if isinstance(column, str) else column for column in columns]
    return Progress(
        *texts[:1], BarColumn(), *texts[1:], TimeRemainingColumn(), console=notes, transient=True,
        disable=not notes.is_terminal, refresh_per_second=4,
    )


class TrainingBar(Silent):
    """A live bar with step, loss, tokens per second and time left; plain lines where there is no terminal."""

    LINES_EVERY_SECONDS = 20.0

    def __init__(self) -> None:
        self.bar = _bar(
            "training", MofNCompleteColumn(), "loss {task.fields[loss]:.3f}",
            "[dim]validation {task.fields[validation]}[/dim]", "{task.fields[speed]:,.0f} tokens/s",
        )
        self.speed = 0.0
        self.validation = "–"
        self.total = 0
        self.spoke = time.monotonic()

    def started(self, total_steps: int, step: int) -> None:
        self.total = total_steps
        if step:
            notes.print(f"continuing after step {step}")
        self.task = self.bar.add_task(
            "training", total=total_steps, completed=step, loss=math.nan, validation="–", speed=0.0
        )
        self.bar.start()

    def stepped(self, step: int, figures: Mapping[str, float]) -> None:
        now = figures["tokens"] / max(figures["seconds"], 1e-9)
        self.speed = now if not self.speed else 0.95 * self.speed + 0.05 * now
        self.bar.update(self.task, completed=step, loss=figures["loss"], speed=self.speed)
        if not notes.is_terminal and time.monotonic() - self.spoke > self.LINES_EVERY_SECONDS:
            self.spoke = time.monotonic()
            notes.print(f"step {step}/{self.total}  loss {figures['loss']:.3f}  {self.speed:,.0f} tokens/s")

    def validated(self, step: int, figures: Mapping[str, float]) -> None:
        self.validation = f"{figures['loss']:.3f}"
        self.bar.update(self.task, validation=self.validation)
        rest = "  ".join(f"{name} {value:.3f}" for name, value in figures.items() if name != "loss")
        notes.print(f"step {step}: validation loss [bold]{figures['loss']:.4f}[/bold]  {rest}")

    def said(self, message: str) -> None:
        notes.print(f"[yellow]note:[/yellow] {message}")

    def finished(self, step: int) -> None:
        self.stop()

    def stop(self) -> None:
        """Gives the terminal back, also after an interruption."""
        self.bar.stop()


def read_lines(path: Path | None) -> list[str]:
    """Lines of a file or of standard input, without their ends; invalid UTF-8 is named by line and byte."""
    from regard.core.errors import DataError

    if path is not None and not path.is_file():
        raise DataError(f"there is no file {path}")
    raw = path.read_bytes() if path is not None else sys.stdin.buffer.read()
    lines = raw.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    texts = []
    for number, line in enumerate(lines, start=1):
        try:
            texts.append(line.decode("utf-8").rstrip("\r"))
        except UnicodeDecodeError as error:
            where = path or "standard input"
            raise DataError(f"{where}, line {number}: byte {error.start + 1} is not UTF-8; convert it first") from error
    return texts
