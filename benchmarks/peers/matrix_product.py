"""Measures the speed of a large float32 matrix product: what the machine gives at best."""

import argparse
import json
import statistics
import time

import torch


def measure(size: int = 2048, repeats: int = 10, threads: int | None = None) -> dict:
    """The best and the median GFLOP/s over the repeats; a product counts as 2·size³ operations."""
    if threads is not None:
        torch.set_num_threads(threads)
    left, right, product = torch.randn(3, size, size)
    torch.mm(left, right, out=product)
    speeds = []
    for _ in range(repeats):
        start = time.perf_counter()
        torch.mm(left, right, out=product)
        speeds.append(2 * size**3 / (time.perf_counter() - start) / 1e9)
    return {
        "measure": "matrix_product",
        "torch": torch.__version__,
        "size": size,
        "repeats": repeats,
        "best_gflops": round(max(speeds), 1),
        "median_gflops": round(statistics.median(speeds), 1),
        "threads": torch.get_num_threads(),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--threads", type=int)
    print(json.dumps(measure(**vars(parser.parse_args()))))
