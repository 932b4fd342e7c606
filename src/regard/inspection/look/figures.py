"""The same things as figures for paper: each chosen head, the depths, the heads by their entropy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from regard.core.anatomy import anatomy_of
from regard.inspection.asking import Question, questions
from regard.inspection.depths import depths_of
from regard.inspection.figure import Figure, matplotlib
from regard.inspection.head_figures import depths_figure, statistics_figure, weights_figure
from regard.inspection.head_statistics import head_statistics
from regard.inspection.look.heads import Wanted, layers_of
from regard.inspection.reading import read_question
from regard.runs.load import Run

Drawing = tuple[str, Callable[[], Figure]]


def figures(run: Run, texts: Sequence[str], targets: Sequence[str], wanted: Wanted) -> list[Drawing]:
    """File names, and what draws them; a text's own come under its number."""
    matplotlib()
    asked, numbers = questions(run, texts, targets), layers_of(run)
    found: list[Drawing] = [("entropy", lambda: statistics_figure(head_statistics(run, asked), "entropy"))]
    for number, one in enumerate(asked, start=1):
        heads = [head for head in read_question(run, one).heads if wanted.takes(numbers[head.name], head.head)]
        found += [(f"text-{number}-{head.name}-{head.head}", partial(weights_figure, head)) for head in heads]
        if anatomy_of(run.model).depth_path:
            found.append((f"text-{number}-depths", partial(_depths, run, one)))
    return found


def _depths(run: Run, asked: Question) -> Figure:
    return depths_figure(depths_of(run, asked))
