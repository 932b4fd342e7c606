"""Windows as Hugging Face writes them: one for all layers, or for some of them, layer by layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.interop.huggingface.families.llama import FULL
from regard.interop.huggingface.settings import put

FULL_LAYER, WINDOW_LAYER = "full_attention", "sliding_attention"
LAYERED_SETTINGS = frozenset({"use_sliding_window", "sliding_window", "max_window_layers", "layer_types"})


def full_attention() -> dict[str, Any]:
    """Our attention table without a window."""
    table: dict[str, Any] = {}
    for path, value in FULL.items():
        put(table, path, value)
    return table["attention"]


def read_window(config: Mapping[str, Any], usual: int | None) -> dict[str, Any]:
    """Our attention table for one window in all layers, or none; ``usual`` is meant where nothing is said."""
    size = config.get("sliding_window", usual)
    return {"attention": {"kind": "window", "size": size} if size else full_attention()}


def write_window(table: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """The same the other way round."""
    attention = table["attention"]
    if attention["kind"] == "window":
        return {"sliding_window": attention["size"]}
    check_full(attention, "model.attention", problems, "'softmax' and 'window'")
    return {"sliding_window": None}


def check_full(attention: Mapping[str, Any], where: str, problems: list[str], known: str = "'softmax'") -> None:
    """Full attention must be the plain one."""
    if attention["kind"] != "softmax":
        problems.append(f"{where}.kind = {attention['kind']!r}; they have {known} only")
        return
    for name, wanted in full_attention().items():
        if attention[name] != wanted:
            problems.append(f"{where}.{name} = {attention[name]!r}; they have {wanted!r} only")


def read_layered(config: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """Our attention table where ``layer_types`` says it of each layer, or ``max_window_layers`` which come last."""
    layers = config.get("num_hidden_layers", 32)
    if not isinstance(layers, int):
        return {"attention": full_attention()}  # which is told with the other sizes
    size = config.get("sliding_window", 4096) if config.get("use_sliding_window") else None
    kinds = config.get("layer_types")
    if kinds is None:
        first = config.get("max_window_layers", 28) if size else layers
        kinds = [FULL_LAYER if layer < first else WINDOW_LAYER for layer in range(layers)]
    strange = [kind for kind in kinds if kind not in (FULL_LAYER, WINDOW_LAYER)]
    if strange or len(kinds) != layers:
        problems.append(f"layer_types = {kinds!r}; {layers} of {FULL_LAYER!r} and {WINDOW_LAYER!r} are expected")
    elif WINDOW_LAYER in kinds and not size:
        problems.append(
            f"layer_types has {WINDOW_LAYER!r}, but use_sliding_window = {config.get('use_sliding_window', False)!r} "
            f"and sliding_window = {config.get('sliding_window', 4096)!r} give it no window"
        )
    if WINDOW_LAYER not in kinds or not size or problems:
        return {"attention": full_attention()}
    window = {"kind": "window", "size": size}
    if FULL_LAYER not in kinds:
        return {"attention": window}
    pattern = tuple("local" if kind == WINDOW_LAYER else "full" for kind in kinds)
    alternating = {"kind": "alternating", "pattern": pattern, "local": window, "full": full_attention()}
    return {"attention": alternating}


def write_layered(table: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """The same the other way round."""
    attention, layers = table["attention"], table["layers"]
    if attention["kind"] == "window":
        size, kinds = attention["size"], [WINDOW_LAYER] * layers
    elif attention["kind"] == "alternating":
        local, pattern = attention["local"], attention["pattern"]
        if local["kind"] != "window":
            problems.append(f"model.attention.local.kind = {local['kind']!r}; they have 'window' only")
            return {}
        check_full(attention["full"], "model.attention.full", problems)
        named = [pattern[layer % len(pattern)] for layer in range(layers)]
        size, kinds = local["size"], [WINDOW_LAYER if name == "local" else FULL_LAYER for name in named]
    else:
        check_full(attention, "model.attention", problems, "'softmax', 'window' and 'alternating'")
        size, kinds = None, [FULL_LAYER] * layers
    first = kinds.index(WINDOW_LAYER) if WINDOW_LAYER in kinds else layers
    return {
        "use_sliding_window": size is not None,
        "sliding_window": size,
        "max_window_layers": first,
        "layer_types": kinds,
    }
