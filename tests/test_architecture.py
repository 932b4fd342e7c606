"""The house's arrows: a file imports from its own folder and from folders below it, and only cli/ prints."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "regard"
TOP_DOWN = (
    "cli", "serving", "interop", "inspection", "runs", "training", "tasks", "decoding", "models", "layers",
    "attention", "data", "core",
)  # fmt: skip
FILES = sorted(SOURCE.rglob("*.py"))


def imported(path: Path) -> Iterator[tuple[str, bool]]:
    """Modules of the house that a file imports, and whether only for type checking."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            if name.startswith("regard.") and name.split(".")[1] in TOP_DOWN:
                yield name, id(node) in typing_only


def test_every_folder_has_a_place_in_the_order() -> None:
    folders = {path.name for path in SOURCE.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    assert folders <= set(TOP_DOWN)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path: Path) -> None:
    folder = path.relative_to(SOURCE).parts[0]
    if folder not in TOP_DOWN:
        return  # __init__.py at the top is lazy and names everything
    for name, typing_only in imported(path):
        other = name.split(".")[1]
        below = TOP_DOWN.index(other) >= TOP_DOWN.index(folder)
        assert below or (typing_only and folder == "core"), f"{path} imports {other}/, which lies above {folder}/"


def test_families_never_import_one_another() -> None:
    for path in (SOURCE / "models").glob("*.py"):
        others = {f"regard.models.{other.stem}" for other in (SOURCE / "models").glob("*.py")}
        assert not others & {name for name, _ in imported(path)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_opens_with_a_sentence_and_only_the_command_line_prints(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), f"{path} does not say what it is for"
    if "cli" not in path.parts:
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        assert not any(isinstance(call.func, ast.Name) and call.func.id == "print" for call in calls)


def test_the_map_has_not_drifted() -> None:
    assert subprocess.run([sys.executable, ROOT / "docs" / "make_map.py", "--check"]).returncode == 0, (
        "run: python docs/make_map.py"
    )


def test_importing_regard_and_asking_for_help_does_not_import_torch() -> None:
    code = (
        "import sys, regard, regard.cli.main\n"
        "try: regard.cli.main.main(['--help'])\n"
        "except SystemExit: pass\n"
        "assert 'torch' not in sys.modules, 'torch was imported'"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "demo" in done.stdout


FOLDERS = [path for top in (SOURCE, ROOT / "tests") for path in top.rglob("*") if path.is_dir()]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_folder_of_many_files_has_a_second_level(folder: Path) -> None:
    files = [path.name for path in folder.iterdir() if path.is_file() and path.suffix != ".pyc"]
    assert len(files) <= 23, f"{folder} holds {len(files)} files; give those that belong together a folder of their own"


def lines_with(*words: str) -> list[str]:
    """The lines in which one of these words stands, with their place."""
    return [
        f"{path.relative_to(SOURCE)}:{number}: {line.strip()}"
        for path in FILES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if any(word in line for word in words)
    ]


def test_reflection_is_rare_and_never_asks_what_a_task_a_model_or_a_configuration_is() -> None:
    found = lines_with("hasattr(", "getattr(")
    assert len(found) <= 40, found
    asked = re.compile(r"(?:has|get)attr\((?:\w+\.)*(?:task|model|body|config|configuration|recipe)\b,")
    guesses = [line for line in found if asked.search(line)]
    assert not guesses, guesses


def test_types_are_rarely_ignored() -> None:
    found = lines_with("type: ignore")
    assert len(found) <= 12, found
