"""BERT as Hugging Face writes it: settings and tensors, some of them its relatives' too (Devlin et al. 2019)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from regard.interop.huggingface.families.family import Family, as_declared
from regard.interop.huggingface.families.heads import answerer, classifier, head, tagger
from regard.interop.huggingface.files import Stored
from regard.interop.huggingface.settings import ACTIVATIONS, SOFTMAX, Setting, Settings, at, stack_sizes
from regard.interop.huggingface.tensors import Pairing, Same, Stacked, both

ONE_MATRIX = {True: "output"}
"""Words in and words out; nobody publishes them apart."""
SIZES = (
    *stack_sizes((12, 768, 12, 3072)),
    Setting("hidden_dropout_prob", "dropout", 0.1),
    Setting("type_vocab_size", "segments", 2),
    Setting("layer_norm_eps", "norm.epsilon", 1e-12),
    Setting("tie_word_embeddings", "tied", True, ONE_MATRIX),
)
FIXED = {
    "kind": "bert",
    "residual": "post",
    "position.kind": "learned",
    "position.join": "add",
    "feed_forward.kind": "plain",
    "norm.kind": "layer",
    **SOFTMAX,
}
REQUIRED = {
    "add_cross_attention": False,
    "is_decoder": False,
    "is_encoder_decoder": False,
    "position_embedding_type": "absolute",
}
HARMLESS = frozenset({"attention_probs_dropout_prob", "classifier_dropout"})
SETTINGS = Settings(
    given=(
        *SIZES,
        Setting("hidden_act", "feed_forward.activation", "gelu", ACTIVATIONS),
        Setting("max_position_embeddings", "position.max_length", 512),
    ),
    fixed={**FIXED, "position.first": 0},
    required=REQUIRED,
    harmless=HARMLESS,
)

# -- tensors ----------------------------------------------------------------------------------------------------


def projected(width: int, theirs: tuple[str, str, str]) -> Iterator[Pairing]:
    """Queries, keys and values, which stand below one another in ours."""
    shaping = Stacked((width,) * 3, (Same(),) * 3)
    for what in ("weight", "bias"):
        yield Pairing(f"attention.project.{what}", tuple(f"{name}.{what}" for name in theirs), shaping)


def embedded(segments: int) -> Iterator[Pairing]:
    """The words' embedding first: it is what others may be copies of."""
    yield Pairing("embedding.weight", ("embeddings.word_embeddings.weight",))
    yield Pairing("position.table_SD", ("embeddings.position_embeddings.weight",))
    if segments:
        yield Pairing("segments.weight", ("embeddings.token_type_embeddings.weight",))
    yield from both("norm", "embeddings.LayerNorm")


PROJECTIONS = ("attention.self.query", "attention.self.key", "attention.self.value")
PARTS = (
    "attention.output",
    "attention_residual.norm",
    "feed_forward.inner",
    "feed_forward.outer",
    "feed_forward_residual.norm",
)
"""Of a layer of ours, apart from the projections of its attention."""
LAYER = (
    "attention.output.dense", "attention.output.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm"
)  # fmt: skip
"""The same of theirs."""


def layer(width: int, queries_keys_values: tuple[str, str, str], parts: tuple[str, ...]) -> Iterator[Pairing]:
    yield from projected(width, queries_keys_values)
    for ours, theirs in zip(PARTS, parts, strict=True):
        yield from both(ours, theirs)


def body(table: Mapping[str, Any], prefix: str) -> Iterator[Pairing]:
    for pairing in embedded(table["segments"]):
        yield pairing.inside("", prefix)
    for number in range(table["layers"]):
        for pairing in layer(table["width"], PROJECTIONS, LAYER):
            yield pairing.inside(f"layers.{number}.", f"{prefix}encoder.layer.{number}.")
    if table["pooler"] == "tanh":
        yield from both("pooler.dense", f"{prefix}pooler.dense")


def tensors(table: Mapping[str, Any]) -> Iterator[Pairing]:
    yield from body(table, "bert.")
    yield from both("head.dense", "cls.predictions.transform.dense")
    yield from both("head.norm", "cls.predictions.transform.LayerNorm")
    yield Pairing("head.words.bias", ("cls.predictions.bias",))
    if table.get("relation") == "next":
        yield from both("relation", "cls.seq_relationship")


def settle_pooler(
    table: dict[str, Any], stored: Mapping[str, Stored], where: str
) -> tuple[dict[str, Any], Mapping[str, Stored]]:
    """Only the tensors tell whether there is one."""
    found = any(name.endswith("pooler.dense.weight") for name in stored)
    return {**table, "pooler": "tanh" if found else "none"}, stored


def renamed(name: str) -> str:
    """Norms as the first checkpoints called their weights; and of two names for one bias the first."""
    name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", name)
    name = re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)
    return name.replace("decoder.bias", "bias")


def write_more(table: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """Widths are written out; our dropout never falls on attention weights."""
    if table["pooler"] == "relu":
        problems.append("model.pooler = 'relu'; they have 'tanh' or 'none' (DistilBERT, without segments, has 'relu')")
    width = at(table, "feed_forward.width") or 4 * table["width"]
    return {"intermediate_size": width, "attention_probs_dropout_prob": 0.0}


def encoder_family(
    name: str,
    settings: Settings,
    vocabulary: Mapping[str, int],
    tensors: Callable[[Mapping[str, Any]], Iterator[Pairing]],
) -> Family:
    """BERT or a relative of it: what follows from its name, and what all of them are for."""
    model_type = name.lower()
    return Family(
        architecture=f"{name}ForMaskedLM",
        model_type=model_type,
        kind="bert",
        settings=settings,
        vocabulary=vocabulary,
        tensors=tensors,
        prefix=f"{model_type}.",
        unneeded=(re.compile(rf"{model_type}\.embeddings\.position_ids"),),
        task="masked-language-model",
        also=(f"{name}Model",),
    )


BERT = replace(
    encoder_family("Bert", SETTINGS, {"vocab_size": 30522, "pad_token_id": 0}, tensors),
    unneeded=(re.compile(r"bert\.embeddings\.position_ids"), re.compile(r"cls\.seq_relationship\.(weight|bias)")),
    copies=("cls.predictions.decoder.weight",),
    write_more=write_more,
    settle=settle_pooler,
    also=("BertModel", "BertForPreTraining"),
    head="cls.predictions.",
    renamed=renamed,
    suits=lambda table: table["segments"] > 0 and at(table, "position.first") in (None, 0),
)


def own_body(table: Mapping[str, Any]) -> Iterator[Pairing]:
    yield from body(table, "bert.")


POOLED = replace(SETTINGS, fixed={**SETTINGS.fixed, "pooler": "tanh"})
"""A pooler stands between their body and the classes of a text."""
BERTS = (
    BERT,
    classifier(BERT, head(own_body, "classifier"), "classifier_dropout", settings=POOLED, settle=as_declared),
    tagger(BERT, own_body, "classifier_dropout"),
    answerer(BERT, own_body),
)
"""The same body under each head."""
