"""Prefetching: the next batches are made in background threads while the current one is used."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Job = TypeVar("Job")
Made = TypeVar("Made")


def prefetch(
    make: Callable[[Job], Made], jobs: Iterable[Job], ahead: int = 2, workers: int = 1
) -> Iterator[Made]:
    """``make(job)`` for every job, in their order, up to ``ahead`` of them before they are asked for.

    Law: what comes out is what ``map(make, jobs)`` gives, an exception at its own place included. Jobs are taken from
    ``jobs`` by the thread that iterates, never by a worker. Whoever stops iterating stops the workers: they finish
    what they have begun and begin nothing more. With ``ahead = 0`` there are no threads.
    """
    if ahead < 1:
        yield from map(make, jobs)
        return
    pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="prefetch")
    coming: deque[Future[Made]] = deque()
    try:
        for job in jobs:
            coming.append(pool.submit(make, job))
            if len(coming) > ahead:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
