"""Mixtral as Hugging Face writes it: Llama whose network is a mixture of experts (Jiang et al. 2024)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from regard.interop.huggingface.families import llama
from regard.interop.huggingface.families.experts import ExpertNames, check_balance, expert_tensors
from regard.interop.huggingface.families.rope import ROPE_SETTINGS, read_rope
from regard.interop.huggingface.families.windows import read_window, write_window
from regard.interop.huggingface.settings import Setting, Settings, with_defaults
from regard.interop.huggingface.tensors import Pairing

SETTINGS = Settings(
    given=with_defaults(
        (
            *llama.SIZES, *llama.HEADS, *llama.NETWORK,
            Setting("num_local_experts", "feed_forward.experts", 8),
            Setting("num_experts_per_tok", "feed_forward.active", 2),
        ),
        intermediate_size=14336, num_key_value_heads=8, max_position_embeddings=131072, rms_norm_eps=1e-5,
    ),
    fixed={
        **llama.PARTS,
        "feed_forward.kind": "experts",
        "feed_forward.scores": "softmax",
        "feed_forward.normalised": True,
        "feed_forward.scale": 1.0,
        "feed_forward.groups": 1,
        "feed_forward.shared": 0,
        "feed_forward.dense": 0,
    },
    required=llama.REQUIRED,
    harmless=llama.HARMLESS | {"output_router_logits", "router_jitter_noise"},
)  # fmt: skip
NAMES = ExpertNames("block_sparse_moe", "w1", "w3", "w2")


def network(table: Mapping[str, Any], layer: int) -> tuple[Pairing, ...]:
    return expert_tensors(table, NAMES)


def read_more(config: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    balance = {"kind": "loss", "weight": config.get("router_aux_loss_coef", 0.001)}
    more = read_rope(config, problems, 1e6) | read_window(config, None)
    return {**more, "feed_forward": {"balance": balance}}


def write_more(table: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    check_balance(table, problems)
    weight = table["feed_forward"]["balance"].get("weight", 0.0)
    more = llama.write_more(table, problems) | write_window(table, problems)
    return {**more, "router_aux_loss_coef": weight}


def suits(table: Mapping[str, Any]) -> bool:
    return table["feed_forward"]["kind"] == "experts" and table["projection"]["kind"] == "multi-head"


MIXTRAL = replace(
    llama.LLAMA,
    architecture="MixtralForCausalLM",
    model_type="mixtral",
    settings=SETTINGS,
    tensors=lambda table: llama.stack(table, llama.attention, network),
    more=ROPE_SETTINGS | {"sliding_window", "router_aux_loss_coef"},
    read_more=read_more,
    write_more=write_more,
    suits=suits,
)
