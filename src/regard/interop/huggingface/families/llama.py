"""Llama as Hugging Face writes it: settings and tensors (Touvron et al. 2023; Llama 3: Grattafiori et al. 2024)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from regard.interop.huggingface.families.family import HEAD, Family
from regard.interop.huggingface.settings import ACTIVATIONS, SOFTMAX, TIED, Setting, Settings, stack_sizes
from regard.interop.huggingface.tensors import PairedHalves, Pairing, Same, Stacked

SETTINGS = Settings(
    given=(
        *stack_sizes((32, 4096, 32, 11008)),
        Setting("num_key_value_heads", "groups", None),
        Setting("head_dim", "key_width", None),
        Setting("max_position_embeddings", "context", 2048),
        Setting("hidden_act", "feed_forward.activation", "silu", ACTIVATIONS),
        Setting("rms_norm_eps", "norm.epsilon", 1e-6),
        Setting("tie_word_embeddings", "tied", False, TIED),
    ),
    fixed={
        "kind": "llama",
        "position.kind": "rotary",
        "feed_forward.kind": "gated",
        "norm.kind": "rms",
        **SOFTMAX,
    },
    required={
        "attention_bias": False,
        "mlp_bias": False,
        "is_encoder_decoder": False,
    },
    harmless=frozenset({"attention_dropout", "pretraining_tp"}),
)

MODEL = (
    Pairing("embedding.weight", ("embed_tokens.weight",)),
    Pairing("stack.norm.weight", ("norm.weight",)),
)
LAYER = (
    Pairing("attention_residual.norm.weight", ("input_layernorm.weight",)),
    Pairing("attention.output.weight", ("self_attn.o_proj.weight",)),
    Pairing("feed_forward_residual.norm.weight", ("post_attention_layernorm.weight",)),
    Pairing("feed_forward.outer.weight", ("mlp.down_proj.weight",)),
)
PROJECTED = ("self_attn.q_proj.weight", "self_attn.k_proj.weight", "self_attn.v_proj.weight")
GATED = ("mlp.gate_proj.weight", "mlp.up_proj.weight")
PREFIX = "model."


def tensors(table: Mapping[str, Any]) -> Iterator[Pairing]:
    for pairing in MODEL:
        yield pairing.inside("", PREFIX)
    for layer in range(table["layers"]):
        for pairing in (*LAYER, *stacked(table)):
            yield pairing.inside(f"stack.layers.{layer}.", f"{PREFIX}layers.{layer}.")
    if table["tied"] == "none":
        yield Pairing("head.weight", (HEAD,))


def stacked(table: Mapping[str, Any]) -> tuple[Pairing, Pairing]:
    """Queries, keys and values, and both halves of the gate, stand in one matrix each."""
    heads, groups = table["heads"], table["groups"] or table["heads"]
    width = table["key_width"] or table["width"] // heads
    project = Stacked(
        (heads * width, groups * width, groups * width), (PairedHalves(heads), PairedHalves(groups), Same())
    )
    gate = Stacked((table["feed_forward"]["width"],) * 2, (Same(), Same()))
    return Pairing("attention.project.weight", PROJECTED, project), Pairing("feed_forward.inner.weight", GATED, gate)


# -- rotary positions: transformers 5 writes rope_parameters, 4 wrote rope_theta and rope_scaling ------------------

ROPE_SETTINGS = frozenset({"rope_parameters", "rope_scaling", "rope_theta"})
ROPE_TYPES = {"default": "none", "linear": "linear", "llama3": "llama3"}
ROPE_FIELDS: dict[str, dict[str, str]] = {
    "default": {},
    "linear": {"factor": "factor"},
    "llama3": {
        "factor": "factor",
        "low_freq_factor": "low",
        "high_freq_factor": "high",
        "original_max_position_embeddings": "trained",
    },
}


def read_rope(config: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """The position table."""
    name = "rope_scaling" if config.get("rope_scaling") else "rope_parameters"
    given = config.get(name) or {}
    if not isinstance(given, Mapping):
        problems.append(f"{name} = {given!r}, a table is expected")
        return {}
    rope = {"original_max_position_embeddings": config.get("max_position_embeddings", 2048), **given}
    base = rope.pop("rope_theta", None) or config.get("rope_theta") or 10000.0
    other = rope.pop("type", None)
    rope_type = rope.pop("rope_type", None) or other or "default"
    if rope_type not in ROPE_TYPES:
        problems.append(f"{name}.rope_type = {rope_type!r}; known: {', '.join(map(repr, ROPE_TYPES))}")
        return {}
    fields = ROPE_FIELDS[rope_type]
    problems += [f"{name}.{field} is missing, but {rope_type!r} needs it" for field in fields if field not in rope]
    problems += [
        f"{name}.{field} = {value!r} is not known with {rope_type!r}"
        for field, value in given.items()
        if value and field not in {*fields, "rope_theta", "rope_type", "type"}
    ]
    scaling = {ours: rope.get(theirs) for theirs, ours in fields.items()}
    return {"position": {"kind": "rotary", "base": base, "scaling": {"kind": ROPE_TYPES[rope_type], **scaling}}}


def write_more(table: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """As transformers 4 wrote it, which 5 reads too."""
    if table["width"] % table["heads"]:
        problems.append(
            f"model.width = {table['width']} is not divisible by model.heads = {table['heads']}, as they demand even "
            "where model.key_width is given"
        )
    position = table["position"]
    if position["kind"] != "rotary":
        return {}
    scaling = position["scaling"]
    rope_type = next((theirs for theirs, ours in ROPE_TYPES.items() if ours == scaling["kind"]), None)
    if rope_type is None:
        problems.append(f"model.position.scaling.kind = {scaling['kind']!r}; they know {', '.join(ROPE_TYPES)}")
        return {}
    fields = {theirs: scaling[ours] for theirs, ours in ROPE_FIELDS[rope_type].items()}
    rope_scaling = None if rope_type == "default" else {"rope_type": rope_type, **fields}
    return {"rope_theta": position["base"], "rope_scaling": rope_scaling}


LLAMA = Family(
    architecture="LlamaForCausalLM",
    model_type="llama",
    kind="llama",
    settings=SETTINGS,
    vocabulary={"vocab_size": 32000, "bos_token_id": 1, "eos_token_id": 2},
    tensors=tensors,
    prefix=PREFIX,
    unneeded=(re.compile(r"model\.(layers\.\d+\.self_attn\.)?rotary_emb\.inv_freq"),),  # computed, not learned
    more=ROPE_SETTINGS,
    read_more=read_rope,
    write_more=write_more,
)
