"""Prepares the inputs of a task: leaves out empty ones, and names the place of those that are wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from regard.core.answers import Answer
from regard.core.errors import InputError, RegardError
from regard.core.seams.capabilities import ParsesInputs
from regard.core.seams.modality import HoldsSeveral, Modality
from regard.core.seams.task import Task

Find = Callable[[list[Any], list[int]], list[list[Answer]]]
"""Is given inputs and their places among all, and answers them."""


def as_list(inputs: Any) -> list[Any]:
    """One input is a list of one."""
    return [inputs] if isinstance(inputs, str | Path) else list(inputs)


def is_empty(one: Any) -> bool:
    """Whether it is a text without anything in it; nothing else is empty."""
    return isinstance(one, str) and not one.strip()


def answer_nonempty(inputs: Sequence[Any], find: Find) -> list[list[Answer]]:
    """What ``find`` says of each input; of an empty text nothing. Its errors name places among all inputs."""
    places = [place for place, one in enumerate(inputs) if not is_empty(one)]
    answers: list[list[Answer]] = [[] for _ in inputs]
    if not places:
        return answers
    try:
        found = find([inputs[place] for place in places], places)
    except InputError as error:
        raise error.at(places) from None
    for place, own in zip(places, found, strict=True):
        answers[place] = own
    return answers


def parse_input(task: Task, modality: Modality, argument: str) -> Any:
    """A word of the command line as the task takes it."""
    return task.parse(argument) if isinstance(task, ParsesInputs) else modality.parse(argument)


def members_of(task: Task, modality: Modality, argument: str) -> Sequence[str]:
    """What a word of the command line stands for: a file that holds several inputs for each of them."""
    if isinstance(task, ParsesInputs):
        return task.members(argument)
    return modality.members(argument) if isinstance(modality, HoldsSeveral) else [argument]


def parsed(task: Task, modality: Modality, inputs: Sequence[Any]) -> list[Any]:
    """Raw inputs from the words of a command line; all that cannot be read are named at once."""
    raws: list[Any] = []
    wrong: dict[int, str] = {}
    for place, one in enumerate(inputs):
        try:
            raws.append(parse_input(task, modality, str(one)) if isinstance(one, str | Path) else one)
        except RegardError as error:
            wrong[place] = str(error)
    if wrong:
        raise InputError(f"a {modality.name} is expected in every input", wrong, "correct or leave them out")
    return raws


def best_text(answers: Sequence[Answer]) -> str:
    """The best answer in one line; the empty one where there is none."""
    return answers[0].text if answers else ""
