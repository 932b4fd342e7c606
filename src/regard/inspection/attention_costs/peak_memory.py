"""How much memory a call takes beside what it was given, as torch's allocator saw it: at its peak, and for good."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import torch
from torch.profiler import ProfilerActivity, profile

MEMORY_EVENT = "[memory]"
Answer = TypeVar("Answer")


class Taken(NamedTuple):
    """Bytes."""

    peak: int
    kept: int  # what its answer still holds


def memory_of(call: Callable[[], Answer], device: torch.device) -> tuple[Answer, Taken]:
    """What a call answers and takes. On a CPU the profiler lists every allocation, scratch space inside kernels too;
    CUDA counts by itself."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        before = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        answer = call()
        peak, after = torch.cuda.max_memory_allocated(device), torch.cuda.memory_allocated(device)
        return answer, Taken(peak - before, after - before)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        answer = call()
    held = most = 0
    assert seen.profiler is not None
    for event in seen.profiler.kineto_results.events():
        if event.name() == MEMORY_EVENT:
            held += event.nbytes()
            most = max(most, held)
    return answer, Taken(most, held)
