"""Upgrades recipes of earlier formats, step by step, when they are read.

A recipe in a run folder says its ``format``; those of the first one say none. A recipe that somebody writes needs no
format: it is of the newest, and a key of an earlier one in it is refused with its name of today.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from regard.core.config import read_toml
from regard.core.errors import RecipeError, enumerate_problems
from regard.runs.formats.format_2 import keys_of_format_1, to_format_2
from regard.runs.formats.format_3 import to_format_3
from regard.runs.formats.format_4 import keys_of_format_3, to_format_4

NEEDED = ("model", "task")
"""Tables of every run."""

FORMAT = 4
"""What is written today."""

Tree = dict[str, Any]


class RecipeTree(NamedTuple):
    """A recipe file as a tree of today's format, the folder from which its relative paths count, and whether it was
    written out whole: with every key, and so with its format."""

    tree: Tree
    base: Path
    whole: bool


def read_recipe(path: Path) -> RecipeTree:
    """A recipe file; without a format it is of the newest, unless it is that of a run folder, then of the first."""
    tree = read_toml(path)
    written = tree.get("format", 1 if in_run_folder(path) else FORMAT)
    # In the first format paths counted from wherever one happened to be.
    base = Path.cwd() if written == 1 else path.absolute().parent
    whole = "format" in tree or in_run_folder(path)
    return RecipeTree(upgraded({**tree, "format": written}, str(path)), base, whole)


def read_run_recipe(path: Path) -> Tree:
    """The recipe of a run folder."""
    tree = read_toml(path)
    missing = [f"[{name}]" for name in NEEDED if name not in tree]
    if missing:
        raise RecipeError(
            f"{path} is not whole: a run writes its recipe complete, and {', '.join(missing)} is missing; restore it"
        )
    return upgraded({**tree, "format": tree.get("format", 1)}, str(path))


def in_run_folder(path: Path) -> bool:
    """Whether a run has written more beside it."""
    beside = ("environment.json", "model.safetensors", "checkpoints")
    return path.name == "recipe.toml" and any((path.parent / name).exists() for name in beside)


def upgraded(tree: Mapping[str, Any], where: str = "recipe") -> Tree:
    """The same in today's format; a tree that names no format is of today's."""
    found = tree.get("format", FORMAT)
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise RecipeError(f"{where}: format: a whole number from 1 to {FORMAT} is expected, found {found!r}")
    if found > FORMAT:
        raise RecipeError(
            f"{where}: it is of format {found}, and this version of Regard reads formats 1 to {FORMAT}; use a newer "
            "version"
        )
    made = dict(tree)
    for number in range(found, FORMAT):
        made = STEPS[number](made)
    return {**made, "format": FORMAT}


def check_renamed(tree: Mapping[str, Any], where: str) -> None:
    """Keys of an earlier format in a recipe of today are refused, with what to write instead."""
    problems = [problem for renamed in RENAMED for problem in renamed(tree)]
    if problems:
        raise RecipeError(enumerate_problems(where, problems))


STEPS: dict[int, Callable[[Tree], Tree]] = {1: to_format_2, 2: to_format_3, 3: to_format_4}
"""From each earlier format to the next; every step takes a tree and gives a new one."""
RENAMED: tuple[Callable[[Mapping[str, Any]], list[str]], ...] = (keys_of_format_1, keys_of_format_3)
"""What looks for keys of earlier formats in a recipe of today."""
