"""How the time of the hierarchical encoder grows with the length of a text, as a whole: forward and backward, fitted.

    python benchmarks/hierarchical.py [--part 256] [--longest 65536]
"""

import argparse
import time

import torch

from common import machine_facts, write_result
from regard.core.ports import text_ports
from regard.inspection.costs import fit_exponent
from regard.models.hierarchical import HierarchicalConfig
from regard.training.machine import tune_allocator

SYMBOLS, ROUNDS = 1000, 3


def seconds(model: torch.nn.Module, tokens_BS: torch.Tensor) -> float:
    model.zero_grad(set_to_none=True)
    began = time.perf_counter()
    states_BSD = model(tokens_BS, torch.tensor([tokens_BS.shape[1]]))
    states_BSD.backward(torch.ones_like(states_BSD))
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", type=int, default=256, help="tokens that are read together")
    parser.add_argument("--longest", type=int, default=65536, help="the longest text")
    given = parser.parse_args()
    tune_allocator()
    torch.manual_seed(1)
    config = HierarchicalConfig(layers=2, summary_layers=2, width=256, heads=4, dropout=0.0, part=given.part)
    model = config.build(text_ports(SYMBOLS, SYMBOLS, shared=True)).train()
    lengths, times = [length for length in (4096, 8192, 16384, 32768, 65536) if length <= given.longest], []
    for length in lengths:
        tokens_BS = torch.randint(SYMBOLS, (1, length))
        seconds(model, tokens_BS)
        times.append(min(seconds(model, tokens_BS) for _ in range(ROUNDS)))
        print(f"{length:>8,} {times[-1]:>8.3f} s", flush=True)
    exponent = fit_exponent(lengths, times)
    print(f"time grows as n^{exponent:.2f}")
    figures = dict(zip(map(str, lengths), times, strict=True))
    found = {"part": given.part, "seconds": figures, "exponent": exponent}
    write_result("hierarchical", {"machine": machine_facts(), **found})


if __name__ == "__main__":
    main()
