"""A mixture of experts beside dense layers of equal active and of equal total size: forward and backward, in turns.

    python benchmarks/experts.py
"""

import time

import torch

from common import machine_facts, write_result
from regard.layers.feed_forward import GatedFeedForwardConfig
from regard.layers.mixture.experts import ExpertsConfig
from regard.training.machine import tune_allocator

WIDTH, HIDDEN, TOKENS = 512, 1024, 4096
EXPERTS, ACTIVE = 8, 2
TURNS = 5


def seconds(layer: torch.nn.Module, x_BTD: torch.Tensor, gradient_BTD: torch.Tensor) -> float:
    layer.zero_grad(set_to_none=True)
    x_BTD.grad = None
    began = time.perf_counter()
    layer(x_BTD).backward(gradient_BTD)
    return time.perf_counter() - began


def main() -> None:
    tune_allocator()
    torch.manual_seed(1)
    layers = {
        "experts": ExpertsConfig(experts=EXPERTS, active=ACTIVE, width=HIDDEN).build(WIDTH, 0.0),
        "dense, active size": GatedFeedForwardConfig(width=ACTIVE * HIDDEN).build(WIDTH, 0.0),
        "dense, total size": GatedFeedForwardConfig(width=EXPERTS * HIDDEN).build(WIDTH, 0.0),
    }
    x_BTD = torch.randn(8, TOKENS // 8, WIDTH, requires_grad=True)
    gradient_BTD = torch.randn_like(x_BTD)
    times = {name: [] for name in layers}
    for turn in range(TURNS + 1):
        for name, layer in layers.items():
            took = seconds(layer, x_BTD, gradient_BTD)
            if turn:
                times[name].append(took)
    best = {name: min(column) for name, column in times.items()}
    for name, one in best.items():
        print(f"{name:<20} {one * 1e3:>8.1f} ms")
    active = best["experts"] / best["dense, active size"]
    total = best["dense, total size"] / best["experts"]
    print(f"{active:.2f} times the time of the dense layer of equal active size")
    print(f"{total:.2f} times faster than the dense layer of equal total size")
    shape = {"width": WIDTH, "hidden": HIDDEN, "tokens": TOKENS, "experts": EXPERTS, "active": ACTIVE}
    figures = {"ms": {name: round(one * 1e3, 1) for name, one in best.items()}, "of_active": active, "of_total": total}
    write_result("experts", {"machine": machine_facts(), **shape, **figures})


if __name__ == "__main__":
    main()
