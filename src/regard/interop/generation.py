"""How an answer is chosen, in their generation_config.json and in our ``[decoding]`` table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.core.config import Part
from regard.core.files import read_json

FILE = "generation_config.json"
SAMPLING = {"temperature": 1.0, "top_k": 50, "top_p": 1.0, "min_p": 0.0, "repetition_penalty": 1.0}
"""Settings of the same name on both sides, with what theirs means where the file is silent."""


def decoding_table(folder: Path) -> dict[str, Any]:
    """Sampling where they sample, else the most probable token at every step."""
    held = read_json(folder / FILE) if (folder / FILE).is_file() else {}
    if not isinstance(held, Mapping) or not held.get("do_sample"):
        return {"kind": "greedy"}
    given = {name: held.get(name) for name in SAMPLING}
    return {"kind": "sampling"} | {
        name: SAMPLING[name] if value is None else value for name, value in given.items()
    }


def generation_settings(strategy: Part) -> dict[str, Any]:
    """Their settings for our strategy; a beam, whose penalty is another one there, is left to them."""
    if strategy.kind != "sampling":
        return {"do_sample": False}
    return {"do_sample": True} | {name: getattr(strategy, name) for name in SAMPLING}
