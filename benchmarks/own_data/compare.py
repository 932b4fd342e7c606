"""Automatic recipes beside recipes made by hand, on the same files and in the same minutes.

    python benchmarks/own_data/compare.py FOLDER [--budget 10m] [--only NAME …]

FOLDER is what datasets.py wrote. For each data set `regard train FILE --out RUN --budget …` is given nothing but the
files; the recipes in `recipes/` (NAME.toml, NAME-*.toml) get the same budget. Each run is scored on its test split.
Prints a table, and writes results/own_data.json after every run, so that it can be stopped and goes on.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import machine_facts, write_result

RECIPES = Path(__file__).parent / "recipes"


class Case(NamedTuple):
    """One data set: the words of the command line that name it, and the score that counts."""

    files: tuple[str, ...]
    score: str
    lower_is_better: bool = False


CASES = {
    "pronunciations": Case(("train.tsv",), "exact_match"),
    "addresses": Case(("train.conll",), "accuracy"),
    "reviews": Case(("train.csv",), "accuracy"),
    "captions": Case(("train.de", "train.en"), "bleu"),
    "speeches": Case(("train", "test"), "bits_per_character", lower_is_better=True),
    "clothing": Case((".",), "accuracy"),
}


def regard(*words: str) -> tuple[subprocess.CompletedProcess[str], float]:
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "regard", *words], capture_output=True, text=True)
    return done, time.monotonic() - began


def scored(run: Path) -> dict[str, Any]:
    done, _ = regard("evaluate", str(run), "--json")
    if done.returncode:
        sys.exit(done.stderr)
    return dict(json.loads(done.stdout))


def one(words: list[str], run: Path, case: Case, kept: dict[str, Any]) -> dict[str, Any]:
    """Trained and scored, unless it was before."""
    if run.name in kept:
        return dict(kept[run.name])
    done, seconds = regard("train", *words, "--out", str(run), "--json")
    if done.returncode:
        sys.exit(f"{run.name}: {done.stderr[-2000:]}")
    trained = json.loads(done.stdout.splitlines()[-1])
    scores = scored(run)
    yardsticks = scores.get("yardsticks", {})
    return {"score": scores[case.score], "seconds": seconds, "steps": trained["steps"], "yardsticks": yardsticks}


def share(case: Case, automatic: float, best: float) -> float:
    return best / automatic if case.lower_is_better else automatic / best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--budget", default="10m")
    parser.add_argument("--only", nargs="*", default=list(CASES))
    parser.add_argument("--runs", type=Path, default=Path("own_data_runs"))
    given = parser.parse_args()
    result = (RESULTS_FILE.exists() and json.loads(RESULTS_FILE.read_text(encoding="utf-8"))) or {"runs": {}}
    for name in given.only:
        case, folder = CASES[name], given.folder / name
        trials = {f"{name}-automatic": [str(folder / file) for file in case.files]}
        for recipe in sorted([RECIPES / f"{name}.toml", *RECIPES.glob(f"{name}-*.toml")]):
            trials[f"{recipe.stem}-by-hand"] = [str(recipe), "--set", f"data.folder={folder}"]
        for trial, words in trials.items():
            found = one([*words, "--budget", given.budget], given.runs / trial, case, result["runs"])
            result["runs"][trial] = found
            write_result("own_data", {"machine": machine_facts(), "budget": given.budget, **result})
            print(f"{trial:<34}{case.score} {found['score']:.4f}  {found['seconds']:.0f} s  {found['steps']:,} steps",
                  flush=True)  # fmt: skip
        hand = [result["runs"][trial]["score"] for trial in trials if trial.endswith("-by-hand")]
        best = min(hand) if case.lower_is_better else max(hand)
        automatic = result["runs"][f"{name}-automatic"]["score"]
        print(f"{name}: automatic {automatic:.4f}, best by hand {best:.4f}: {share(case, automatic, best):.3f}\n")


RESULTS_FILE = Path(__file__).resolve().parents[1] / "results" / "own_data.json"

if __name__ == "__main__":
    main()
