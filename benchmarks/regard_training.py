"""Measures Regard's own training speed on Multi30k: tokens, floating-point work and memory; prints JSON.

Run by training_speed.py in a process of its own, so that its memory is its own.
"""

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

import regard  # torch is imported by it, after it has said how long threads may spin
from regard.runs.folder import RunFolder
from regard.runs.recipe import Recipe
from regard.runs.train import prepare
from regard.training import machine


def measure(recipe: Recipe, warmup: int, steps: int) -> dict:
    """Times whole steps, fetching the batches included; then counts the work of the same batches, untimed."""
    machine.tune_allocator()
    machine.set_threads(recipe.training.threads)
    with tempfile.TemporaryDirectory() as folder:
        loop = prepare(recipe, RunFolder(Path(folder)), machine.Ranks(), [])
        items = loop.items()
        for _ in range(warmup):
            loop.step(loop.parts(next(items)))
        measured = []
        began, cpu_began = time.perf_counter(), time.process_time()
        for _ in range(steps):
            measured.append(next(items))
            loop.step(loop.parts(measured[-1]))
        seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        lengths = [[len(pair.target) + 1 for pair in batch] for batch in measured]
        tokens = sum(map(sum, lengths))
        padded = sum(len(one) * max(one) for one in lengths)
        counted = measured[:: max(1, len(measured) // 8)]
        from torch.utils.flop_counter import FlopCounterMode

        # Whole steps: the products of an optimiser that orthogonalises are work, too.
        with FlopCounterMode(display=False) as counter:
            for batch in counted:
                loop.step(loop.parts(batch))
        work = counter.get_total_flops() / sum(len(pair.target) + 1 for batch in counted for pair in batch)
    return {
        "measure": "regard training",
        "version": regard.__version__,
        "torch": machine.torch.__version__,
        "batch_tokens": recipe.training.batch_tokens,
        "steps": steps,
        "seconds": round(seconds, 3),
        "cpu_seconds": round(cpu_seconds, 3),
        "sentences": sum(map(len, measured)),
        "target_tokens": tokens,
        "padded_target_tokens": padded,
        "target_tokens_per_second": round(tokens / seconds, 1),
        "flops_per_target_token": round(work),
        "gflops": round(work * tokens / seconds / 1e9, 1),
        "parameters": sum(weight.numel() for weight in loop.model.parameters()),
        "threads": machine.torch.get_num_threads(),
        "peak_megabytes": peak,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--set", dest="settings", action="append", default=[])
    arguments = parser.parse_args()
    # Dropout costs what it costs when it is fully there.
    settings = [f"data.folder={arguments.data}", "training.dropout_warmup=0", *arguments.settings]
    chosen = Recipe.read("multi30k", settings)
    print(json.dumps(measure(chosen, arguments.warmup, arguments.steps)))
