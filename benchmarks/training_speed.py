"""Training speed on Multi30k against Joey NMT and against the machine: ours and the peer in one run, in turns.

    python benchmarks/training_speed.py --data FOLDER [--model transformer|recurrent] [--rounds 3] [--batch-tokens N]

Prints a table and writes benchmarks/results/training_speed.json (or training_speed_recurrent.json). Ratios are
medians over the rounds; absolute figures depend on the machine and on who else uses it.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from common import DATA, machine_facts, write_result
from peers.environments import make
from regard.runs.recipe import Recipe

HERE = Path(__file__).resolve().parent
ADAM = (
    "tokenizer.dropout=0.0", "tokenizer.vocabulary=10000", "training.optimizer.kind=adam",
    "training.learning_rate=5e-4", "training.precision=float32",
)  # fmt: skip
# By model: what it takes to make ours the one that Joey NMT is given, and what the recipe itself trains.
SAME = {
    "transformer": (
        "model.dropout=0.3", "model.norm=post", "model.feed_forward_dropout=0.3",
        "model.position.kind=sinusoidal", *ADAM,
    ),
    "recurrent": (
        "model.kind=luong", "model.cell.kind=gru", "model.attention.kind=additive", "model.bidirectional=true",
        "model.width=256", "model.embedding.width=256", "model.dropout=0.3", *ADAM,
    ),
}  # fmt: skip
RECIPE: dict[str, tuple[str, ...]] = {"transformer": (), "recurrent": SAME["recurrent"][:7]}
WARMUP = "30"  # steps that are not counted, on both sides: in an hour of training nobody notices the first ones
# Joey NMT with the allocator's thresholds raised as we raise ours: how much of a lead is just that?
TUNED = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1)}


def run(*command: str | Path, **environment: str) -> dict:
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def options(settings: tuple[str, ...]) -> list[str]:
    return [word for setting in settings for word in ("--set", setting)]


def one_round(data: Path, steps: int, budget: int, joey: Path, model: str) -> dict:
    """Everybody gets the same token budget: sentences × the longest side of any of them."""
    ours = [sys.executable, HERE / "regard_training.py", "--data", data, "--steps", str(steps), "--warmup", WARMUP]
    ours += options((f"training.batch_tokens={budget}",))
    product = [sys.executable, HERE / "peers" / "matrix_product.py"]
    peer = [joey, HERE / "peers" / "joeynmt_training.py", "--data", data, "--model", model]
    peer += ["--steps", str(max(10, steps // 2)), "--batch-tokens", str(budget), "--warmup", WARMUP]
    before = run(*product)
    return {
        "regard, same model": run(*ours, *options(SAME[model])),
        "joeynmt": run(*peer),
        "regard, same model, best precision": run(*ours, *options((*SAME[model], "training.precision=auto"))),
        "regard, recipe": run(*ours, *options(RECIPE[model])),
        "joeynmt, tuned allocator": run(*peer, **TUNED),
        "matrix_product": {key: (before[key] + run(*product)[key]) / 2 for key in ("best_gflops", "median_gflops")},
    }


def summary(rounds: list[dict]) -> dict:
    def ratio(name: str, other: str) -> float:
        key = "target_tokens_per_second"
        return round(statistics.median(one[name][key] / one[other][key] for one in rounds), 2)

    def work(name: str) -> float:
        found = [one[name]["gflops"] / one["matrix_product"]["median_gflops"] for one in rounds]
        return round(statistics.median(found), 2)

    return {
        "same model, float32, against Joey NMT": ratio("regard, same model", "joeynmt"),
        "same model, best precision here, against Joey NMT": ratio("regard, same model, best precision", "joeynmt"),
        "the recipe as shipped, against Joey NMT": ratio("regard, recipe", "joeynmt"),
        "same model, against Joey NMT with a tuned allocator": ratio("regard, same model", "joeynmt, tuned allocator"),
        "floating-point work against a matrix product, same model": work("regard, same model"),
        "floating-point work against a matrix product, the recipe": work("regard, recipe"),
        "peak megabytes": max(one["regard, recipe"]["peak_megabytes"] for one in rounds),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--model", choices=SAME, default="transformer")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=40)
    own = Recipe.read("multi30k").training.batch_tokens
    parser.add_argument("--batch-tokens", type=int, default=own, help=f"of a step, on both sides (recipe: {own})")
    arguments = parser.parse_args()
    joey = make("joeynmt")
    rounds = []
    for number in range(arguments.rounds):
        rounds.append(one_round(arguments.data, arguments.steps, arguments.batch_tokens, joey, arguments.model))
        for name, found in rounds[-1].items():
            speed = found.get("target_tokens_per_second", found.get("median_gflops"))
            print(f"round {number + 1}  {name:<36} {speed:>10,.0f}", flush=True)
    found = summary(rounds)
    for name, value in found.items():
        print(f"{name:<55} {value:>8}")
    name = "training_speed" + ("" if arguments.model == "transformer" else f"_{arguments.model}")
    settings = {"model": arguments.model, "batch_tokens": arguments.batch_tokens}
    write_result(name, {**settings, "summary": found, "machine": machine_facts(), "rounds": rounds})


if __name__ == "__main__":
    main()
