"""Tries 2,000 bad inputs in one process and prints what none may do; ``python -m tests.fuzzing --count 9 --seed 1``."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import torch

from tests.fuzzing.bad_files import bad_files
from tests.fuzzing.bad_folders import bad_imports, bad_runs
from tests.fuzzing.bad_settings import bad_settings
from tests.fuzzing.trying import Failure, attempt

KINDS = {"files": bad_files, "settings": bad_settings, "runs": bad_runs, "imported": bad_imports}
ENDS = ("refused", "told", "taken", "traceback", "hang", "silent acceptance")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500, help="of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--kind", choices=(*KINDS,), action="append")
    given = parser.parse_args()
    torch.set_num_threads(1)
    whole: Counter[str] = Counter()
    for kind in given.kind or KINDS:
        began, ended = time.monotonic(), Counter(dict.fromkeys(ENDS, 0))
        for number in range(given.first, given.first + given.count):
            with tempfile.TemporaryDirectory() as folder:
                found = attempt(KINDS[kind](given.seed, number, Path(folder)))
            ended[found.kind] += 1
            if isinstance(found, Failure):
                print(f"--- {found.kind}: {found.name}\n{found.detail}", flush=True)  # noqa: T201
        whole += ended
        print(f"{kind}: {in_words(ended)} ({time.monotonic() - began:.0f} s)", flush=True)  # noqa: T201
    print(f"{whole.total():,} bad inputs: {in_words(whole)}")  # noqa: T201
    return int(any(whole[end] for end in ENDS[3:]))


def in_words(ended: Counter[str]) -> str:
    return ", ".join(f"{ended[end]:,} {end}" for end in ENDS)


if __name__ == "__main__":
    sys.exit(main())
