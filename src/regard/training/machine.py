"""The machine: device, threads, allocator, ranks, and a record of all of them."""

from __future__ import annotations

import atexit
import ctypes
import math
import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as distributed
from torch import nn

from regard.core.errors import OptionError

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # glibc's numbers for mallopt
ONE_GIBIBYTE = 1 << 30
MEMORY, LIMIT = Path("/proc/meminfo"), Path("/sys/fs/cgroup/memory.max")


def choose_device(name: str) -> torch.device:
    """``auto`` takes CUDA, then MPS, then the CPU; anything else is taken at its word."""
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise OptionError(f'device = "{name}" is not usable here: {reason}; try device = "auto"') from error


def tune_allocator() -> bool:
    """Tells glibc to keep large freed blocks instead of giving them back to the system.

    A training step frees and takes the same large tensors again and again; by default each goes through mmap
    and pays a page fault for every 4 KiB. Elsewhere than on glibc this does nothing, and says so by False.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        libc = ctypes.CDLL("libc.so.6")
        taken = libc.mallopt(M_MMAP_THRESHOLD, ONE_GIBIBYTE)
        return bool(taken and libc.mallopt(M_TRIM_THRESHOLD, 2 * ONE_GIBIBYTE - 1))
    except (OSError, AttributeError):
        return False


def available_memory(device: torch.device) -> float:
    """Bytes that a process may still take there; infinite where nobody says."""
    if device.type == "cuda":
        return float(torch.cuda.mem_get_info(device)[0])
    if device.type != "cpu":
        return math.inf
    free = [1024 * _first_number(MEMORY, name) for name in ("MemAvailable:", "SwapFree:")]
    return min(sum(free), _first_number(LIMIT))


def _first_number(path: Path, name: str = "") -> float:
    """The number in a file of the system, or behind a name in it; infinite where there is none."""
    try:
        words = path.read_text(encoding="ascii").split()
        return float(words[words.index(name) + 1 if name else 0])
    except (OSError, ValueError, IndexError):
        return math.inf


def set_threads(threads: int) -> None:
    """0 leaves torch's own choice, which is one thread for each physical core."""
    if threads:
        torch.set_num_threads(threads)


def choose_precision(name: str, device: torch.device) -> str:
    """``auto`` takes bfloat16 where the processor has instructions for its products; others emulate it, slowly."""
    if name != "auto":
        return name
    if device.type == "cuda":
        return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    has_instructions = device.type == "cpu" and platform.machine() in ("x86_64", "AMD64") and (
        torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    )  # fmt: skip
    return "bfloat16" if has_instructions else "float32"


@dataclass(frozen=True, slots=True)
class Ranks:
    """This process among its peers; alone it is rank 0 of 1."""

    rank: int = 0
    world: int = 1

    @property
    def is_main(self) -> bool:
        return self.rank == 0

    def all_reduce_gradients(self, model: nn.Module) -> None:
        """Sums the gradients of all ranks, in one message."""
        if self.world == 1:
            return
        gradients = [
            parameter.grad if parameter.grad is not None else torch.zeros_like(parameter)
            for parameter in model.parameters()
            if parameter.requires_grad
        ]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        distributed.all_reduce(flat)
        pieces = flat.split([gradient.numel() for gradient in gradients])
        trained = (parameter for parameter in model.parameters() if parameter.requires_grad)
        for parameter, piece in zip(trained, pieces, strict=True):
            parameter.grad = piece.view_as(parameter)

    def all_reduce(self, figures: dict[str, float]) -> dict[str, float]:
        if self.world == 1:
            return figures
        device = "cuda" if distributed.get_backend() == "nccl" else "cpu"  # NCCL adds on GPUs only
        flat = torch.tensor(list(figures.values()), dtype=torch.float64, device=device)
        distributed.all_reduce(flat)
        return dict(zip(figures, flat.tolist(), strict=True))

    def any(self, answer: bool) -> bool:
        """Whether any rank says yes, so that all of them stop after the same step."""
        return bool(self.all_reduce({"yes": float(answer)})["yes"])

    def barrier(self) -> None:
        if self.world > 1:
            distributed.barrier()


def init_ranks(device: str = "auto") -> Ranks:
    """Under ``torchrun`` the peers are joined (NCCL on GPUs, gloo on CPUs); else this process is alone.

    With NCCL every process has a GPU of its own, which from here on is meant by ``cuda``. Peers are left before the
    interpreter ends: a thread that still listens to them while it is taken apart can abort a training that is done.
    """
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        return Ranks()
    on_gpus = torch.cuda.is_available() and device.partition(":")[0] in ("auto", "cuda")
    if on_gpus:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
    if not distributed.is_initialized():
        distributed.init_process_group("nccl" if on_gpus else "gloo")
        atexit.register(_destroy_ranks)
    return Ranks(distributed.get_rank(), world)


def _destroy_ranks() -> None:
    if distributed.is_initialized():  # whoever joined may have left by himself
        distributed.destroy_process_group()


def environment(device: torch.device) -> dict[str, Any]:
    """What a result may depend on: versions, processor, threads."""
    import numpy
    import safetensors
    import tokenizers

    return {
        "regard": _version(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "tokenizers": tokenizers.__version__,
        "safetensors": safetensors.__version__,
        "platform": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "device": str(device),
    }


def _version() -> str:
    from regard import __version__

    return __version__


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()
