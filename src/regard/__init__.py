"""Regard trains attention models and opens them up."""

from __future__ import annotations

import importlib
import os
from typing import Any

__version__ = "0.1.0"

# How long a thread of OpenMP spins before it sleeps; read once, when torch is first imported. The usual 300,000
# rounds make a step several times slower as soon as another process wants a core. The environment has the last word.
os.environ.setdefault("GOMP_SPINCOUNT", "20000")

# How many kernels oneDNN keeps, which computes products in bfloat16: one for each product's shape. Batches of
# sentences may have more shapes than the usual 1,024; a kernel that is not kept is made anew, which takes longer than
# to use it.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "4096")

# Names are imported when they are first used, so that `import regard` and `regard --help` cost nothing.
_WHERE = {
    "train": "regard.runs.train",
    "load": "regard.runs.load",
    "Recipe": "regard.runs.recipe",
    "recipes": "regard.runs.recipe",
    "record": "regard.core.taps",
    "pipeline": "regard.cli.pipeline",
    "RegardError": "regard.core.errors",
}

__all__ = ["Recipe", "RegardError", "load", "pipeline", "recipes", "record", "train"]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'regard' has no attribute {name!r}; it offers {', '.join(__all__)}")
    return getattr(importlib.import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
