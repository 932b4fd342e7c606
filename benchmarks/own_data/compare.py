"""Automatic recipes beside recipes made by hand, on the same files and in the same minutes.

    python benchmarks/own_data/compare.py FOLDER [--budget 10m] [--only NAME …] [--threads 2] [--side both]

FOLDER is what datasets.py wrote. For each data set `regard train FILE --out RUN --budget …` is given nothing but the
files; the recipes in `recipes/` (NAME.toml, NAME-*.toml) get the same budget, but those that name their steps, which is
for data that more steps would learn by heart. Each run is scored on its test split.
What a trial gave is kept as a file beside its run, so that the benchmark can be stopped and goes on, and `--side
automatic` and `--side hand` can run at the same time, a thread each. Prints a table, and writes results/own_data.json.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import machine_facts, write_result
from own_data.words import share_of_words_right

RECIPES = Path(__file__).parent / "recipes"


class Case(NamedTuple):
    """One data set: the words of the command line that name it, the score that counts, and the files to score on, where
    training sees only the others; for pronunciations the share of words that are right in one of their ways counts."""

    files: tuple[str, ...]
    score: str
    test: tuple[str, ...] = ()
    lower_is_better: bool = False


CASES = {
    "pronunciations": Case(("train.tsv",), "words_right", ("test.tsv",)),
    "addresses": Case(("train.conll",), "accuracy", ("test.conll",)),
    "reviews": Case(("train.csv",), "accuracy", ("test.csv",)),
    "captions": Case(("train.de", "train.en"), "bleu", ("test.de", "test.en")),
    "speeches": Case(("train", "test"), "bits_per_character", lower_is_better=True),
    "clothing": Case((".",), "accuracy"),
}


def regard(*words: str, threads: int) -> tuple[subprocess.CompletedProcess[str], float]:
    began = time.monotonic()
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run([sys.executable, "-m", "regard", *words], capture_output=True, text=True, env=environment)
    return done, time.monotonic() - began


def scored(run: Path, case: Case, folder: Path, threads: int) -> dict[str, Any]:
    """The scores on the files for it; on the run's own test split where training was given one."""
    files = [str(folder / name) for name in case.test]
    if case.score == "words_right":
        return {"words_right": share_of_words_right(run, Path(files[0])), "yardsticks": {}}
    options = {0: [], 1: ["--data", *files], 2: ["--source", *files[:1], "--reference", *files[1:]]}[len(files)]
    done, _ = regard("evaluate", str(run), "--json", *options, threads=threads)
    if done.returncode:
        sys.exit(f"{run.name}: {done.stderr[-2000:]}")
    return dict(json.loads(done.stdout))


def trial(words: list[str], run: Path, case: Case, folder: Path, threads: int) -> dict[str, Any]:
    """Trained and scored, unless it was before."""
    kept = run.with_suffix(".json")
    if kept.exists():
        return dict(json.loads(kept.read_text(encoding="utf-8")))
    done, seconds = regard("train", *words, "--out", str(run), "--json", threads=threads)
    if done.returncode:
        sys.exit(f"{run.name}: {done.stderr[-2000:]}")
    trained = json.loads(done.stdout.splitlines()[-1])
    scores = scored(run, case, folder, threads)
    found = {
        "score": scores[case.score], "seconds": seconds, "steps": trained["steps"], "threads": threads,
        "yardsticks": scores.get("yardsticks", {}),
    }  # fmt: skip
    kept.write_text(json.dumps(found, indent=2), encoding="utf-8")
    print(f"{run.name:<34}{case.score} {found['score']:.4f}  {seconds:.0f} s  {trained['steps']:,} steps", flush=True)
    return found


def share(case: Case, automatic: float, best: float) -> float:
    return best / automatic if case.lower_is_better else automatic / best


def by_hand(name: str, folder: Path, budget: str) -> dict[str, list[str]]:
    """The recipes of a data set: what the command line says of each, by the name of its run."""
    words = {}
    for recipe in sorted([RECIPES / f"{name}.toml", *RECIPES.glob(f"{name}-*.toml")]):
        has_steps = "steps" in tomllib.loads(recipe.read_text(encoding="utf-8"))["training"]
        time = [] if has_steps else ["--budget", budget]
        words[f"{recipe.stem}-by-hand"] = [str(recipe), "--set", f"data.folder={folder}", *time]
    return words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--budget", default="10m")
    parser.add_argument("--only", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--runs", type=Path, default=Path("own_data_runs"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--side", choices=("both", "automatic", "hand"), default="both")
    given = parser.parse_args()
    runs: dict[str, dict[str, Any]] = {}
    for name in given.only:
        case, folder = CASES[name], given.folder / name
        files = [str(folder / file) for file in case.files]
        sides = {
            "automatic": {f"{name}-automatic": [*files, "--budget", given.budget]},
            "hand": by_hand(name, folder, given.budget),
        }
        for side in sides if given.side == "both" else [given.side]:
            for run, words in sides[side].items():
                runs[run] = trial(words, given.runs / run, case, folder, given.threads)
        if given.side == "both":
            hand = [runs[run]["score"] for run in sides["hand"]]
            best = min(hand) if case.lower_is_better else max(hand)
            automatic = runs[f"{name}-automatic"]["score"]
            print(f"{name}: automatic {automatic:.4f}, best by hand {best:.4f}: {share(case, automatic, best):.3f}\n")
    if given.side == "both":
        write_result("own_data", {"machine": machine_facts(), "runs": runs})


if __name__ == "__main__":
    main()
