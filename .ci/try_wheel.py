"""Build the wheel from a clean clone, install it into an empty environment without extras, and try it there."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from collections.abc import Iterable
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPOSITORY = Path(__file__).resolve().parent.parent

SHORT = ("training.steps=20", "data.train_size=2000", "data.validation_size=50", "data.test_size=50",
         "data.compositional_size=50")  # fmt: skip
NEEDS_EXTRA = {
    "figures": ("look", "demo/run", "the cat sat on the mat", "--png", "figures"),
    "onnx": ("export", "demo/run", "--to", "onnx", "--out", "onnx"),
    "ctranslate2": ("predict", "demo/run", "the cat sat on the mat", "--engine", "ctranslate2"),
}

IMPORT_ALL = """
import importlib, pkgutil, regard
from regard.core.errors import RegardError
count = refused = 0
for one in pkgutil.walk_packages(regard.__path__, "regard."):
    if not one.name.endswith("__main__"):
        count += 1
        try:
            importlib.import_module(one.name)
        except RegardError as error:
            assert "pip install" in str(error), error
            refused += 1
print(f"{count} modules can be imported, {refused} of them say what to install first")
"""

LIST_VERBS = """
from typer.main import get_command
from regard.cli.main import app
def verbs(group, before):
    for name, command in group.commands.items():
        print(*before, name)
        verbs(command, (*before, name)) if hasattr(command, "commands") else None
verbs(get_command(app), ())
"""


def run(*words: str | Path, folder: Path, code: int = 0, **environment: str) -> str:
    """All that a command said; the whole trial ends where one does not end with the code that is expected."""
    inherited = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(words, cwd=folder, env={**inherited, **environment}, capture_output=True, text=True)
    said = done.stdout + done.stderr
    if done.returncode != code:
        raise SystemExit(f"{' '.join(map(str, words))}\nended with {done.returncode}, not with {code}\n{said}")
    return said


def build(folder: Path) -> tuple[Path, Path]:
    """A clone of what is committed, and the wheel that is built from it."""
    clone, wheels = folder / "clone", folder / "wheels"
    run("git", "clone", "--quiet", REPOSITORY, clone, folder=folder)
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, clone, folder=folder)
    [wheel] = wheels.glob("*.whl")
    return clone, wheel


def check_contents(clone: Path, wheel: Path) -> int:
    """Every file of the package is in the wheel (recipes, scripts and styles of pages too), and nothing else is."""
    committed = set(run("git", "ls-files", ".", folder=clone / "src").split("\n")) - {""}
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    wrong = [*(f"missing: {name}" for name in sorted(committed - held)),
             *(f"not committed: {name}" for name in sorted(held - committed))]  # fmt: skip
    if wrong:
        raise SystemExit("\n".join([f"{wheel.name} does not hold what src holds", *wrong]))
    return len(held)


def closure(requirements: Iterable[str]) -> Iterable[Distribution]:
    """What is installed here of the requirements and of all that they require, without extras that nobody asks for."""
    found: dict[str, Distribution] = {}
    waiting, seen = [(text, "") for text in requirements], set()
    while waiting:
        text, of_extra = waiting.pop()
        requirement = Requirement(text)
        if requirement.marker and not requirement.marker.evaluate({"extra": of_extra}):
            continue
        one = found.setdefault(canonicalize_name(requirement.name), distribution(requirement.name))
        for extra in ("", *requirement.extras):
            if (one.name, extra) not in seen:
                seen.add((one.name, extra))
                waiting += [(text, extra) for text in one.requires or ()]
    return found.values()


def install(wheel: Path, folder: Path) -> Path:
    """The programs of an environment that holds the wheel, what its metadata requires, and nothing else.

    What it requires is linked from the environment that runs this script: a second copy of torch would take minutes.
    Pip then checks the versions; a requirement that the metadata does not name is missing when it is imported.
    """
    venv.create(folder, with_pip=False)
    [site] = folder.glob("lib/python*/site-packages")
    [metadata] = [path for path in zipfile.Path(wheel).iterdir() if path.name.endswith(".dist-info")]
    for one in closure(PathDistribution(metadata).requires or ()):
        for top in {file.parts[0] for file in one.files or ()} - {"..", "__pycache__"}:
            if not (site / top).exists():  # several distributions may share one namespace
                (site / top).symlink_to(Path(str(one.locate_file(top))).resolve())
    pip = (sys.executable, "-m", "pip", "--python", folder / "bin" / "python")
    run(*pip, "install", "--quiet", "--no-index", wheel, folder=folder)
    return folder / "bin"


def main() -> None:
    began = time.monotonic()

    def tell(words: str) -> None:
        print(f"{time.monotonic() - began:5.1f} s  {words}", flush=True)

    with tempfile.TemporaryDirectory(prefix="regard-wheel-") as name:
        folder = Path(name)
        clone, wheel = build(folder)
        tell(f"{wheel.name}: {check_contents(clone, wheel)} files")
        programs, outside = install(wheel, folder / "environment"), folder / "outside"
        outside.mkdir()

        def there(program: str, *words: str, code: int = 0) -> str:
            return run(programs / program, *words, folder=outside, code=code, REGARD_CACHE=str(folder / "cache"))

        tell(f"installed without extras: {there('python', '-c', IMPORT_ALL).strip()}")
        verbs = there("python", "-c", LIST_VERBS).splitlines()
        for verb in ["", *verbs]:
            assert "Usage: regard" in there("regard", *verb.split(), "--help"), verb
        tell(f"--help: {', '.join(verbs)}")
        there("regard", "look", "--idea", "--out", "idea.html")
        tell(f"look --idea: a page of {(outside / 'idea.html').stat().st_size:,} bytes")
        there("regard", "demo", *(word for setting in SHORT for word in ("--set", setting)))
        tell(f"demo: a page of {(outside / 'demo' / 'alignment.html').stat().st_size:,} bytes")
        for extra, words in NEEDS_EXTRA.items():
            assert f"regard[{extra}]" in there("regard", *words, code=1), f"regard {' '.join(words)}"
        tell(f"what is missing is named: {', '.join(NEEDS_EXTRA)}")


if __name__ == "__main__":
    main()
