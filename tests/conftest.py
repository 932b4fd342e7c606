"""What every test shares: a cache of its own, data that lies beside the clone, and a word on what was skipped."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tokens and tokenizers are kept here, so that nobody's home is written to."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REGARD_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def shared() -> Callable[[str], Path]:
    """Finds data in ``../shared``, beside the clone: too large to be part of it, so a test without it is skipped."""

    def find(name: str) -> Path:
        path = Path(__file__).resolve().parents[2] / "shared" / name
        if not path.exists():
            pytest.skip(f"the data is not part of the repository, and there is no ../shared/{name}")
        return path

    return find


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """With ``REGARD_SKIP_NOTHING=1`` a skipped test fails, unless it is for want of data beside the clone."""
    report: pytest.TestReport = yield
    if os.environ.get("REGARD_SKIP_NOTHING") == "1" and report.skipped and "shared" not in item.fixturenames:
        report.outcome = "failed"
        report.longrepr = f"REGARD_SKIP_NOTHING=1, but this test was skipped: {report.longreprtext}"
    return report
