"""Ctrl-C and SIGTERM while answers are written: lines are completed, and the command to continue is shown."""

from __future__ import annotations

import shlex
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

SKIP = "--skip"


class Interruption:
    """Stops the work at once, but what is being written is written to its end; asked twice, it does not wait."""

    def __init__(self) -> None:
        self.writing = False
        self.asked = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        if self.writing and not self.asked:
            self.asked = True
            return
        raise KeyboardInterrupt

    @contextmanager
    def until_written(self) -> Iterator[None]:
        self.writing = True
        try:
            yield
        finally:
            self.writing = False
        if self.asked:
            raise KeyboardInterrupt


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """Both signals raise ``KeyboardInterrupt``, though never in the middle of a line."""
    interruption = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield interruption
        return
    before = {number: signal.signal(number, interruption.handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interruption
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def resume_command(words: Sequence[str], done: int) -> str:
    """The command that answers what is left, made of the words of the one that was stopped."""
    kept: list[str] = []
    for place, word in enumerate(words):
        before = words[place - 1] if place else ""
        if word != SKIP and before != SKIP and not word.startswith(f"{SKIP}="):
            kept.append(word)
    end = kept.index("--") if "--" in kept else len(kept)
    kept[end:end] = [SKIP, str(done)]
    return f"{shlex.join(['regard', *kept])} >> OUTPUT"
