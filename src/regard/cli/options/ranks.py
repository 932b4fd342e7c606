"""The option --ranks: several processes on this machine, each computing a part of every training step."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from regard.core.errors import OptionError

ENDING_SECONDS = 20
"""How long the others have to save and leave when the first one ends."""


@contextmanager
def launch_ranks(count: int, words: Sequence[str]) -> Iterator[None]:
    """While the block lasts, this process is the first of ``count`` that run this command, ``regard`` with these words.

    Whether it pays must be tried: small operations run side by side, but every process has an optimiser to step, and
    gradients travel. It must come before torch is imported.
    """
    if count == 1 or "WORLD_SIZE" in os.environ:  # alone, or one of several already
        yield
        return
    cores = os.cpu_count() or 1
    if count > cores:
        raise OptionError(f"--ranks {count} on {cores} cores cannot run at the same time; give at most {cores}")
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, cores // count)))
    os.environ |= {"WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    command = [sys.executable, "-m", "regard.cli.main", *words]
    others = [
        subprocess.Popen(
            command, env={**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank)}, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        for rank in range(1, count)
    ]  # fmt: skip
    os.environ |= {"RANK": "0", "LOCAL_RANK": "0"}
    try:
        yield
        for other in others:
            other.wait(ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        pass
    finally:
        for other in others:
            other.kill()
            other.wait()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
