"""Rotary positions as Hugging Face writes them: version 5 has rope_parameters, 4 had rope_theta and rope_scaling."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from regard.layers.rotary import yarn_magnitude

ROPE_SETTINGS = frozenset({"rope_parameters", "rope_scaling", "rope_theta"})
ROPE_TYPES = {"default": "none", "linear": "linear", "llama3": "llama3", "yarn": "yarn"}
TRAINED = {"original_max_position_embeddings": "trained"}
ROPE_FIELDS: dict[str, dict[str, str]] = {
    "default": {},
    "linear": {"factor": "factor"},
    "llama3": {"factor": "factor", "low_freq_factor": "low", "high_freq_factor": "high", **TRAINED},
    "yarn": {"factor": "factor", **TRAINED},
}
"""What each kind must say."""
YARN_LENGTH, YARN_WEIGHTS = "attention_factor", ("mscale", "mscale_all_dim")
ROPE_OPTIONS = {"yarn": {"beta_fast", "beta_slow", "truncate", YARN_LENGTH, *YARN_WEIGHTS}}
"""What it may say beside."""


def read_rope(config: Mapping[str, Any], problems: list[str], usual_base: float = 10000.0) -> dict[str, Any]:
    """The position table."""
    name = "rope_scaling" if config.get("rope_scaling") else "rope_parameters"
    given = config.get(name) or {}
    if not isinstance(given, Mapping):
        problems.append(f"{name} = {given!r}, a table is expected")
        return {}
    if isinstance(config.get("head_dim"), int) and config["head_dim"] % 2:
        problems.append(f"head_dim = {config['head_dim']}, but rotary positions turn pairs of numbers: it must be even")
    rope = {"original_max_position_embeddings": config.get("max_position_embeddings", 2048), **given}
    base = rope.pop("rope_theta", None) or config.get("rope_theta") or usual_base
    other = rope.pop("type", None)
    rope_type = rope.pop("rope_type", None) or other or "default"
    if rope_type not in ROPE_TYPES:
        problems.append(f"{name}.rope_type = {rope_type!r}; known: {', '.join(map(repr, ROPE_TYPES))}")
        return {}
    fields, options = ROPE_FIELDS[rope_type], ROPE_OPTIONS.get(rope_type, set())
    missing = [f"{name}.{field} is missing, but {rope_type!r} needs it" for field in fields if field not in rope]
    problems += missing
    problems += [
        f"{name}.{field} = {value!r} is not known with {rope_type!r}"
        for field, value in given.items()
        if value and field not in {*fields, *options, "rope_theta", "rope_type", "type"}
    ]
    scaling = {ours: rope.get(theirs) for theirs, ours in fields.items()}
    if rope_type == "yarn" and not missing:
        scaling |= yarn_options(name, rope, problems)
    return {"position": {"kind": "rotary", "base": base, "scaling": {"kind": ROPE_TYPES[rope_type], **scaling}}}


def yarn_options(name: str, rope: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """How far what turns fast and slowly, and by what queries and keys are multiplied."""
    if rope.get("truncate", True) is not True:
        problems.append(f"{name}.truncate = {rope['truncate']!r}, but only True is supported")
    weights = [rope.get(weight) for weight in YARN_WEIGHTS]
    length = rope.get(YARN_LENGTH)
    if length is None:
        magnitudes = [yarn_magnitude(rope["factor"], weight) for weight in weights if weight]
        length = magnitudes[0] / magnitudes[1] if len(magnitudes) == 2 else 0.0
    return {"fast": float(rope.get("beta_fast") or 32), "slow": float(rope.get("beta_slow") or 1), "length": length}


def yarn_score_scale(config: Mapping[str, Any]) -> float:
    """By what DeepSeek's scores are multiplied beside."""
    rope = config.get("rope_scaling") or config.get("rope_parameters") or {}
    weight = rope.get("mscale_all_dim") if isinstance(rope, Mapping) else None
    return yarn_magnitude(rope["factor"], weight) ** 2 if weight and "factor" in rope else 1.0


def write_rope(table: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """As transformers 4 wrote it, which 5 reads too."""
    position = table["position"]
    if position["kind"] != "rotary":
        return {}
    scaling = position["scaling"]
    rope_type = next((theirs for theirs, ours in ROPE_TYPES.items() if ours == scaling["kind"]), None)
    if rope_type is None:
        problems.append(f"model.position.scaling.kind = {scaling['kind']!r}; they know {', '.join(ROPE_TYPES)}")
        return {}
    fields = {theirs: scaling[ours] for theirs, ours in ROPE_FIELDS[rope_type].items()}
    if rope_type == "yarn":
        fields |= {"beta_fast": scaling["fast"], "beta_slow": scaling["slow"]}
        if scaling["length"]:
            fields[YARN_LENGTH] = scaling["length"]
    rope_scaling = None if rope_type == "default" else {"rope_type": rope_type, **fields}
    return {"rope_theta": position["base"], "rope_scaling": rope_scaling}


def write_score_scale(written: dict[str, Any], score_scale: float, problems: list[str]) -> dict[str, Any]:
    """The same with the weight from which they compute what scores are multiplied by."""
    rope = written.get("rope_scaling")
    if score_scale == 1.0:
        return written
    if not rope or rope["rope_type"] != "yarn" or rope["factor"] <= 1:
        problems.append(
            f"model.projection.score_scale = {score_scale!r}; they multiply scores where positions are stretched by "
            "YaRN only"
        )
        return written
    weight = (math.sqrt(score_scale) - 1) / (0.1 * math.log(rope["factor"]))
    told = {YARN_LENGTH: yarn_magnitude(rope["factor"]), **rope, "mscale_all_dim": round(weight, 9)}
    return {**written, "rope_scaling": told}
