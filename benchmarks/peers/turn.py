"""A process that trains in turns: it warms up, says ``ready``, and trains a few steps for each line that it gets."""

import sys
from collections.abc import Callable

Progress = Callable[[int], tuple[float, float]]
"""Seconds and amount (tokens, pictures) so far, after so many steps."""


def take_turns(step: Callable[[], object], warm_up: int, steps: int, progress: Progress) -> None:
    """Prints for each line of standard input how much a second was trained in so many steps."""
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        for _ in range(count):
            step()
        done += count

    advance(warm_up)
    print("ready", flush=True)
    for _ in sys.stdin:
        before = progress(done)
        advance(steps)
        after = progress(done)
        print((after[1] - before[1]) / (after[0] - before[0]), flush=True)
