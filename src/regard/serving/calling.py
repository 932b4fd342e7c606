"""One input, a list of them, or a generator: answers come in the same form and order, found in batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from inspect import isabstract
from itertools import islice
from typing import Any, TypeVar

from regard.core.config import nearest
from regard.core.errors import OptionError
from regard.core.seams.task import Task
from regard.data.modalities.text.modality import TextModality
from regard.runs.load import Run

Capability = TypeVar("Capability")

AT_ONCE = 64
"""Inputs that are taken from a generator before the first of them is answered."""


class Pipeline(ABC):
    """A run behind the calling convention of Hugging Face's pipelines, version 4.

    Options may be given when it is made or when it is called; those of the call have the last word. ``known`` are the
    options with their defaults; ``idle`` are options of theirs that have nothing to do here, and are taken silently.
    ``modality`` is what the run must read, ``needs`` what its task must be able to do, and ``kind`` the usual task.kind
    that can.
    """

    task: str
    known: dict[str, Any]
    needs: type[Any] = Task
    kind: str = ""
    modality: type[Any] = TextModality
    ignored: frozenset[str] = frozenset({"batch_size", "truncation", "padding", "num_workers", "max_length"})

    def __init__(self, run: Run, **options: Any) -> None:
        self.run = run
        self.check_run()
        self.options = self.checked(options)

    @classmethod
    def reads(cls, run: Run) -> bool:
        """Whether the run's inputs are what this pipeline takes."""
        return isinstance(run.modalities.input, cls.modality)

    @classmethod
    def can_answer(cls, run: Run) -> bool:
        """Whether the run's task is the one that this pipeline needs."""
        return isinstance(run.task, cls.needs)

    def task_as(self, capability: type[Capability]) -> Capability:
        """The run's task as one that can do what this pipeline needs; that it can was checked."""
        assert isinstance(self.run.task, capability)
        return self.run.task

    def check_run(self) -> None:
        """A run that cannot do this task is refused when the pipeline is made."""
        where, run = str(self.run.folder.path), self.run
        if not self.reads(run):
            found = f"{where} reads {run.modalities.input.name}s, which the pipeline {self.task!r} does not take"
        elif not self.can_answer(run):
            needed = f" of task.kind = {self.kind!r}" if self.kind else " whose model gives states of tokens"
            trained = run.recipe.task.kind
            found = f"{where} was trained for {trained}, and the pipeline {self.task!r} needs a run{needed}"
        else:
            return
        raise OptionError(f"{found}; use {others(run)}, or name another model")

    def checked(self, options: dict[str, Any]) -> dict[str, Any]:
        every = {*self.known, *self.ignored}
        unknown = [f"{name!r}{nearest(name, every)}" for name in options if name not in every]
        if unknown:
            named = ", ".join(sorted(self.known))
            raise OptionError(f"the pipeline {self.task!r} has no option {', '.join(unknown)}; it has: {named}")
        return options

    def __call__(self, inputs: Any, **options: Any) -> Any:
        chosen = {**self.known, **self.options, **self.checked(options)}
        if isinstance(inputs, list | tuple):
            return self.answer_all(list(inputs), chosen)
        if isinstance(inputs, Iterable) and not self.is_one(inputs):
            return self.stream(iter(inputs), chosen)
        return self.alone(self.answer([inputs], chosen)[0])

    def is_one(self, inputs: Any) -> bool:
        """Whether something that could be gone through is a single input all the same."""
        return isinstance(inputs, str | dict)

    def stream(self, inputs: Iterator[Any], options: dict[str, Any]) -> Iterator[Any]:
        """Answers in the order of the inputs, as they are found."""
        size = int(options.get("batch_size") or AT_ONCE)
        while taken := list(islice(inputs, size)):
            yield from self.answer_all(taken, options)

    def answer_all(self, inputs: list[Any], options: dict[str, Any]) -> list[Any]:
        return self.answer(inputs, options) if inputs else []

    @abstractmethod
    def answer(self, inputs: Sequence[Any], options: dict[str, Any]) -> list[Any]:
        """What stands in the list of answers, for each input."""

    def alone(self, answer: Any) -> Any:
        """What is returned for a single input that stands in no list."""
        return answer


def strings(inputs: Sequence[Any], task: str) -> list[str]:
    """Texts, or an error that says what was found."""
    kinds = ((place, type(one)) for place, one in enumerate(inputs, start=1))
    wrong = [f"{place} is {kind.__name__}" for place, kind in kinds if not issubclass(kind, str)]
    if wrong:
        raise OptionError(f"the pipeline {task!r} takes texts; input {', '.join(wrong[:10])}")
    return list(inputs)


def check_value(name: str, found: Any, there: Sequence[str]) -> None:
    """A value that an option does not have is refused with those it has."""
    if found not in there:
        raise OptionError(f"no {name} {found!r}{nearest(str(found), there)}; available: {', '.join(there)}")


def others(run: Run) -> str:
    """How a run can be called, where the pipeline that was asked for does not fit it."""
    model = str(run.folder.path)
    fitting = [one.task for one in pipelines_of(Pipeline) if one.reads(run) and one.can_answer(run)]
    ways = [f"regard.pipeline({task!r}, model={model!r})" for task in fitting]
    return " or ".join(ways or [f"regard.load({model!r}).predict(inputs)"])


def pipelines_of(family: type[Pipeline]) -> Iterator[type[Pipeline]]:
    """Every pipeline that answers, whatever it shares with others."""
    for one in family.__subclasses__():
        if not isabstract(one):
            yield one
        yield from pipelines_of(one)
