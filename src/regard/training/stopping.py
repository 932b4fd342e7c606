"""Stopping on request: Ctrl-C and SIGTERM are obeyed after the current step, once it is saved."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupted(Exception):
    """The user stopped training; everything so far is in a checkpoint."""

    def __init__(self, step: int) -> None:
        super().__init__(f"stopped after step {step}")
        self.step = step


class StopRequest(threading.Event):
    """Whether somebody wants training to stop."""

    def __init__(self) -> None:
        super().__init__()
        self.was_told = False

    def is_new(self) -> bool:
        """True once after the request, so that what takes long can say that it was heard."""
        is_new, self.was_told = self.is_set() and not self.was_told, self.is_set()
        return is_new


@contextmanager
def stop_signals() -> Iterator[StopRequest]:
    """Ctrl-C and SIGTERM are answered at the end of the step; a second Ctrl-C is obeyed at once."""
    event = StopRequest()

    def ask(number: int, frame: FrameType | None) -> None:
        if event.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        event.set()

    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield event
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
