"""Trains a tiny recipe and says what came of it: everything in its folder, and on request its scores."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import regard
from regard.core.errors import RegardError
from regard.runs.evaluate import evaluate
from tests.settings.kinds import Tree

SAID_OF_THE_MACHINE = ("environment.json", "summary.json", "recipe.toml")
TIMES = ("seconds", "tokens_per_second")


@dataclass(frozen=True)
class Outcome:
    """The files that a training made, by name, or why it was refused."""

    files: dict[str, str]
    refusal: str = ""
    run: Path | None = None

    def scores(self) -> str:
        """Of its answers; a run that cannot be scored says why."""
        assert self.run is not None
        try:
            found = evaluate(regard.load(self.run), yardsticks=False)
        except RegardError as error:
            return f"refused: {error}"
        return json.dumps(found, sort_keys=True, default=str)


def outcome(recipe: Tree) -> Outcome:
    run = Path(tempfile.mkdtemp()) / "run"
    try:
        regard.train(recipe, run)
    except RegardError as error:
        shutil.rmtree(run.parent)
        return Outcome({}, str(error))
    return Outcome(files_of(run), run=run)


def files_of(run: Path) -> dict[str, str]:
    """What each file says, but for when and where it was written."""
    return {
        str(path.relative_to(run)).partition("events.out")[0]: contents(path)
        for path in sorted(run.rglob("*"))
        if path.is_file() and path.name not in (*SAID_OF_THE_MACHINE, "state.json")
    }


def contents(path: Path) -> str:
    if path.name == "metrics.jsonl":
        lines: list[dict[str, Any]] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return json.dumps([{key: value for key, value in line.items() if key not in TIMES} for line in lines])
    if "events.out" in path.name:
        return "events"
    return hashlib.sha256(path.read_bytes()).hexdigest()
