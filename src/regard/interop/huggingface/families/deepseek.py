"""DeepSeek-V2 and V3 as Hugging Face writes them: Llama with latent heads, and experts after the first layers
(DeepSeek-AI 2024, 2025)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from regard.core import rules
from regard.interop.huggingface.families import llama
from regard.interop.huggingface.families.experts import ExpertNames, check_balance, expert_tensors
from regard.interop.huggingface.families.rope import (
    ROPE_SETTINGS,
    read_rope,
    write_rope,
    write_score_scale,
    yarn_score_scale,
)
from regard.interop.huggingface.settings import Setting, Settings, at, with_defaults
from regard.interop.huggingface.tensors import Pairing

SIZES = (
    *llama.SIZES,
    Setting("kv_lora_rank", "projection.rank", 512),
    Setting("q_lora_rank", "projection.query_rank", 1536),
    Setting("qk_nope_head_dim", "projection.key_width", 128),
    Setting("qk_rope_head_dim", "projection.rotary_width", 64),
    Setting("v_head_dim", "projection.value_width", 128),
    Setting("n_routed_experts", "feed_forward.experts", 256),
    Setting("num_experts_per_tok", "feed_forward.active", 8),
    Setting("moe_intermediate_size", "feed_forward.width", 2048),
    Setting("intermediate_size", "feed_forward.dense_width", 18432),
    Setting("n_shared_experts", "feed_forward.shared", 1),
    Setting("first_k_dense_replace", "feed_forward.dense", 3),
    Setting("routed_scaling_factor", "feed_forward.scale", 2.5),
)
PARTS = {
    **{path: value for path, value in llama.PARTS.items() if path != "projection.biases"},
    **llama.FULL,
    "groups": 0,
    "key_width": 0,
    "projection.kind": "latent",
    "projection.epsilon": 1e-6,  # whatever rms_norm_eps says
    "feed_forward.kind": "experts",
}
REQUIRED = {**llama.REQUIRED, "attention_bias": False, "moe_layer_freq": 1}
HARMLESS = llama.HARMLESS | {
    "auto_map", "ep_size", "head_dim", "output_router_logits", "qk_head_dim", "seq_aux",
}  # fmt: skip
"""Widths of heads follow from their parts; the rest acts in training, or on other machines. So do V3's layers for words
further ahead: no logit of the next word changes by them."""
V3_SETTINGS = Settings(
    given=(
        *with_defaults(
            SIZES, hidden_size=7168, num_hidden_layers=61, num_attention_heads=128, max_position_embeddings=4096
        ),
        Setting("n_group", "feed_forward.groups", 8),
        Setting("topk_group", "feed_forward.active_groups", 4),
        Setting("norm_topk_prob", "feed_forward.normalised", True),
    ),
    fixed={
        **PARTS, "feed_forward.scores": "sigmoid", "feed_forward.group_best": 2, "feed_forward.balance.kind": "bias",
    },
    required={**REQUIRED, "rope_interleave": True, "scoring_func": "sigmoid", "topk_method": "noaux_tc"},
    harmless=HARMLESS | {"aux_loss_alpha", "num_nextn_predict_layers", "num_mtp_layers"},
)  # fmt: skip
V2_SETTINGS = Settings(
    given=with_defaults(
        SIZES, num_experts_per_tok=None, n_routed_experts=64, moe_intermediate_size=1407, intermediate_size=11008,
        n_shared_experts=2, first_k_dense_replace=0, routed_scaling_factor=1.0,
    ),
    fixed={**PARTS, "feed_forward.scores": "softmax", "feed_forward.normalised": False, "feed_forward.group_best": 1},
    required={**REQUIRED, "mlp_bias": False, "norm_topk_prob": False, "scoring_func": "softmax"},
    harmless=HARMLESS,
)  # fmt: skip
GREEDY, LIMITED = "greedy", "group_limited_greedy"
USUAL_ALPHA = 0.001
NAMES = ExpertNames("mlp", "gate_proj", "up_proj", "down_proj")
BEYOND = re.compile(r"model\.layers\.61\..*")  # V3's layer for words further ahead, which transformers leaves out too


def attention(table: Mapping[str, Any], layer: int) -> Iterator[Pairing]:
    """Rotary parts turn neighbours, as ours do."""
    if table["projection"]["query_rank"]:
        yield Pairing("attention.compress_query.weight", ("self_attn.q_a_proj.weight",))
        yield Pairing("attention.query_norm.weight", ("self_attn.q_a_layernorm.weight",))
        yield Pairing("attention.project_query.weight", ("self_attn.q_b_proj.weight",))
    else:
        yield Pairing("attention.project_query.weight", ("self_attn.q_proj.weight",))
    yield Pairing("attention.compress.weight", ("self_attn.kv_a_proj_with_mqa.weight",))
    yield Pairing("attention.latent_norm.weight", ("self_attn.kv_a_layernorm.weight",))
    yield Pairing("attention.expand.weight", ("self_attn.kv_b_proj.weight",))


def network(table: Mapping[str, Any], layer: int) -> Iterator[Pairing]:
    parts = table["feed_forward"]
    if layer < parts["dense"]:
        yield from llama.gated_network("feed_forward", "mlp", parts["dense_width"])
        return
    yield from expert_tensors(table, NAMES)
    if parts["shared"]:
        width = parts["shared"] * parts["width"]
        yield from llama.gated_network("feed_forward.shared", "mlp.shared_experts", width)
    if parts["balance"]["kind"] == "bias":
        yield Pairing("feed_forward.balance.bias_E", ("mlp.gate.e_score_correction_bias",))


def read_shared(config: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    heads = config.get("num_attention_heads")
    if config.get("num_key_value_heads", heads) not in (None, heads):
        problems.append(
            f"num_key_value_heads = {config['num_key_value_heads']!r}, but latent heads have as many as "
            f"num_attention_heads = {heads!r}"
        )
    return {**read_rope(config, problems), "projection": {"score_scale": yarn_score_scale(config)}}


def write_shared(table: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    heads, widths = table["heads"], table["projection"]
    if at(table, "feed_forward.shared") == 0:
        problems.append("model.feed_forward.shared = 0; they have one at least")
    own = {
        "num_key_value_heads": heads,
        "q_lora_rank": at(table, "projection.query_rank") or None,
        "intermediate_size": at(table, "feed_forward.dense_width") or rules.gated_hidden_width(table["width"]),
    }  # fmt: skip
    unsaid = [name for name in ("rank", "key_width", "rotary_width", "value_width") if not widths.get(name)]
    problems += [f"model.projection.{name} = 0; they need a number: say it in the recipe" for name in unsaid]
    scale = widths.get("score_scale", 1.0)
    return write_score_scale(write_rope(table, problems), scale, problems) | own


def write_v3(table: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    return write_shared(table, problems) | {"num_nextn_predict_layers": 0}


def read_v2(config: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """Whether groups count, ``topk_method`` says; the loss that balances is the same as ours."""
    method = config.get("topk_method", GREEDY)
    if method not in (GREEDY, LIMITED):
        problems.append(f"topk_method = {method!r}; known: {GREEDY!r}, {LIMITED!r}")
    groups: dict[str, Any] = {"groups": 1, "active_groups": 1}
    if method == LIMITED:
        groups = {"groups": config.get("n_group"), "active_groups": config.get("topk_group")}
        problems += [
            f"{name} is missing, but topk_method = {LIMITED!r} needs it"
            for name in ("n_group", "topk_group")
            if not config.get(name)
        ]
    balance = {"kind": "loss", "weight": config.get("aux_loss_alpha", USUAL_ALPHA)}
    return {**read_shared(config, problems), "feed_forward": {**groups, "balance": balance}}


def write_v2(table: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    if at(table, "feed_forward.kind") == "experts":
        check_balance(table, problems)
    if table["width"] % table["heads"]:
        problems.append(f"model.width = {table['width']} is not divisible by model.heads = {table['heads']}")
    groups, active = at(table, "feed_forward.groups"), at(table, "feed_forward.active_groups")
    limited, balance = groups != active, at(table, "feed_forward.balance") or {}
    told = {"n_group": groups, "topk_group": active} if limited else {"n_group": None, "topk_group": None}
    return write_shared(table, problems) | {
        "topk_method": LIMITED if limited else GREEDY,
        "aux_loss_alpha": balance.get("weight", 0.0),
        **told,
    }


V3 = replace(
    llama.LLAMA,
    architecture="DeepseekV3ForCausalLM",
    model_type="deepseek_v3",
    settings=V3_SETTINGS,
    vocabulary={"vocab_size": 129280, "bos_token_id": 0, "eos_token_id": 1},
    tensors=lambda table: llama.stack(table, attention, network),
    unneeded=(llama.INV_FREQ, BEYOND),
    more=ROPE_SETTINGS | {"num_key_value_heads"},
    read_more=read_shared,
    write_more=write_v3,
    suits=lambda table: at(table, "projection.kind") == "latent" and at(table, "feed_forward.scores") == "sigmoid",
)
V2 = replace(
    V3,
    architecture="DeepseekV2ForCausalLM",
    model_type="deepseek_v2",
    settings=V2_SETTINGS,
    vocabulary={"vocab_size": 102400, "bos_token_id": 1, "eos_token_id": 2},
    unneeded=llama.LLAMA.unneeded,
    more=ROPE_SETTINGS | {"num_key_value_heads", "topk_method", "n_group", "topk_group", "aux_loss_alpha"},
    read_more=read_v2,
    write_more=write_v2,
    suits=lambda table: at(table, "projection.kind") == "latent",
)
DEEPSEEKS = (V3, V2)
