"""What looking costs: a forward pass untouched, after a recording, while one layer is recorded, and with its weights.

    python benchmarks/taps.py            # in turns, so that whatever else the machine does falls on all of them
    python benchmarks/taps.py --turns 3  # to see that it works
"""

import argparse
import copy
import time
from collections.abc import Callable
from contextlib import nullcontext
from statistics import median
from typing import Any

import torch

from common import machine_facts, write_result
from regard.core.config import parse
from regard.core.ports import text_ports
from regard.core.taps import record
from regard.runs.recipe import Recipe
from regard.training.machine import tune_allocator

PORTS = text_ports(4000, 4000, shared=True)
SHAPES = {
    "gpt, 8 × 256": ({"kind": "gpt", "layers": 4, "width": 256, "heads": 4}, 8, 256),
    "gpt, 1 × 1024": (
        {"kind": "gpt", "layers": 4, "width": 256, "heads": 4, "position": {"kind": "rotary"}}, 1, 1024
    ),
    "llama, 8 × 256": ({"kind": "llama", "layers": 4, "width": 256, "heads": 8, "groups": 2}, 8, 256),
    "transformer, 32 × 32": (
        {"kind": "transformer", "encoder_layers": 3, "decoder_layers": 3, "width": 256, "heads": 4}, 32, 32
    ),
}  # fmt: skip


def asked(table: dict[str, Any], rows: int, length: int) -> tuple[Any, tuple[torch.Tensor, ...], str]:
    torch.manual_seed(1)
    model = parse(Recipe, {"model": table}).model.build(PORTS).eval()
    tokens_BT = torch.randint(4, 4000, (rows, length))
    if table["kind"] == "transformer":
        return model, (tokens_BT, torch.full((rows,), length), tokens_BT), "decoder.layers.1.cross"
    return model, (tokens_BT,), "stack.layers.1.attention"


@torch.inference_mode()
def seconds(model: Any, inputs: tuple[torch.Tensor, ...], name: str, then: Callable[[Any], Any] | None) -> float:
    began = time.perf_counter()
    with nullcontext() if then is None else record(model, name) as seen:
        model(*inputs)
    if then is not None:
        then(seen[name])
    return time.perf_counter() - began


def measure(table: dict[str, Any], rows: int, length: int, turns: int) -> dict[str, float]:
    model, inputs, name = asked(table, rows, length)
    tapped = copy.deepcopy(model)
    ways: dict[str, Callable[[], float]] = {
        "plain": lambda: seconds(model, inputs, name, None),
        "after a recording": lambda: seconds(tapped, inputs, name, None),
        "one layer recorded": lambda: seconds(tapped, inputs, name, lambda attention: None),
        "and its weights": lambda: seconds(tapped, inputs, name, lambda attention: attention.weights),
    }
    times: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(turns + 1):
        for way, run in ways.items():
            spent = run()
            if turn:  # the first warms up
                times[way].append(spent)
    found = {way: median(spent) for way, spent in times.items()}
    return {"plain_ms": round(found["plain"] * 1e3, 2)} | {
        way: round(spent / found["plain"], 3) for way, spent in found.items() if way != "plain"
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=40)
    arguments = parser.parse_args()
    tune_allocator()
    found = {}
    for name, (table, rows, length) in SHAPES.items():
        found[name] = measure(table, rows, length, arguments.turns)
        ratios = "  ".join(f"{way} {ratio}" for way, ratio in found[name].items() if way != "plain_ms")
        print(f"{name:<22} plain {found[name]['plain_ms']:>7} ms  times: {ratios}")
    if arguments.turns >= 20:
        write_result("taps", {"machine": machine_facts(), "turns": arguments.turns, "ratios": found})


if __name__ == "__main__":
    main()
