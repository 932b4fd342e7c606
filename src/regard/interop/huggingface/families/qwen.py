"""Qwen2 and Qwen3 as Hugging Face writes them: Llama with biases, or norms in its heads (Yang et al. 2024, 2025)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from regard.interop.huggingface.families import llama
from regard.interop.huggingface.families.rope import ROPE_SETTINGS, read_rope, write_rope
from regard.interop.huggingface.families.windows import LAYERED_SETTINGS, read_layered, write_layered
from regard.interop.huggingface.settings import Setting, Settings, at, with_defaults

SIZES = with_defaults(
    (*llama.SIZES, *llama.HEADS, *llama.NETWORK),
    intermediate_size=22016, num_key_value_heads=32, max_position_embeddings=32768,
)  # fmt: skip
QWEN2_SETTINGS = Settings(
    given=SIZES,
    fixed={**llama.PARTS, "projection.biases": "qkv"},
    required=llama.REQUIRED,
    harmless=llama.HARMLESS,
)
QWEN3_SETTINGS = Settings(
    given=(
        *with_defaults(SIZES, head_dim=128),
        Setting("rms_norm_eps", "head_norm.epsilon", 1e-6),
        Setting("attention_bias", "projection.biases", False, {False: "usual", True: "all"}),
    ),
    fixed={
        **{path: value for path, value in llama.PARTS.items() if path != "projection.biases"}, "head_norm.kind": "rms"
    },
    required=llama.REQUIRED,
    harmless=llama.HARMLESS,
)  # fmt: skip
VOCABULARY = {"vocab_size": 151936}


def read_more(config: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    return read_rope(config, problems) | read_layered(config, problems)


def write_qwen2(table: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """What is null in other families is always said in this one."""
    heads = table["heads"]
    sizes = {"head_dim": table["key_width"] or table["width"] // heads, "num_key_value_heads": table["groups"] or heads}
    return write_rope(table, problems) | write_layered(table, problems) | sizes


def write_qwen3(table: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """One number serves all norms."""
    one, other = at(table, "norm.epsilon"), at(table, "head_norm.epsilon")
    if one != other:
        problems.append(f"model.head_norm.epsilon = {other!r}; they have {one!r}, the number of all norms, only")
    return write_qwen2(table, problems)


QWEN2 = replace(
    llama.LLAMA,
    architecture="Qwen2ForCausalLM",
    model_type="qwen2",
    settings=QWEN2_SETTINGS,
    vocabulary=VOCABULARY,
    more=ROPE_SETTINGS | LAYERED_SETTINGS,
    read_more=read_more,
    write_more=write_qwen2,
    suits=lambda table: at(table, "projection.biases") == "qkv",
)
QWEN3 = replace(
    QWEN2,
    architecture="Qwen3ForCausalLM",
    model_type="qwen3",
    settings=QWEN3_SETTINGS,
    write_more=write_qwen3,
    suits=lambda table: at(table, "head_norm.kind") == "rms" and at(table, "feed_forward.kind") == "gated",
)
