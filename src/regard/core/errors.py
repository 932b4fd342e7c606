"""Errors a user can cause: what was found, what was expected, where, and the remedy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

INPUTS_NAMED = 20
"""Inputs of an error that are named one by one."""


class RegardError(Exception):
    """Base of everything that a user can get wrong; the command line prints it without a traceback."""


class RecipeError(RegardError):
    """A recipe that cannot be read: unknown keys, wrong types, impossible combinations."""


class DataError(RegardError):
    """Data that cannot be read as it stands."""


class InputError(DataError):
    """Inputs that cannot be answered: what is wrong with each, by its place among those that were asked, from 0.

    Only whoever gave the inputs knows what the user calls them: ``at`` moves places, ``named`` gives them names.
    """

    def __init__(self, title: str, problems: Mapping[int, str], remedy: str) -> None:
        self.title, self.problems, self.remedy = title, problems, remedy
        super().__init__(self.named(lambda place: f"input {place + 1}"))

    def at(self, places: Sequence[int]) -> InputError:
        """The same among other inputs, where the n-th of these has the n-th place."""
        moved = {places[place]: problem for place, problem in self.problems.items()}
        return InputError(self.title, moved, self.remedy)

    def named(self, name: Callable[[int], str]) -> str:
        """The message, with each input under the name that the user knows it by."""
        found = [f"{name(place)} ({problem})" if problem else name(place) for place, problem in self.problems.items()]
        more = f" and {len(found) - INPUTS_NAMED:,} others" if len(found) > INPUTS_NAMED else ""
        return f"{self.title}: {', '.join(found[:INPUTS_NAMED])}{more}; {self.remedy}"


class InputWarning(UserWarning):
    """Inputs that are answered, though not all of them was read."""


class RunError(RegardError):
    """A run folder that is missing something, holds something foreign, or is already taken."""


class TrainingError(RegardError):
    """Training that cannot go on: a loss that is not a number, an impossible option for this task."""


class OptionError(RegardError):
    """Options of a command or a function that do not go together."""


class NoMatrix(RegardError):
    """A mechanism was asked for its attention matrix and has none."""


OUT_OF_MEMORY = ("out of memory", "not enough memory", "allocate memory", "bad_alloc", "paging file is too small")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether Python, numpy or torch (which has no class of its own for it on a CPU) found no more memory."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(words in str(error).lower() for words in OUT_OF_MEMORY)
    )


def enumerate_problems(title: str, problems: Sequence[str]) -> str:
    """All problems of one kind in one message, never just the first."""
    if len(problems) == 1:
        return f"{title}: {problems[0]}"
    return f"{title}: {len(problems)} problems\n" + "\n".join(f"  - {problem}" for problem in problems)
