"""DistilBERT as Hugging Face writes it: BERT without segments and pooler, under other names (Sanh et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from regard.interop.huggingface.families.bert import FIXED, ONE_MATRIX, embedded, encoder_family, layer
from regard.interop.huggingface.families.heads import BODY, answerer, classifier, on_body, tagger
from regard.interop.huggingface.settings import ACTIVATIONS, Setting, Settings, at, stack_sizes
from regard.interop.huggingface.tensors import Pairing, both

SETTINGS = Settings(
    given=(
        *stack_sizes((6, 768, 12, 3072), ("n_layers", "dim", "n_heads", "hidden_dim")),
        Setting("activation", "feed_forward.activation", "gelu", ACTIVATIONS),
        Setting("max_position_embeddings", "position.max_length", 512),
        Setting("dropout", "dropout", 0.1),
        Setting("tie_word_embeddings", "tied", True, ONE_MATRIX),
    ),
    fixed={**FIXED, "position.first": 0, "segments": 0, "pooler": "none", "norm.epsilon": 1e-12},
    required={"is_encoder_decoder": False, "sinusoidal_pos_embds": False},
    harmless=frozenset({"attention_dropout", "qa_dropout", "seq_classif_dropout", "tie_weights_"}),
)


PROJECTIONS = ("attention.q_lin", "attention.k_lin", "attention.v_lin")
LAYER = ("attention.out_lin", "sa_layer_norm", "ffn.lin1", "ffn.lin2", "output_layer_norm")


def body(table: Mapping[str, Any]) -> Iterator[Pairing]:
    for pairing in embedded(segments=0):
        yield pairing.inside("", "distilbert.")
    for number in range(table["layers"]):
        for pairing in layer(table["width"], PROJECTIONS, LAYER):
            yield pairing.inside(f"layers.{number}.", f"distilbert.transformer.layer.{number}.")


def tensors(table: Mapping[str, Any]) -> Iterator[Pairing]:
    yield from body(table)
    yield from both("head.dense", "vocab_transform")
    yield from both("head.norm", "vocab_layer_norm")
    yield Pairing("head.words.bias", ("vocab_projector.bias",))


def write_more(table: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    return {"hidden_dim": at(table, "feed_forward.width") or 4 * table["width"], "attention_dropout": 0.0}


DISTILBERT = replace(
    encoder_family("DistilBert", SETTINGS, {"vocab_size": 30522, "pad_token_id": 0}, tensors),
    copies=("vocab_projector.weight",),
    write_more=write_more,
    head="vocab_",
    suits=lambda table: table["segments"] == 0,
)


def classifying(table: Mapping[str, Any]) -> Iterator[Pairing]:
    """What is a pooler with ReLU here stands in their head."""
    yield from on_body(body(table))
    yield from both(f"{BODY}pooler.dense", "pre_classifier")
    yield from both("head.classes", "classifier")


POOLED = replace(SETTINGS, fixed={**SETTINGS.fixed, "pooler": "relu"})
DISTILBERTS = (
    DISTILBERT,
    classifier(DISTILBERT, classifying, "seq_classif_dropout", settings=POOLED),
    tagger(DISTILBERT, body, ""),
    answerer(DISTILBERT, body),
)
"""The same body under each head."""
