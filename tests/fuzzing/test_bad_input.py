"""One case of every kind of bad input; ``python -m tests.fuzzing`` tries as many as one likes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzzing.bad_files import KINDS, bad_files
from tests.fuzzing.bad_folders import IMPORTED, RUNS, bad_imports, bad_runs
from tests.fuzzing.trying import Case, Ended, Failure, attempt

SEED = 5


@pytest.mark.parametrize("number", range(len(KINDS)), ids=[maker.__name__ for maker, _ in KINDS])
def test_bad_files_are_told(number: int, tmp_path: Path) -> None:
    found = attempt(bad_files(SEED, number, tmp_path))
    assert not isinstance(found, Failure), found


@pytest.mark.parametrize("number", range(len(RUNS)), ids=[f"{name}-{one.__name__}" for name, one in RUNS])
def test_bad_run_folders_are_told(number: int, tmp_path: Path) -> None:
    found = attempt(bad_runs(SEED, number, tmp_path))
    assert not isinstance(found, Failure), found


@pytest.mark.parametrize("number", range(len(IMPORTED)), ids=[f"{name}-{one.__name__}" for name, one in IMPORTED])
def test_bad_imported_folders_are_told(number: int, tmp_path: Path) -> None:
    found = attempt(bad_imports(SEED, number, tmp_path))
    assert not isinstance(found, Failure), found


def test_what_goes_wrong_is_seen() -> None:
    """What finds failures would find them."""

    def forever() -> str:
        while True:
            pass

    assert attempt(Case("a", "refused", lambda: "taken")) == Failure("a", "silent acceptance", "taken")
    assert attempt(Case("b", "told", lambda: "")) == Failure("b", "silent acceptance", "nothing was said")
    assert attempt(Case("e", "told", lambda: "a row is left out")) == Ended("told", "a row is left out")
    assert attempt(Case("f", "either", lambda: "")) == Ended("taken")
    broken = attempt(Case("c", "either", lambda: str(1 // 0)))
    assert isinstance(broken, Failure)
    assert (broken.kind, "ZeroDivisionError" in broken.detail) == ("traceback", True)
    hung = attempt(Case("d", "either", forever), seconds=0.2)
    assert isinstance(hung, Failure)
    assert hung.kind == "hang"
