"""Processes that train a few steps whenever it is their turn, so that what else the machine does meets all of them."""

import argparse
import select
import statistics
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from peers.turn import take_turns

PATIENCE = 150
"""Seconds after which a process that is not ready is left out."""


class Trainer:
    """A process that says ``ready``, and then, for each line that it is given, how much a second it trained."""

    def __init__(self, script: Path, *arguments: str, python: str | Path = sys.executable) -> None:
        self.process = subprocess.Popen(
            [python, script, *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip

    def is_ready(self) -> bool:
        return self.first_line() == "ready"

    def first_line(self) -> str:
        """``ready``, or why it is not."""
        found, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        return self.process.stdout.readline().strip() if found else f"not ready after {PATIENCE} s"  # type: ignore[union-attr]

    def turn(self) -> float:
        """So much a second."""
        self.process.stdin.write("go\n")  # type: ignore[union-attr]
        self.process.stdin.flush()  # type: ignore[union-attr]
        return float(self.process.stdout.readline())  # type: ignore[union-attr]

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def in_turns(name: str, commands: Mapping[str, tuple[Path, Sequence[str]]], rounds: int) -> dict[str, list[float]]:
    """What each process trained a second, round by round; one that is not ready in time is left out."""
    trainers: dict[str, Trainer] = {}
    try:
        for key, (script, arguments) in commands.items():
            trainer = Trainer(script, *arguments)
            if trainer.is_ready():
                trainers[key] = trainer
            else:
                trainer.end()
                print(f"{name}: {key} is left out: not ready after {PATIENCE} s", flush=True)
        found: dict[str, list[float]] = {key: [] for key in trainers}
        for number in range(rounds):
            for key, trainer in trainers.items():
                found[key].append(trainer.turn())
            said = ", ".join(f"{key} {own[-1]:,.0f}" for key, own in found.items())
            print(f"{name}, round {number + 1}: {said}", flush=True)
    finally:
        for trainer in trainers.values():
            trainer.end()
    return found


def train_in_turns(recipe: Mapping[str, Any], folder: Path, warm_up: int, steps: int) -> None:
    """The loop that trains recipes, on its turns."""
    from regard.runs.folder import RunFolder
    from regard.runs.recipe import Recipe
    from regard.runs.train import prepare
    from regard.training import machine

    loop = prepare(Recipe.of(dict(recipe)), RunFolder(folder), machine.Ranks(), [])
    batches = loop.batches()
    seen = loop.progress
    take_turns(lambda: loop.step(next(batches)), warm_up, steps, lambda _: (seen.seconds, seen.tokens))


def turns_parser(description: str, shapes: Iterable[str], ways: Iterable[str]) -> argparse.ArgumentParser:
    """Rounds, a shape alone, and what a process of our own side is started with."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--ours", choices=shapes, help=argparse.SUPPRESS)
    parser.add_argument("--way", choices=ways, default="float32", help=argparse.SUPPRESS)
    parser.add_argument("--shape", choices=shapes, help="This one alone, and nothing is written.")
    return parser


def ratio(ours: list[float], theirs: list[float]) -> float:
    """The median over rounds."""
    return round(statistics.median(own / other for own, other in zip(ours, theirs, strict=True)), 2)


def bfloat16_is_faster() -> bool:
    """Whether one matrix product is; a processor that emulates it takes minutes for seconds."""
    import torch

    from peers.huggingface_generation import product_seconds

    return product_seconds(torch.bfloat16) < product_seconds(torch.float32)
