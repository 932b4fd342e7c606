"""The report of a comparison: measures what explains the scores, and writes HTML, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from regard.core.config import Part
from regard.core.files import read_json, write_json, write_text
from regard.core.seams.capabilities import Translates
from regard.inspection.costs import costs_figure, measure_costs
from regard.inspection.flow.gradients import (
    GradientFlow,
    at_initialisation,
    depth_gradients,
    gradient_flow,
    jacobian_product,
    norms_figure,
    random_batch,
)
from regard.inspection.flow.long_sequences import Problem, long_sequences
from regard.inspection.reports.comparison_page import comparison_markdown, comparison_page
from regard.inspection.reports.comparison_report import Report, Result, rows_of
from regard.layers import CELLS
from regard.runs.comparison import Comparison
from regard.runs.load import Run, load
from regard.runs.recipe import Recipe

DISTANCE = 51  # positions over which gradients are followed
ROWS = 16
COST_SECONDS = 20.0
NORM = "gradient norm"
PROBLEMS: dict[Problem, str] = {
    "copy": "Copying ever longer sequences",
    "middle": "Recalling the middle of ever longer sequences",
}


def report_of(
    comparison: Comparison,
    results: Sequence[Result],
    cost_seconds: float = COST_SECONDS,
    long: Sequence[int] = (),
    report: Callable[[str], None] = lambda text: None,
) -> Report:
    """Everything that the report tells; what had to be measured is kept, so that a second report tells the same.

    ``long`` are the lengths at which the families are put to copy and recall; none: that takes long, it is left out.
    """
    kept = comparison.path / "measures.json"
    measures = read_json(kept) if kept.exists() else {}
    if "costs" not in measures:
        measures |= measure(comparison, cost_seconds)
        write_json(kept, measures)
    for problem in PROBLEMS if long else ():
        if f"long {problem}" not in measures:
            measures[f"long {problem}"] = measure_long(problem, long, report)
            write_json(kept, measures)
    descriptions = {recipe.name: recipe.description for recipe in comparison.recipes}
    first = comparison.recipes[0]
    facts = {
        **{name: str(table.model_dump(exclude_defaults=True) or table.kind) for name, table in shared_parts(first)},
        "budget": budget_in_words(comparison),
        "seeds": ", ".join(map(str, comparison.seeds)),
    }
    title = " against ".join(descriptions) if len(descriptions) < 4 else f"{len(descriptions)} models, one score"
    rows = rows_of(results, descriptions, first.task.headline, first.task.accuracy)
    return Report(title, rows, facts, measures, first.input.unit)


def shared_parts(recipe: Recipe) -> list[tuple[str, Part]]:
    """What all recipes have in common, as far as they use it."""
    parts: list[tuple[str, Part]] = [("data", recipe.data)]
    return [*parts, ("tokenizer", recipe.tokenizer), ("decoding", recipe.decoding)] if recipe.input.is_text else parts


def budget_in_words(comparison: Comparison) -> str:
    budget = comparison.budget
    if budget.seconds:
        return f"{budget.seconds / 60:g} minutes of training each, turned into steps by a short measurement"
    return f"{budget.steps:,} steps each" if budget.steps else "as each recipe says"


def measure(comparison: Comparison, cost_seconds: float) -> dict[str, Any]:
    """Why it happens: how far gradients reach where a target is read beside its source, depth, and costs."""
    depth = {norm: depth_gradients(norm).weights for norm in ("pre", "post")}
    costs = measure_costs(seconds=cost_seconds)
    return {
        **measure_reach(comparison),
        "depth": _measure("Twelve layers, pre-norm and post-norm, before training", depth, norms_figure(depth, NORM)),
        "costs": {
            "title": "What a layer costs here",
            "sentence": costs.sentence,
            "table": costs.table(),
            "figure": costs_figure(costs.over_lengths, "n") + costs_figure(costs.over_widths, "d"),
            "numbers": costs.as_dict(),
        },
    }


def measure_reach(comparison: Comparison) -> dict[str, Any]:
    """Gradients at the start and after training, and products of Jacobians; nothing for models without a target."""
    folders = {
        recipe.name: comparison.path / "runs" / f"{recipe.name}-{comparison.seeds[0]}"
        for recipe in comparison.recipes
    }
    runs = {name: load(folder) for name, folder in folders.items()}
    if not all(isinstance(run.task, Translates) for run in runs.values()):
        return {}
    start = at_initialisation()
    trained = {name: trained_flow(run) for name, run in runs.items()}
    cells = {kind: jacobian_product(new_cell(kind), DISTANCE - 1) for kind in CELLS.kinds()}
    return {
        "gradient flow at initialisation": _measure(
            "How far a gradient reaches, before training", start, norms_figure(start, NORM)
        ),
        "gradient flow after training": _measure(
            "How far a gradient reaches, after training", trained, norms_figure(trained, NORM)
        ),
        "jacobians": _measure(
            "The product of a cell's Jacobians", cells, norms_figure(cells, "largest singular value")
        ),
    }


def measure_long(problem: Problem, lengths: Sequence[int], report: Callable[[str], None]) -> dict[str, Any]:
    """Where each family breaks as sequences grow."""
    found = long_sequences(problem, lengths, report=report)
    told_of = {"sentence": found.sentence, "figure": found.figure(), "numbers": found.as_dict()}
    return {"title": PROBLEMS[problem], **told_of}


def _measure(title: str, named: dict[str, Any], figure: str) -> dict[str, Any]:
    return {
        "title": title,
        "sentence": " ".join(f"{name}: {norms.sentence}" for name, norms in named.items()),
        "figure": figure,
        "numbers": {name: norms.as_dict() for name, norms in named.items()},
    }


def trained_flow(run: Run) -> GradientFlow:
    source, target_BT = random_batch(run.vocabularies.ports(), DISTANCE, ROWS, seed=0)
    return gradient_flow(run.model.cpu(), source, target_BT)


def new_cell(kind: str, width: int = 64) -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return CELLS.resolve(kind)().build(width, width)


def write_report(report: Report, folder: Path) -> Path:
    """``report.html``, ``report.md`` and ``report.json``; returns the page."""
    write_json(folder / "report.json", report.as_dict())
    write_text(folder / "report.md", comparison_markdown(report))
    write_text(folder / "report.html", comparison_page(report))
    return folder / "report.html"
