"""Where the fused kernel begins to pay on a CPU: forward and backward of both kernels, in turns, by length.

    python benchmarks/attention.py
"""

import time

import torch

from common import machine_facts, write_result
from regard.attention.kernels import fused_attention, short_attention
from regard.attention.masks import CAUSAL, EVERYTHING, Mask
from regard.training.machine import tune_allocator

HEADS, WIDTH, TOKENS = 4, 32, 4096
LENGTHS = (8, 16, 32, 48, 64, 96, 128, 256, 512)


def seconds(kernel: object, inputs: list[torch.Tensor], mask: Mask) -> float:
    gradient = torch.randn_like(inputs[0])  # a real one: .sum() would send back a single number with stride 0
    began = time.perf_counter()
    kernel(*inputs, mask, None).backward(gradient)  # type: ignore[operator]
    return time.perf_counter() - began


def measure(length: int, mask: Mask, repeats: int) -> dict:
    shape = (max(1, TOKENS // length), length, HEADS, WIDTH)
    inputs = [torch.randn(shape).transpose(1, 2).requires_grad_() for _ in range(3)]
    times = [(seconds(short_attention, inputs, mask), seconds(fused_attention, inputs, mask)) for _ in range(repeats)]
    plain, fused = (min(column) for column in zip(*times[1:], strict=True))
    return {"length": length, "plain_ms": round(plain * 1e3, 2), "fused_ms": round(fused * 1e3, 2)}


def main() -> None:
    tune_allocator()
    found = {}
    for name, mask in (("everything", EVERYTHING), ("causal", CAUSAL)):
        found[name] = [measure(length, mask, repeats=12) for length in LENGTHS]
        for row in found[name]:
            ratio = row["fused_ms"] / row["plain_ms"]
            times = f"plain {row['plain_ms']:>7} ms  fused {row['fused_ms']:>7} ms"
            print(f"{name:<12} {row['length']:>4}  {times}  {ratio:.2f}")
    write_result("attention", {"machine": machine_facts(), "fused_and_plain": found})


if __name__ == "__main__":
    main()
