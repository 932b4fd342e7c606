"""Runs side by side by quality, size and speed: what a student, a pruned run or a smaller model gives up, and what for.

    python benchmarks/smaller_models.py RUN RUN … [--examples 200]

The first run is what the others are compared with. Speed is that of answering test inputs, in turns.
"""

import argparse
import statistics
import time

from common import machine_facts, write_result
from regard.runs.evaluate import evaluate
from regard.runs.load import load
from regard.runs.train import load_corpus

ROUNDS = 3


def answered(run, inputs) -> float:
    """Examples a second."""
    began = time.perf_counter()
    run.predict(inputs)
    return len(inputs) / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", help="run folders of one task")
    parser.add_argument("--examples", type=int, default=200, help="test inputs that speed is measured on")
    given = parser.parse_args()
    runs = {name: load(name) for name in given.runs}
    pairs = load_corpus(next(iter(runs.values())).recipe).splits["test"][: given.examples]
    inputs = [pair.key() for pair in pairs]
    speeds = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            speeds[name].append(answered(run, inputs))
    found = []
    for name, run in runs.items():
        scores = evaluate(run, yardsticks=False)
        metric = next(one for one in run.recipe.task.headline if one.name in scores)
        found.append({
            "run": name,
            "metric": metric.name,
            "score": scores[metric.name],
            "parameters": sum(weight.numel() for weight in run.model.parameters()),
            "megabytes": round(run.folder.weights.stat().st_size / 1e6, 2),
            "examples_per_second": round(statistics.median(speeds[name]), 1),
        })  # fmt: skip
    first = found[0]
    print(f"{'run':<32} {first['metric']:>10} {'parameters':>12} {'MB':>8} {'examples/s':>11} {'size':>6} {'speed':>6}")
    for row in found:
        size = row["parameters"] / first["parameters"]
        speed = row["examples_per_second"] / first["examples_per_second"]
        print(
            f"{row['run']:<32} {row['score']:>10.3f} {row['parameters']:>12,} {row['megabytes']:>8} "
            f"{row['examples_per_second']:>11} {size:>6.2f} {speed:>6.2f}"
        )
    write_result("smaller_models", {"machine": machine_facts(), "examples": len(inputs), "runs": found})


if __name__ == "__main__":
    main()
