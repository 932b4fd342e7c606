"""Tries a case in this process, with a limit of time, and says what came of it."""

from __future__ import annotations

import contextlib
import os
import signal
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Literal

from regard.core.errors import RegardError

Expected = Literal["refused", "told", "either"]
"""What must come of a case: an error in words; that, or words about what was left out; or that, or nothing at all."""
SECONDS = 300.0  # by the clock, for what waits; long, since the machine may be busy with other things
CPU_SECONDS = 25.0  # of work, for what never ends


class TooLong(BaseException):
    """No error of the program, so that nothing in it can catch it."""


@dataclass(frozen=True)
class Case:
    """One bad input: what it is, and what is done with it. ``run`` says what was told of it, nothing if nothing was."""

    name: str
    expected: Expected
    run: Callable[[], str]


@dataclass(frozen=True)
class Ended:
    """A case that ended well: refused in words, told of in words, or taken, since it is not bad after all."""

    kind: Literal["refused", "told", "taken"]
    words: str = ""


@dataclass(frozen=True)
class Failure:
    """A case that ended as none may."""

    name: str
    kind: Literal["traceback", "hang", "silent acceptance"]
    detail: str


def attempt(case: Case, seconds: float = SECONDS) -> Failure | Ended:
    """What came of it."""
    try:
        with limited(seconds):
            told = case.run()
    except RegardError as error:
        if not str(error).strip():
            return Failure(case.name, "traceback", "an error without a word")
        return Ended("refused", str(error))
    except TooLong:
        return Failure(case.name, "hang", "".join(traceback.format_exc()[-1500:]))
    except (Exception, SystemExit):
        return Failure(case.name, "traceback", traceback.format_exc()[-2500:])
    if case.expected == "refused" or (case.expected == "told" and not told):
        return Failure(case.name, "silent acceptance", told or "nothing was said")
    return Ended("told" if told else "taken", told)


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLong

    before = {number: signal.signal(number, stop) for number in (signal.SIGALRM, signal.SIGVTALRM)}
    signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS)
    try:
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere), contextlib.redirect_stdout(nowhere):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
