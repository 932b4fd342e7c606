"""Which options apply to which runs; those that would have no effect are refused with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from regard.cli.options.strategy import DECODING_OPTIONS, given_options
from regard.core.errors import OptionError

if TYPE_CHECKING:
    from regard.runs.load import Run


class OptionGroup(NamedTuple):
    """Options that apply to the same runs: whether this run is one of them, and which runs are."""

    options: tuple[str, ...]
    applies: bool
    runs: str


def generates(run: Run) -> bool:
    """Whether it writes its answers token by token."""
    return run.recipe.task.generates


def prediction_options(run: Run) -> tuple[OptionGroup, ...]:
    from regard.core.seams.anatomy import anatomy_of
    from regard.core.seams.capabilities import AnswersQuestions, Classifies, Continues, Fills, Forecasts, Translates

    task, writes = run.task, generates(run)
    translates = isinstance(task, Translates)
    several = writes or isinstance(task, AnswersQuestions | Classifies | Fills)
    aligns = translates and bool(anatomy_of(run.model).source_attention)
    return (
        OptionGroup((*DECODING_OPTIONS, "max_tokens"), writes, "runs that write their answers token by token"),
        OptionGroup(("n_best",), several, "runs that find several answers to an input"),
        OptionGroup(
            ("scores",), writes or isinstance(task, Fills), "runs that answer in text (labels come with a probability)"
        ),
        OptionGroup(("reference",), translates, "runs that go from text to text"),
        OptionGroup(("alignment",), aligns, "runs whose model attends to its source"),
        OptionGroup(
            ("prompt", "interactive", "stop", "echo", "shots", "keep_end"), isinstance(task, Continues),
            "language models",
        ),
        OptionGroup(("context",), isinstance(task, AnswersQuestions), "runs that answer questions"),
        OptionGroup(
            ("figure",), isinstance(task, Forecasts) or run.recipe.data.grey is not None,
            "runs that forecast, or continue pictures",
        ),
    )  # fmt: skip


def evaluation_options(run: Run) -> tuple[OptionGroup, ...]:
    from regard.core.seams.capabilities import Continues

    answers = generates(run) and not isinstance(run.task, Continues)
    return (OptionGroup(("beam", "greedy"), answers, "runs that are scored by the answers that they write"),)


def check_applicable(run: Run, uses: Sequence[OptionGroup], given: Mapping[str, Any]) -> None:
    """All options of ``given`` that would do nothing for this run, in one error."""
    named = [(given_options({name: given.get(name) for name in use.options}), use) for use in uses]
    idle = [(options, use.runs) for options, use in named if options and not use.applies]
    if idle:
        reasons = (
            f"{', '.join(options)}, which {'is' if len(options) == 1 else 'are'} for {runs}" for options, runs in idle
        )
        one = sum(len(options) for options, _ in idle) == 1
        raise OptionError(
            f"{run.folder.path} ({run.recipe.task.kind}) has no use for {' nor for '.join(reasons)}; leave "
            f"{'it' if one else 'them'} out"
        )
