"""One tiny translator for all commands that need a trained run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command import regard, settings

from regard.cli.console import console, notes


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A run folder and what ``regard train --json`` said about it; tests do not write into the folder."""
    folder = tmp_path_factory.mktemp("cli") / "run"
    return folder, regard("train", "small-world", "--out", folder, "--json", *settings()).json


@pytest.fixture
def run(trained: tuple[Path, dict[str, Any]]) -> Path:
    return trained[0]


@pytest.fixture(autouse=True)
def _colour_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    for one in (console, notes):
        monkeypatch.setattr(one, "no_color", one.no_color)
