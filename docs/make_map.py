"""Writes docs/map.md, the map of the house, from the first docstring line of every module.

    python docs/make_map.py          rewrite the map
    python docs/make_map.py --check  exit with 1 if it has drifted
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAP = ROOT / "docs" / "map.md"
OPENING = """# The map of the house

Every file in a line, from the first sentence of its docstring; made by `docs/make_map.py`. Imports point down this list
only: a file imports from its own folder and from folders below it.
"""
FOLDERS = (
    "cli", "serving", "interop", "inspection", "runs", "training", "tasks", "decoding", "models", "layers",
    "attention", "data", "core",
)  # fmt: skip


def first_line(path: Path) -> str:
    documentation = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return documentation.splitlines()[0] if documentation else ""


def house_map() -> str:
    lines = [OPENING]
    for folder in (ROOT / "src" / "regard" / name for name in FOLDERS):
        lines += [f"## `{folder.name}/`", "", first_line(folder / "__init__.py"), ""]
        for path in sorted(folder.rglob("*.py")):
            name = path.relative_to(folder).as_posix()
            if name != "__init__.py":
                lines.append(f"- `{name.removesuffix('__init__.py')}` — {first_line(path)}")
        lines.append("")
    return "\n".join(lines)


def main() -> int:
    made = house_map()
    if "--check" in sys.argv:
        return int(not MAP.is_file() or MAP.read_text(encoding="utf-8") != made)
    MAP.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
