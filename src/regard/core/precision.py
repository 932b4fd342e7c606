"""Number types of products (float32 or narrower), and the library that computes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import torch

PROCESSOR = Path("/proc/cpuinfo")
ROUNDED = 1e-2  # what bfloat16 loses of a sum of 128 products is above this, what float32 loses far below


def narrow_type(device: str) -> torch.dtype | None:
    """The type to which autocast narrows products on this kind of device now, or None outside of it."""
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None


def widest_type(device: str) -> torch.dtype:
    """The type in which long sums are kept on this kind of device: float64, which only MPS does not have."""
    return torch.float32 if device == "mps" else torch.float64


@contextmanager
def repeated_products() -> Iterator[None]:
    """Inside, float32 products on a CPU are oneDNN's where they are faster than MKL's (``onednn_is_faster``).

    Only for shapes that come again and again, because oneDNN makes a kernel for each. torch's switch says that products
    *may* be rounded to bfloat16 on the way; only processors with matrix tiles do so, and those are left alone.
    """
    if not onednn_is_faster():
        yield
        return
    with _switched_to_onednn():
        yield


@lru_cache(maxsize=1)
def onednn_is_faster() -> bool:
    """On AMD's processors with AVX-512: MKL's best kernels are for others. Tried out: nothing may be rounded."""
    if torch.backends.cpu.get_cpu_capability() != "AVX512" or not torch.backends.mkldnn.is_available():
        return False
    if not PROCESSOR.exists() or "AuthenticAMD" not in PROCESSOR.read_text(encoding="utf-8"):
        return False
    generator = torch.Generator().manual_seed(0)
    a, b = torch.randn(2, 128, 128, generator=generator)
    with torch.autocast("cpu", enabled=False), _switched_to_onednn():  # whoever asks first may be narrowing products
        product = a @ b
    return float((product - a.double() @ b.double()).abs().max()) < ROUNDED


@contextmanager
def _switched_to_onednn() -> Iterator[None]:
    matmul = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]
    before, matmul.fp32_precision = matmul.fp32_precision, "bf16"
    try:
        yield
    finally:
        matmul.fp32_precision = before
