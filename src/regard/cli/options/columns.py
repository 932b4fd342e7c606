"""The options --task and --…-column: what the user says about files to learn from."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from types import MappingProxyType

import typer

OPTIONS = {
    "task": typer.Option("", "--task", metavar="TASK", help="What to learn from files: translation, classification, …"),
    "source_column": typer.Option("", "--source-column", metavar="NAME", help="Column to translate from."),
    "target_column": typer.Option("", "--target-column", metavar="NAME", help="Column to translate into."),
    "text_column": typer.Option("", "--text-column", metavar="NAME", help="Column of the texts."),
    "second_column": typer.Option(
        "", "--second-column", metavar="NAME", help="Column of a second text, where a label belongs to a pair of texts."
    ),
    "label_column": typer.Option("", "--label-column", metavar="NAME", help="Column of the labels."),
}
"""By the name of the hint (``data.discovery.found.Hints``)."""
NO_HINTS: Mapping[str, str] = MappingProxyType({})


def with_columns(command: Callable[..., None]) -> Callable[..., None]:
    """The command with these options in the place of its argument ``hints``, through which it gets them together."""
    own = inspect.signature(command, eval_str=True)
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option, annotation=str)
        for name, option in OPTIONS.items()
    ]
    parameters: list[inspect.Parameter] = []
    for one in own.parameters.values():
        parameters += options if one.name == "hints" else [one.replace(kind=inspect.Parameter.KEYWORD_ONLY)]

    @wraps(command)
    def called(**given: object) -> None:
        hints = {name: given.pop(name) for name in OPTIONS}
        command(**given, hints=hints)

    called.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called
