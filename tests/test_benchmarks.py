"""What the benchmarks take from Regard is there: they run for minutes, so that nobody runs them at every change."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"
SCRIPTS = sorted(path for path in FOLDER.rglob("*.py") if ".venv" not in str(path))


def imported(tree: ast.Module) -> Iterator[tuple[str, Any]]:
    """Names that a script gives to parts of Regard, and the parts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "regard":
            module = importlib.import_module(node.module or "")
            for one in node.names:
                try:
                    found = getattr(module, one.name)
                except AttributeError:
                    found = importlib.import_module(f"{node.module}.{one.name}")
                yield one.asname or one.name, found
        elif isinstance(node, ast.Import):
            for one in node.names:
                if one.name.split(".")[0] == "regard":
                    yield one.asname or "regard", importlib.import_module(one.name if one.asname else "regard")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(FOLDER)))
def test_what_is_imported_exists(script: Path) -> None:
    tree = ast.parse(script.read_text(encoding="utf-8"))
    modules = {name: part for name, part in imported(tree) if isinstance(part, ModuleType)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            getattr(modules[node.value.id], node.attr)


def test_a_name_that_is_gone_is_found() -> None:
    with pytest.raises(ImportError, match="gone"):
        list(imported(ast.parse("def measure():\n    from regard.runs import gone")))
