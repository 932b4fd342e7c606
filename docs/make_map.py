"""Writes the map of the house into README.md, from the first docstring line of every module.

    python docs/make_map.py          rewrite the map
    python docs/make_map.py --check  exit with 1 if it has drifted
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- map: made by docs/make_map.py -->", "<!-- end of map -->"
# The order of the house: imports point down this list only.
FOLDERS = (
    "cli", "serving", "interop", "inspection", "runs", "training", "tasks", "decoding", "models", "layers",
    "attention", "data", "core",
)  # fmt: skip


def first_line(path: Path) -> str:
    documentation = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return documentation.splitlines()[0] if documentation else ""


def house_map() -> str:
    lines = []
    for folder in (ROOT / "src" / "regard" / name for name in FOLDERS):
        if not folder.is_dir():
            continue
        summary = f"<code>{folder.name}/</code> {first_line(folder / '__init__.py')}"
        lines += ["<details>", f"<summary>{summary}</summary>", ""]
        for path in sorted(folder.rglob("*.py")):
            name = path.relative_to(folder).as_posix()
            if name != "__init__.py":
                lines.append(f"- `{name.removesuffix('/__init__.py')}` — {first_line(path)}")
        lines += ["", "</details>"]
    return "\n".join(lines)


def with_map(text: str) -> str:
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{house_map()}\n{END}{after}"


def main() -> int:
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    if "--check" in sys.argv:
        return int(with_map(text) != text)
    readme.write_text(with_map(text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
