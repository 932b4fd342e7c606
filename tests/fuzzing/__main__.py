"""Tries many bad inputs and prints what none may do: ``python -m tests.fuzzing --count 1000 --seed 1``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.fuzzing.bad_files import bad_files
from tests.fuzzing.bad_folders import bad_folders
from tests.fuzzing.trying import Failure, attempt


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="files, and as many folders")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--kind", choices=("files", "folders"), action="append")
    given = parser.parse_args()
    tried: Counter[str] = Counter()
    for kind in given.kind or ("files", "folders"):
        make = {"files": bad_files, "folders": bad_folders}[kind]
        for number in range(given.first, given.first + given.count):
            with tempfile.TemporaryDirectory() as folder:
                case = make(given.seed, number, Path(folder))
                found = attempt(case)
            tried["cases"] += 1
            if isinstance(found, Failure):
                tried[found.kind] += 1
                print(f"--- {found.kind}: {found.name}\n{found.detail}", flush=True)  # noqa: T201
    print(", ".join(f"{count:,} {what}" for what, count in tried.items()))  # noqa: T201
    return int(tried.total() > tried["cases"])


if __name__ == "__main__":
    sys.exit(main())
