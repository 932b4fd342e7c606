"""Prefetching: the order and the errors of a plain loop, made ahead, and nothing left running."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from regard.data.prefetch import prefetch


def running() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("prefetch")]


@pytest.mark.parametrize(("ahead", "workers"), [(0, 1), (1, 1), (3, 2), (50, 4)])
def test_everything_comes_in_order(ahead: int, workers: int) -> None:
    def make(job: int) -> int:
        time.sleep(0.002 * (job % 3))  # the later one may be ready first
        return job * job

    assert list(prefetch(make, range(20), ahead, workers)) == [job * job for job in range(20)]
    assert not running()


def test_as_many_are_made_ahead_as_is_said_and_no_more() -> None:
    made: list[int] = []
    stream = prefetch(lambda job: made.append(job) or job, range(100), ahead=3)  # type: ignore[func-returns-value]
    assert next(stream) == 0
    deadline = time.monotonic() + 5
    while len(made) < 4 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert made == [0, 1, 2, 3]
    stream.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("ahead", [0, 2])
def test_an_error_comes_at_its_own_place(ahead: int) -> None:
    seen = []
    with pytest.raises(ZeroDivisionError):
        for made in prefetch(lambda job: 6 // job, [3, 2, 1, 0, 5], ahead):
            seen.append(made)
    assert seen == [2, 3, 6]
    assert not running()


def test_an_error_of_the_jobs_themselves_comes_after_what_was_made() -> None:
    def jobs() -> Iterator[int]:
        yield 1
        yield 2
        raise KeyError("jobs")

    seen: list[int] = []
    with pytest.raises(KeyError):
        seen.extend(prefetch(lambda job: job, jobs(), ahead=1))
    assert not running()


def test_whoever_leaves_the_loop_stops_the_workers() -> None:
    begun: list[int] = []

    def make(job: int) -> int:
        begun.append(job)
        time.sleep(0.005)
        return job

    for made in prefetch(make, range(1000), ahead=4, workers=2):
        if made == 3:
            break
    assert not running()
    assert len(begun) <= 3 + 1 + 4
