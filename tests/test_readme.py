"""The README and the pages of docs/ keep their word: every command and every piece of Python in them is run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from regard.cli.main import main
from regard.core.config import parse
from regard.runs.recipe import Recipe, recipes

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, *languages: str) -> list[tuple[str, str]]:
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [(language, text) for language, text in found if language in languages]


def commands(block: str) -> Iterator[str]:
    """What stands after ``$ ``, with the lines that a backslash continues."""
    for line in block.replace("\\\n", " ").splitlines():
        if line.startswith("$ "):
            yield line.removeprefix("$ ")


def run_command(command: str) -> None:
    words = shlex.split(command, comments=True)
    if words[0] == "make":
        assert set(words[1:]) <= targets(), f"{command}: the Makefile has no such target"
    elif words[0] == "regard" and not set("|<>&;$`") & set(command):
        with pytest.raises(SystemExit) as leaving:
            main(words[1:])
        assert not leaving.value.code, command
    else:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        shell = ["bash", "-euo", "pipefail", "-c", command]
        done = subprocess.run(shell, env={**os.environ, "PATH": path}, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def targets() -> set[str]:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^(\w+):", makefile, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_says_can_be_done(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order and in one empty folder; names of Python live on from one block to the next."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before, names = set(sys.modules), dict[str, Any](__name__="__main__")
    for language, text in blocks(page, "console", "python"):
        if language == "python":
            exec(compile(text, str(page), "exec"), names)
        else:
            for command in commands(text):
                run_command(command)
    for name in set(sys.modules) - before:  # parts that the page wrote beside itself
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_recipe_on_a_page_is_one(page: Path) -> None:
    for _, text in blocks(page, "toml"):
        parse(Recipe, tomllib.loads(text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_on_a_page_leads_somewhere(page: Path) -> None:
    """Files of ours; what stands elsewhere is not asked for."""
    found = re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", page.read_text(encoding="utf-8"))
    missing = [link for link in found if not (page.parent / link).exists()]
    assert not missing


def test_the_readme_has_what_these_tests_look_for() -> None:
    """So that none of them passes because a pattern found nothing."""
    kinds = [language for language, _ in blocks(ROOT / "README.md", "console", "python", "toml")]
    assert kinds.count("console") >= 3
    assert kinds.count("python") >= 2
    assert kinds.count("toml") >= 1
    assert {"demo", "test"} <= targets()


def test_the_readme_names_every_shipped_recipe() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert not [name for name in recipes() if f"`{name}`" not in readme]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_a_page_names_are_there(page: Path) -> None:
    prose = BLOCK.sub("", page.read_text(encoding="utf-8"))
    named = re.findall(r"`((?:[\w-]+/)*\w+\.py)`", prose)
    held = ["/" + path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py") if ".venv" not in path.parts]
    missing = [name for name in named if not any(path.endswith(f"/{name}") for path in held)]
    assert [name for name in missing if "NAME" not in name] == []  # a file that the reader is to write
