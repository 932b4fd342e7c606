"""One input, a list of them, or a generator: answers come in the same form and order, found in batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from regard.core.config import nearest
from regard.core.errors import OptionError
from regard.data.modalities.text.modality import TextModality
from regard.runs.load import Run

Capability = TypeVar("Capability")

KINDS_OF_INPUT = {"text": "text", "sound": "audio"}
"""What inputs are called in the names of pipelines, by what a modality calls them."""
AT_ONCE = 64
"""Inputs that are taken from a generator before the first of them is answered."""


class Pipeline(ABC):
    """A run behind the calling convention of Hugging Face's pipelines, version 4.

    Options may be given when it is made or when it is called; those of the call have the last word. ``known`` are the
    options with their defaults; ``idle`` are options of theirs that have nothing to do here, and are taken silently.
    ``modality`` is what the run must read.
    """

    task: str
    known: dict[str, Any]
    modality: type[Any] = TextModality
    ignored: frozenset[str] = frozenset({"batch_size", "truncation", "padding", "num_workers", "max_length"})

    def __init__(self, run: Run, **options: Any) -> None:
        self.run = run
        self.check_input_kind()
        self.check_run()
        self.options = self.checked(options)

    def check_input_kind(self) -> None:
        """A run that reads pictures answers no texts, nor the other way round."""
        reads = self.run.modalities.input
        if not isinstance(reads, self.modality):
            there = f"{KINDS_OF_INPUT.get(reads.name, 'image')}-classification"
            raise OptionError(
                f"{self.run.folder.path} reads {reads.name}s, and the pipeline {self.task!r} does not; use "
                f"regard.pipeline({there!r}, model={str(self.run.folder.path)!r}), or name a run that reads what you "
                "have"
            )

    @abstractmethod
    def check_run(self) -> None:
        """A run that cannot do this task is refused when the pipeline is made."""

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


def fitting(run: Run, capability: type[Capability], task: str, kind: str) -> Capability:
    """The run's task as one that can do what a pipeline needs."""
    if not isinstance(run.task, capability):
        raise cannot_answer(run, task, kind)
    return run.task


def cannot_answer(run: Run, task: str, kind: str) -> OptionError:
    return OptionError(
        f"{run.folder.path} was trained for {run.recipe.task.kind}, and the pipeline {task!r} needs a run of task.kind "
        f"= {kind!r}; name another model, or make one with: regard train RECIPE --from {run.folder.path}"
    )
