"""Errors a user can cause: what was found, what was expected, where, and the remedy."""

from __future__ import annotations

from collections.abc import Sequence


class RegardError(Exception):
    """Base of everything that a user can get wrong; the command line prints it without a traceback."""


class RecipeError(RegardError):
    """A recipe that cannot be read: unknown keys, wrong types, impossible combinations."""


class DataError(RegardError):
    """Data that cannot be read as it stands."""


class RunError(RegardError):
    """A run folder that is missing something, holds something foreign, or is already taken."""


class TrainingError(RegardError):
    """Training that cannot go on: a loss that is not a number, an impossible option for this task."""


class OptionError(RegardError):
    """Options of a command or a function that do not go together."""


class NoMatrix(RegardError):
    """A mechanism was asked for its attention matrix and has none."""


def enumerate_problems(title: str, problems: Sequence[str]) -> str:
    """All problems of one kind in one message, never just the first."""
    if len(problems) == 1:
        return f"{title}: {problems[0]}"
    return f"{title}: {len(problems)} problems\n" + "\n".join(f"  - {problem}" for problem in problems)
