"""Decoding settings, between generation_config.json and our ``[decoding]`` table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.core.files import read_json
from regard.core.symbols import Specials
from regard.decoding.options import Beam, Sampling

FILE = "generation_config.json"
SAMPLING = {"temperature": 1.0, "top_k": 50, "top_p": 1.0, "min_p": 0.0, "repetition_penalty": 1.0}
"""Settings of the same name on both sides, with what theirs means where the file is silent."""

STOPS: dict[str, bool | str] = {"exact": "never", "likely": False, "full": True}
"""When a beam may stop, in our words and theirs."""


def decoding_table(folder: Path) -> dict[str, Any]:
    """Sampling where they sample, a beam of their size, else the most probable token at every step."""
    held = read_json(folder / FILE) if (folder / FILE).is_file() else {}
    if not isinstance(held, Mapping) or not held.get("do_sample"):
        beams = held.get("num_beams") if isinstance(held, Mapping) else None
        return {"kind": "beam", "size": beams} if isinstance(beams, int) and beams > 1 else {"kind": "greedy"}
    given = {name: held.get(name) for name in SAMPLING}
    return {"kind": "sampling"} | {
        name: SAMPLING[name] if value is None else value for name, value in given.items()
    }


def generation_settings(strategy: Any) -> dict[str, Any]:
    """Their settings for our strategy; a beam's penalty for short answers, which is another one there, stays theirs."""
    if isinstance(strategy, Beam):
        none = {} if strategy.length_penalty else {"length_penalty": 0.0}
        return {"do_sample": False, "num_beams": strategy.size, "early_stopping": STOPS[strategy.stop], **none}
    if not isinstance(strategy, Sampling):
        return {"do_sample": False}
    return {"do_sample": True} | {name: getattr(strategy, name) for name in SAMPLING}


def answer_settings(strategy: Any, specials: Specials, max_length: int) -> dict[str, Any]:
    """The same for an encoder–decoder: what is never chosen, and how many tokens there are, the opening one too."""
    forbidden = sorted({specials.pad, specials.sos})
    return {**generation_settings(strategy), "suppress_tokens": forbidden, "max_length": max_length + 1}
