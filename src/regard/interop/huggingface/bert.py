"""BERT as Hugging Face writes it: settings and tensors, some of them its relatives' too (Devlin et al. 2019)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from regard.interop.huggingface.family import Family
from regard.interop.huggingface.files import Stored
from regard.interop.huggingface.settings import ACTIVATIONS, Setting, Settings, at
from regard.interop.huggingface.tensors import Pairing, Same, Stacked

ONE_MATRIX = {True: "output"}
"""Words in and words out; nobody publishes them apart."""
SIZES = (
    Setting("num_hidden_layers", "layers", 12),
    Setting("hidden_size", "width", 768),
    Setting("num_attention_heads", "heads", 12),
    Setting("intermediate_size", "feed_forward.width", 3072),
    Setting("hidden_dropout_prob", "dropout", 0.1),
    Setting("type_vocab_size", "segments", 2),
    Setting("layer_norm_eps", "norm.epsilon", 1e-12),
    Setting("tie_word_embeddings", "tied", True, ONE_MATRIX),
)
FIXED = {
    "kind": "bert",
    "residual": "post",
    "head_norm.kind": "none",
    "position.kind": "learned",
    "position.join": "add",
    "feed_forward.kind": "plain",
    "norm.kind": "layer",
    "attention.kind": "softmax",
    "attention.score": "scaled-dot",
    "attention.temperature": 1.0,
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


def both(ours: str, theirs: str) -> Iterator[Pairing]:
    """The weight and the bias of a linear layer or a norm."""
    for what in ("weight", "bias"):
        yield Pairing(f"{ours}.{what}", (f"{theirs}.{what}",))


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


def layer(width: int) -> Iterator[Pairing]:
    yield from projected(width, ("attention.self.query", "attention.self.key", "attention.self.value"))
    yield from both("attention.output", "attention.output.dense")
    yield from both("attention_residual.norm", "attention.output.LayerNorm")
    yield from both("feed_forward.inner", "intermediate.dense")
    yield from both("feed_forward.outer", "output.dense")
    yield from both("feed_forward_residual.norm", "output.LayerNorm")


def body(table: Mapping[str, Any], prefix: str) -> Iterator[Pairing]:
    for pairing in embedded(table["segments"]):
        yield pairing.inside("", prefix)
    for number in range(table["layers"]):
        for pairing in layer(table["width"]):
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
    width = at(table, "feed_forward.width") or 4 * table["width"]
    return {"intermediate_size": width, "attention_probs_dropout_prob": 0.0}


BERT = Family(
    architecture="BertForMaskedLM",
    model_type="bert",
    kind="bert",
    settings=SETTINGS,
    vocabulary={"vocab_size": 30522, "pad_token_id": 0},
    tensors=tensors,
    prefix="bert.",
    unneeded=(re.compile(r"bert\.embeddings\.position_ids"), re.compile(r"cls\.seq_relationship\.(weight|bias)")),
    task="masked-language-model",
    copies=("cls.predictions.decoder.weight",),
    write_more=write_more,
    settle=settle_pooler,
    also=("BertModel", "BertForPreTraining"),
    head="cls.predictions.",
    renamed=renamed,
    suits=lambda table: table["segments"] > 0 and at(table, "position.first") in (None, 0),
)
