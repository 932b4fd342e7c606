"""Several recipes on the same data, with the same tokenizer, seeds and budget: trained and scored.

What was decided (which recipes, how many steps each) stands in ``plan.json`` before the first training starts, so
that an interrupted comparison goes on where it stopped.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from regard.core.auto import is_auto
from regard.core.config import drop_unused, parse
from regard.core.errors import RecipeError, RunError, enumerate_problems
from regard.core.files import read_json, write_json
from regard.core.metrics import Details
from regard.core.seams import Observer
from regard.core.seams.capabilities import Compares, ScoresInDetail
from regard.core.seams.task import Progress, Session, Task
from regard.data.examples import OneInput
from regard.runs.budget import Budget, Pace, measure_pace, with_steps
from regard.runs.evaluate import scored_splits
from regard.runs.folder import RunFolder, differences
from regard.runs.integrity import scored_corpus
from regard.runs.load import Run, load
from regard.runs.recipe import Recipe, recipe_sets
from regard.runs.train import Trained, build_task, load_corpus, train

SHARED = ("data", "tokenizer", "task", "decoding")  # what must be the same for a score to mean the same
VALIDATIONS = 12  # points on each learning curve
EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Entry:
    """One training of the comparison."""

    name: str
    seed: int
    recipe: Recipe
    folder: Path

    @property
    def result(self) -> Path:
        return self.folder / "comparison.json"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A folder with a plan, its runs and, once they are done, their results."""

    path: Path
    recipes: tuple[Recipe, ...]
    seeds: tuple[int, ...]
    budget: Budget

    @classmethod
    def of(
        cls, recipes: Sequence[str | Path], out: Path, budget: Budget, seeds: Sequence[int], settings: Iterable[str]
    ) -> Comparison:
        """The named recipes (a shipped set stands for its members); those that would not be comparable are refused."""
        settings = list(settings)
        named = [one for recipe in recipes for one in recipe_sets().get(str(recipe), (recipe,))]
        made = tuple(Recipe.read(one, settings) for one in named)
        check_scored(made)
        check_comparable(made)
        if not (budget.seconds or budget.steps):
            check_steps(made)
        return cls(out, made, tuple(seeds), budget)

    @property
    def plan(self) -> Path:
        return self.path / "plan.json"

    def decide(self, said: Callable[[str], None]) -> list[Entry]:
        """Every training with its number of steps: what the plan says already, or a measurement now."""
        recipes = [recipe.model_dump(mode="json") for recipe in self.recipes]
        asked = {"recipes": recipes, "seeds": list(self.seeds), "budget": asdict(self.budget)}
        plan: dict[str, Any] = read_json(self.plan) if self.plan.exists() else {"asked": asked, "paces": {}}
        self._check_same(completed(plan["asked"]), asked)
        for recipe in self.recipes:
            if self.budget.seconds and recipe.name not in plan["paces"]:
                said(f"{recipe.name}: measuring how long a step takes")
                plan["paces"][recipe.name] = asdict(measure_pace(recipe))
                write_json(self.plan, plan)
        write_json(self.plan, plan)
        paces = {name: Pace(**pace) for name, pace in plan["paces"].items()}
        return [self._entry(recipe, seed, paces) for seed in self.seeds for recipe in self.recipes]

    def _check_same(self, held: dict[str, Any], asked: dict[str, Any]) -> None:
        if held == asked:
            return
        problems = differences(_flat(held), _flat(asked))
        raise RunError(
            enumerate_problems(f"{self.path} holds another comparison; choose another --out. Differing", problems)
        )

    def _entry(self, recipe: Recipe, seed: int, paces: dict[str, Pace]) -> Entry:
        steps = paces[recipe.name].steps_in(self.budget.seconds) if self.budget.seconds else self.budget.steps
        fitted = within(recipe, steps or recipe.training.steps, seed, self.seeds[0])
        return Entry(recipe.name, seed, fitted, self.path / "runs" / f"{recipe.name}-{seed}")


def completed(asked: dict[str, Any]) -> dict[str, Any]:
    """Settings that came into being after a plan was made stand in it as they are by default."""
    recipes = [parse(Recipe, one, "plan.json", drop_unused) for one in asked["recipes"]]
    return {**asked, "recipes": [one.model_dump(mode="json") for one in recipes]}


def _flat(asked: dict[str, Any]) -> dict[str, Any]:
    """Recipes by name, so that differences are named by path."""
    return {**asked, "recipes": {recipe["name"]: recipe for recipe in asked["recipes"]}}


def check_scored(recipes: Sequence[Recipe]) -> None:
    """A task says itself by which figures its runs are compared; without any there is nothing to compare."""
    unscored = sorted({recipe.task.kind for recipe in recipes if not recipe.task.headline})
    if unscored:
        raise RecipeError(
            f"runs of {', '.join(unscored)} have no figures to be compared by; name some of those that the task's "
            "score() gives in its settings class: headline = (Metric(name, title), …), the one that decides first"
        )


def check_steps(recipes: Sequence[Recipe]) -> None:
    """Without a budget every recipe says itself how long it is trained."""
    undecided = [recipe.name for recipe in recipes if is_auto(recipe.training.steps)]
    if undecided:
        raise RecipeError(
            f"training.steps is \"auto\" in {', '.join(undecided)}, and a comparison is decided before data is read: "
            "give --budget 10m or --budget 2000steps, or set training.steps"
        )


def check_comparable(recipes: Sequence[Recipe]) -> None:
    """Different data, tokenizers, tasks or decoding make different scores; all differences are named at once."""
    names = [recipe.name for recipe in recipes]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RecipeError(f"recipes need different names; used twice: {', '.join(twice)}")
    first, problems = recipes[0], []
    for other in recipes[1:]:
        ours, theirs = shared_tables(first), shared_tables(other)
        problems += differences(ours, theirs, f"in {first.name}", f"in {other.name}")
    if problems:
        told = "these recipes cannot be compared; make them agree (--set reaches all of them)"
        raise RecipeError(enumerate_problems(told, problems))


def shared_tables(recipe: Recipe) -> dict[str, Any]:
    """What must be the same, as far as the recipe uses it: no tokenizer has a part in pictures."""
    return {name: table for name, table in recipe.tables().items() if name in SHARED}


def within(recipe: Recipe, steps: int, seed: int, data_seed: int) -> Recipe:
    """The recipe with this many steps; validations and checkpoints are spread over them, the warm-up fits in."""
    every = max(1, steps // VALIDATIONS)
    return with_steps(
        recipe,
        steps,
        f"seed={seed}",
        f"data_seed={recipe.data_seed or data_seed}",
        f"training.validate_every={every}",
        f"training.checkpoint_every={every}",
    )


def train_entry(entry: Entry, observers: Iterable[Observer] = ()) -> Trained:
    """Trains one entry, as far as that has not been done."""
    return train(entry.recipe, entry.folder, resume=RunFolder(entry.folder).recipe.exists(), observers=observers)


def score_entry(entry: Entry, trained: Trained, progress: Progress | None = None) -> dict[str, Any]:
    """Scores one entry, unless that has been done; returns its result."""
    if entry.result.exists():
        return read_json(entry.result)
    result = {"name": entry.name, "seed": entry.seed, **scored(load(entry.folder), trained, progress)}
    write_json(entry.result, result)
    return result


def scored(run: Run, trained: Trained, progress: Progress | None = None) -> dict[str, Any]:
    """All that a report tells about one run; the scores are the run's own, as ``regard evaluate`` would give them."""
    corpus = scored_corpus(run.folder, load_corpus(run.recipe))
    task = build_task(run.recipe, corpus, run.modalities)
    split = scored_splits(corpus.splits)[0]
    found = details(task, run.session(progress=progress), split)
    scores = {"split": split, **found.scores}
    write_json(run.folder.scores, scores)
    examples = corpus.splits[split]
    return {
        "training": asdict(trained),
        "parameters": sum(weight.numel() for weight in run.model.parameters()),
        "scores": scores,
        "examples_per_second": len(task.examples(split, 0)) / found.seconds,
        "curve": learning_curve(run.folder, run.recipe.task.accuracy),
        "by_length": list(found.by_length),
        "examples": answered(run, task, examples[:EXAMPLES], found.answers[:EXAMPLES]),
    }


def details(task: Task, session: Session, split: str) -> Details:
    """The scores of a split and what they come from, as far as the task keeps it."""
    if isinstance(task, ScoresInDetail):
        return task.score_in_detail(session, split)
    began = time.perf_counter()
    scores = task.score(session, split)
    return Details(scores, time.perf_counter() - began)


def answered(run: Run, task: Task, examples: Sequence[Any], answers: Sequence[str]) -> list[dict[str, str]]:
    """Examples with their references and the run's answers; none where a task has no single right answer."""
    if not isinstance(task, Compares):
        return []
    said = answers or run.predict([one.input if isinstance(one, OneInput) else one.source for one in examples])
    return [
        {"source": example.source, "reference": example.target, "answer": answer}
        for example, answer in zip(examples, said, strict=True)
    ]


def learning_curve(folder: RunFolder, accuracy: str) -> list[dict[str, float]]:
    """What each validation found, with the training seconds spent until then."""
    lines = [json.loads(text) for text in folder.metrics.read_text(encoding="utf-8").splitlines()]
    return [
        {name: line[name] for name in ("step", "seconds", "loss", accuracy) if name in line}
        for line in lines
        if line.get("split") == "validation"
    ]
