"""Two checkouts of Regard in one run, in turns: training speed on Multi30k and beam-5 decoding of the small world.

    python benchmarks/two_checkouts.py OTHER [--data FOLDER] [--rounds 5] [--steps 40]

OTHER is a checkout (git worktree add ../other COMMIT) whose code runs in this environment. A run that it trains is
decoded by both, eight times, of which the fastest counts: the answers must be the same. Prints ratios, this one by the
other; absolute figures depend on the machine and on who else uses it.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from common import HERE, machine_facts, rounds_parser, write_result

DECODE = """
import hashlib, json, sys, time
import regard
run = regard.load(sys.argv[1])
texts = [line.rstrip("\\n") for line in open(sys.argv[2], encoding="utf-8")]
run.predict(texts[:32])
seconds = []
for _ in range(8):
    began = time.perf_counter()
    answers = run.predict(texts)
    seconds.append(time.perf_counter() - began)
digest = hashlib.sha256("\\n".join(map(str, answers)).encode()).hexdigest()
print(json.dumps({"sentences_per_second": len(texts) / min(seconds), "answers": digest}))
"""
WRITE_TEXTS = """
import sys
from regard.runs.load import load
from regard.runs.train import load_corpus
pairs = load_corpus(load(sys.argv[1]).recipe).splits["test"]
open(sys.argv[2], "w", encoding="utf-8").write("".join(pair.source + "\\n" for pair in pairs))
"""


def run(checkout: Path, *words: Any) -> str:
    """What Python prints with the code of one checkout."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    command = [sys.executable, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr[-2000:]}")
    return done.stdout


def last_json(printed: str) -> dict[str, Any]:
    return json.loads(printed.strip().splitlines()[-1])


def main() -> None:
    parser = rounds_parser(__doc__.splitlines()[0], rounds=5)
    parser.add_argument("other", type=Path)
    parser.add_argument("--steps", type=int, default=40)
    arguments = parser.parse_args()
    checkouts = {"other": arguments.other.resolve(), "this": HERE.parent}
    rounds: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        trained, texts = Path(folder) / "run", Path(folder) / "texts.txt"
        settings = ("--set", "training.steps=300")
        run(checkouts["other"], "-m", "regard", "train", "small-world", "--out", trained, *settings)
        run(checkouts["this"], "-c", WRITE_TEXTS, trained, texts)
        for number in range(arguments.rounds):
            found: dict[str, Any] = {}
            order = list(checkouts.items())
            for name, checkout in order if number % 2 else reversed(order):
                script = checkout / "benchmarks" / "regard_training.py"
                training = run(checkout, script, "--data", arguments.data, "--steps", arguments.steps, "--warmup", 20)
                decoding = run(checkout, "-c", DECODE, trained, texts)
                found[name] = {**last_json(training), **last_json(decoding)}
            if found["this"]["answers"] != found["other"]["answers"]:
                sys.exit("the two checkouts answer differently")
            rounds.append(found)
            print(f"round {number + 1}: " + ", ".join(
                f"{key} {found['this'][key] / found['other'][key]:.3f}" for key in KEYS), flush=True)  # fmt: skip
    summary = {key: ratio(rounds, key) for key in KEYS}
    for key, value in summary.items():
        print(f"{key}, this by the other: {value:.3f}")
    write_result("two_checkouts", {"summary": summary, "machine": machine_facts(), "rounds": rounds})


KEYS = ("target_tokens_per_second", "sentences_per_second")


def ratio(rounds: list[dict[str, Any]], key: str) -> float:
    return round(statistics.median(one["this"][key] / one["other"][key] for one in rounds), 3)


if __name__ == "__main__":
    main()
