"""Mistral as Hugging Face writes it: Llama whose layers see a window (Jiang et al. 2023)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from regard.interop.huggingface.families import llama
from regard.interop.huggingface.families.rope import ROPE_SETTINGS, read_rope
from regard.interop.huggingface.families.windows import read_window, write_window
from regard.interop.huggingface.settings import Settings, at, with_defaults

SETTINGS = Settings(
    given=with_defaults(
        (*llama.SIZES, *llama.HEADS, *llama.NETWORK),
        intermediate_size=14336, num_key_value_heads=8, max_position_embeddings=131072,
    ),
    fixed=llama.PARTS,
    required=llama.REQUIRED,
    harmless=llama.HARMLESS,
)  # fmt: skip


def read_more(config: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    return read_rope(config, problems) | read_window(config, 4096)


def write_more(table: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    return llama.write_more(table, problems) | write_window(table, problems)


def suits(table: Mapping[str, Any]) -> bool:
    """Without a window it is a Llama."""
    wanted = {"attention.kind": "window", "feed_forward.kind": "gated", "projection.biases": "usual"}
    return all(at(table, path) == value for path, value in wanted.items())


MISTRAL = replace(
    llama.LLAMA,
    architecture="MistralForCausalLM",
    model_type="mistral",
    settings=SETTINGS,
    more=ROPE_SETTINGS | {"sliding_window"},
    read_more=read_more,
    write_more=write_more,
    suits=suits,
)
