"""Recipes with one bad setting, in a file or behind ``--set``: a wrong type, an unknown key, an endless number."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from tests.fuzzing.trying import Case
from tests.settings import fuzzing
from tests.settings.files import write_files
from tests.settings.kinds import Tree


@cache
def grounds() -> tuple[Tree, ...]:
    """Tiny recipes of every kind, and the files that they read."""
    return tuple(fuzzing.grounds(write_files(Path(mkdtemp(prefix="regard-fuzzing-")) / "data")))


def bad_settings(seed: int, number: int, folder: Path) -> Case:
    """The case with this number: the recipe is read, and trained for two steps if it can be."""
    found = fuzzing.case(grounds(), random.Random(f"{seed} {number}"))

    def run() -> str:
        fuzzing.try_training(found, folder, as_file=bool(number % 2))
        return ""

    way = "file" if number % 2 else "--set"
    return Case(f"{way} {found.name} {number}", "refused" if found.must_fail else "either", run)
