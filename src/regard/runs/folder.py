"""The run folder: its files, their names, and which of them make it complete."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.core.auto import WORD, filled
from regard.core.errors import RecipeError, RunError
from regard.runs.formats.upgrade import read_run_recipe


class FileOf:
    """The path of a file, or of a folder, whose name is the same in every run folder."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, folder: RunFolder, owner: type[RunFolder]) -> Path:
        return folder.path / self.name


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Names of the files of a run."""

    path: Path

    recipe = FileOf("recipe.toml")
    weights = FileOf("model.safetensors")
    checkpoints = FileOf("checkpoints")
    metrics = FileOf("metrics.jsonl")
    ledger = FileOf("ledger.json")
    scores = FileOf("scores.json")
    environment = FileOf("environment.json")
    summary = FileOf("summary.json")

    def split(self, name: str) -> Path:
        """The examples of a split that was set aside from the training examples: validation.jsonl, test.jsonl."""
        return self.path / f"{name}.jsonl"

    def require(self, *files: Path) -> None:
        """Raises one error that names everything that is missing."""
        if not self.path.is_dir():
            raise RunError(f"there is no run folder {self.path}; make one with: regard train RECIPE --out {self.path}")
        missing = [file.name for file in files if not file.exists()]
        if not missing:
            return
        hint = f"finish it with: regard train {self.recipe} --out {self.path} --resume"
        if self.recipe in files and not self.recipe.exists():
            hint = "it does not look like a run folder; name the folder that was given to regard train --out"
        raise RunError(f"{self.path} has no {', no '.join(missing)}: {hint}")

    @property
    def is_empty(self) -> bool:
        return not self.path.exists() or (self.path.is_dir() and not any(self.path.iterdir()))

    def empty(self) -> None:
        """Takes everything out of it."""
        for inside in self.path.iterdir() if self.path.is_dir() else ():
            if inside.is_dir():
                shutil.rmtree(inside)
            else:
                inside.unlink()

    def clear(self) -> None:
        """Removes files that a kill left half written."""
        for leftover in self.path.glob(".*.part"):
            leftover.unlink(missing_ok=True)

    def check_free(self) -> None:
        """A folder that holds anything is left alone."""
        self.check_same_run("", resume=False)

    def check_same_run(self, recipe_toml: str, *, resume: bool) -> None:
        """A folder that holds anything but this very run is left alone."""
        if not self.path.exists():
            return
        if not self.path.is_dir():
            raise RunError(f"{self.path} is a file; name a folder with --out")
        inside = sorted(path.name for path in self.path.iterdir() if path.suffix != ".part")  # left by a kill
        if not inside:
            return
        if not self.recipe.exists():
            raise RunError(
                f"{self.path} is not empty and holds no run ({', '.join(inside[:5])}…); choose another --out"
            )
        if not resume:
            raise RunError(
                f"{self.path} already holds a run; continue it with --resume, or choose another --out"
            )
        held = read_run_recipe(self.recipe)
        if not same_recipe(held, recipe_toml):
            raise RunError(
                f"{self.path} holds a run of another recipe than the one given; resume it with its own: "
                f"regard train {self.recipe} --out {self.path} --resume; differing: "
                + "; ".join(differences(held, filled(tomllib.loads(recipe_toml), held)))
            )


def same_recipe(held_tree: dict[str, Any], given_toml: str) -> bool:
    """Settings that came into being after a run was made count as they are by default."""
    from regard.runs.recipe import Recipe  # it needs every part of the house; most who ask for a folder need none

    given = tomllib.loads(given_toml)
    if agree(held_tree, given):
        return True
    try:
        held = Recipe.of(held_tree)  # its paths made absolute, as those of the given one are
        undecided = held.model_copy(update={"task": held.task.unresolved()})  # without what the data decided
        trees = [tomllib.loads(one.to_toml()) for one in (held, undecided)]
        return any(agree(tree, given) for tree in trees)
    except RecipeError:
        return False


def agree(held: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    """Whether nothing differs but the description, and what the given recipe leaves to be decided."""
    held, theirs = dict(_by_path(held)), dict(_by_path(filled(given, held)))
    open_to = {"description"}
    if given.get("training", {}).get("steps") == WORD:
        open_to.add("training.schedule.warmup")  # a time budget shortens one that is long for the steps
    return all(held.get(path) == theirs.get(path) for path in {**held, **theirs} if path not in open_to)


def differences(
    held: Mapping[str, Any], given: Mapping[str, Any], here: str = "in the folder", there: str = "given"
) -> list[str]:
    """The settings that differ, by path: their values in the folder and in the given recipe."""
    ours, theirs = dict(_by_path(held)), dict(_by_path(given))
    return [
        f"{path} = {ours.get(path, 'nothing')} {here}, {theirs.get(path, 'nothing')} {there}"
        for path in {**ours, **theirs}
        if ours.get(path) != theirs.get(path)
    ]


def _by_path(tree: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _by_path(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", repr(value)
