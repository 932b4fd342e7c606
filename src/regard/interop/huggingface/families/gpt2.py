"""GPT-2 as Hugging Face writes it: settings and tensors (Radford et al. 2019)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from regard.core.auto import AUTO
from regard.interop.huggingface.families.family import HEAD, Family
from regard.interop.huggingface.settings import ACTIVATIONS, SOFTMAX, TIED, Setting, Settings, stack_sizes
from regard.interop.huggingface.tensors import Pairing, Transposed, both

SETTINGS = Settings(
    given=(
        *stack_sizes((12, 768, 12), ("n_layer", "n_embd", "n_head")),
        Setting("n_positions", "position.max_length", 1024),
        Setting("n_inner", "feed_forward.width", None, usual=AUTO),
        Setting("activation_function", "feed_forward.activation", "gelu_new", ACTIVATIONS),
        Setting("layer_norm_epsilon", "norm.epsilon", 1e-5),
        Setting("resid_pdrop", "dropout", 0.1),
        Setting("tie_word_embeddings", "tied", True, TIED),
    ),
    fixed={
        "kind": "gpt",
        "residual": "pre",
        "position.kind": "learned",
        "position.join": "add",
        "position.first": 0,
        "feed_forward.kind": "plain",
        "norm.kind": "layer",
        **SOFTMAX,
    },
    required={
        "scale_attn_weights": True,
        "scale_attn_by_inverse_layer_idx": False,
        "reorder_and_upcast_attn": False,
        "add_cross_attention": False,
        "is_encoder_decoder": False,
    },
    harmless=frozenset(
        {
            "attn_pdrop",
            "embd_pdrop",
            "n_ctx",
            "summary_activation",
            "summary_first_dropout",
            "summary_proj_to_labels",
            "summary_type",
            "summary_use_proj",
        }
    ),
)

MODEL = (
    Pairing("embedding.weight", ("wte.weight",)),
    Pairing("stack.position.table_SD", ("wpe.weight",)),
    *both("stack.norm", "ln_f"),
)
LAYER = (
    *both("attention_residual.norm", "ln_1"),
    *both("attention.project", "attn.c_attn", Transposed()),
    *both("attention.output", "attn.c_proj", Transposed()),
    *both("feed_forward_residual.norm", "ln_2"),
    *both("feed_forward.inner", "mlp.c_fc", Transposed()),
    *both("feed_forward.outer", "mlp.c_proj", Transposed()),
)
PREFIX = "transformer."


def tensors(table: Mapping[str, Any]) -> Iterator[Pairing]:
    for pairing in MODEL:
        yield pairing.inside("", PREFIX)
    for layer in range(table["layers"]):
        for pairing in LAYER:
            yield pairing.inside(f"stack.layers.{layer}.", f"{PREFIX}h.{layer}.")
    if table["tied"] == "none":
        yield Pairing("head.weight", (HEAD,))


def write_dropout(table: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """Ours falls on embeddings and sub-layers, and never on attention weights."""
    return {"embd_pdrop": table["dropout"], "attn_pdrop": 0.0}


GPT2 = Family(
    architecture="GPT2LMHeadModel",
    model_type="gpt2",
    kind="gpt",
    settings=SETTINGS,
    vocabulary={"vocab_size": 50257, "bos_token_id": 50256, "eos_token_id": 50256},
    tensors=tensors,
    prefix=PREFIX,
    unneeded=(re.compile(r"transformer\.h\.\d+\.attn\.(bias|masked_bias)"),),  # the triangle, and its minus infinity
    write_more=write_dropout,
)
