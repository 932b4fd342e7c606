"""Llama as Hugging Face writes it: settings and tensors (Touvron et al. 2023; Llama 3: Grattafiori et al. 2024)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from regard.interop.huggingface.families.family import HEAD, Family
from regard.interop.huggingface.families.rope import ROPE_SETTINGS, read_rope, write_rope
from regard.interop.huggingface.settings import ACTIVATIONS, SOFTMAX, STACK, TIED, Setting, Settings, stack_sizes
from regard.interop.huggingface.tensors import PairedHalves, Pairing, Same, Stacked

SIZES = (
    *stack_sizes((32, 4096, 32), STACK[:3]),
    Setting("max_position_embeddings", "max_length", 2048),
    Setting("hidden_act", "feed_forward.activation", "silu", ACTIVATIONS),
    Setting("rms_norm_eps", "norm.epsilon", 1e-6),
    Setting("tie_word_embeddings", "tied", False, TIED),
)
"""What every relative says."""
HEADS = (Setting("num_key_value_heads", "groups", None), Setting("head_dim", "key_width", None))
NETWORK = (Setting("intermediate_size", "feed_forward.width", 11008),)
PARTS = {
    "kind": "llama",
    "residual": "pre",
    "position.kind": "rotary",
    "norm.kind": "rms",
    "head_norm.kind": "none",
    "projection.kind": "multi-head",
    "projection.biases": "usual",
    "feed_forward.kind": "gated",
}
FULL = {path: value for path, value in SOFTMAX.items() if path.startswith("attention.")}
REQUIRED = {"is_encoder_decoder": False}
HARMLESS = frozenset({"attention_dropout", "pretraining_tp"})
SETTINGS = Settings(
    given=(*SIZES, *HEADS, *NETWORK),
    fixed={**PARTS, **FULL},
    required={"attention_bias": False, "mlp_bias": False, **REQUIRED},
    harmless=HARMLESS,
)

MODEL = (
    Pairing("embedding.weight", ("embed_tokens.weight",)),
    Pairing("stack.norm.weight", ("norm.weight",)),
)
LAYER = (
    Pairing("attention_residual.norm.weight", ("input_layernorm.weight",)),
    Pairing("attention.output.weight", ("self_attn.o_proj.weight",)),
    Pairing("feed_forward_residual.norm.weight", ("post_attention_layernorm.weight",)),
)
PROJECTED = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
PREFIX = "model."
INV_FREQ = re.compile(r"model\.(layers\.\d+\.self_attn\.)?rotary_emb\.inv_freq")  # computed, not learned

LayerTensors = Callable[[Mapping[str, Any], int], Iterable[Pairing]]
"""From our table and the number of a layer to the pairs of one of its sub-layers."""


def stack(table: Mapping[str, Any], *sublayers: LayerTensors) -> Iterator[Pairing]:
    """All tensors of a model whose layers have these sub-layers."""
    for pairing in MODEL:
        yield pairing.inside("", PREFIX)
    for layer in range(table["layers"]):
        for pairing in (*LAYER, *(one for sublayer in sublayers for one in sublayer(table, layer))):
            yield pairing.inside(f"stack.layers.{layer}.", f"{PREFIX}layers.{layer}.")
    if table["tied"] == "none":
        yield Pairing("head.weight", (HEAD,))


def attention(table: Mapping[str, Any], layer: int) -> Iterator[Pairing]:
    """Queries, keys and values stand in one matrix; biases and norms of heads where there are any."""
    heads, groups = table["heads"], table["groups"] or table["heads"]
    width = table["key_width"] or table["width"] // heads
    rows = (heads * width, groups * width, groups * width)
    project = Stacked(rows, (PairedHalves(heads), PairedHalves(groups), Same()))
    biases = table["projection"]["biases"]
    for what in ("weight", "bias") if biases in ("qkv", "all") else ("weight",):
        yield Pairing(f"attention.project.{what}", tuple(f"{name}.{what}" for name in PROJECTED), project)
    if biases == "all":
        yield Pairing("attention.output.bias", ("self_attn.o_proj.bias",))
    if table["head_norm"]["kind"] == "rms":
        yield Pairing("attention.query_norm.weight", ("self_attn.q_norm.weight",), PairedHalves(1))
        yield Pairing("attention.key_norm.weight", ("self_attn.k_norm.weight",), PairedHalves(1))


def network(table: Mapping[str, Any], layer: int) -> tuple[Pairing, ...]:
    return gated_network("feed_forward", "mlp", table["feed_forward"]["width"])


def gated_network(ours: str, theirs: str, width: int) -> tuple[Pairing, Pairing]:
    """Both halves of the gate stand in one matrix."""
    halves = (f"{theirs}.gate_proj.weight", f"{theirs}.up_proj.weight")
    return (
        Pairing(f"{ours}.inner.weight", halves, Stacked((width, width), (Same(), Same()))),
        Pairing(f"{ours}.outer.weight", (f"{theirs}.down_proj.weight",)),
    )


def tensors(table: Mapping[str, Any]) -> Iterator[Pairing]:
    return stack(table, attention, network)


def write_more(table: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    if table["width"] % table["heads"]:
        problems.append(
            f"model.width = {table['width']} is not divisible by model.heads = {table['heads']}, as they demand even "
            "where model.key_width is given"
        )
    return write_rope(table, problems)


LLAMA = Family(
    architecture="LlamaForCausalLM",
    model_type="llama",
    kind="llama",
    settings=SETTINGS,
    vocabulary={"vocab_size": 32000, "bos_token_id": 1, "eos_token_id": 2},
    tensors=tensors,
    prefix=PREFIX,
    unneeded=(INV_FREQ,),
    more=ROPE_SETTINGS,
    read_more=read_rope,
    write_more=write_more,
)
