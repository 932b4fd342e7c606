"""Options that a run has no use for are refused in words: whoever gives one believes that it does something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from regard.cli.options.strategy import WAYS, said
from regard.core.errors import OptionError

if TYPE_CHECKING:
    from regard.runs.load import Run


class Use(NamedTuple):
    """Options, whether a run has a use for them, and which runs have."""

    options: tuple[str, ...]
    there: bool
    runs: str


def generates(run: Run) -> bool:
    """Whether it writes its answers token by token."""
    return run.recipe.task.generates


def uses_in_prediction(run: Run) -> tuple[Use, ...]:
    from regard.core.seams.anatomy import anatomy_of
    from regard.core.seams.capabilities import AnswersQuestions, Classifies, Continues, Fills, Forecasts, Translates

    task, writes = run.task, generates(run)
    translates = isinstance(task, Translates)
    several = writes or isinstance(task, AnswersQuestions | Classifies | Fills)
    aligns = translates and bool(anatomy_of(run.model).source_attention)
    return (
        Use((*WAYS, "max_tokens"), writes, "runs that write their answers token by token"),
        Use(("n_best",), several, "runs that find several answers to an input"),
        Use(("scores",), writes or isinstance(task, Fills), "runs that answer in words (labels have a probability)"),
        Use(("reference",), translates, "runs that go from text to text"),
        Use(("alignment",), aligns, "runs whose model attends to its source"),
        Use(
            ("prompt", "interactive", "stop", "echo", "shots", "keep_end"), isinstance(task, Continues),
            "language models",
        ),
        Use(("context",), isinstance(task, AnswersQuestions), "runs that answer questions"),
        Use(("figure",), isinstance(task, Forecasts), "runs that forecast"),
    )  # fmt: skip


def uses_in_evaluation(run: Run) -> tuple[Use, ...]:
    from regard.core.seams.capabilities import Continues

    answers = generates(run) and not isinstance(run.task, Continues)
    return (Use(("beam", "greedy"), answers, "runs that are scored by the answers that they write"),)


def check_useful(run: Run, uses: Sequence[Use], given: Mapping[str, Any]) -> None:
    """All options of ``given`` that would do nothing for this run, in one error."""
    named = [(said({name: given.get(name) for name in use.options}), use) for use in uses]
    idle = [(options, use.runs) for options, use in named if options and not use.there]
    if idle:
        reasons = (
            f"{', '.join(options)}, which {'is' if len(options) == 1 else 'are'} for {runs}" for options, runs in idle
        )
        one = sum(len(options) for options, _ in idle) == 1
        raise OptionError(
            f"{run.folder.path} ({run.recipe.task.kind}) has no use for {' nor for '.join(reasons)}; leave "
            f"{'it' if one else 'them'} out"
        )
