"""ViT and DeiT as Hugging Face writes them: settings and tensors (Dosovitskiy et al. 2021; Touvron et al. 2021)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from regard.interop.huggingface.families.bert import LAYER, PARTS
from regard.interop.huggingface.families.family import Family
from regard.interop.huggingface.families.heads import check_pooling, on_body, read_labels, write_labels
from regard.interop.huggingface.settings import ACTIVATIONS, SOFTMAX, Setting, Settings, at, stack_sizes
from regard.interop.huggingface.tensors import Flattened, Halved, HalvedBias, Pairing, Row, Same, Stacked, both

SETTINGS = Settings(
    given=(
        *stack_sizes((12, 768, 12, 3072)),
        Setting("hidden_dropout_prob", "dropout", 0.0),
        Setting("hidden_act", "feed_forward.activation", "gelu", ACTIVATIONS),
        Setting("layer_norm_eps", "norm.epsilon", 1e-12),
        Setting("patch_size", "front.size", 16),
    ),
    fixed={
        "kind": "vit",
        "front.kind": "patches",
        "front.class_token": True,
        "front.distillation_token": False,
        "position.kind": "learned",
        "feed_forward.kind": "plain",
        "norm.kind": "layer",
        **SOFTMAX,
    },
    required={"qkv_bias": True, "is_encoder_decoder": False},
    harmless=frozenset({"attention_probs_dropout_prob", "encoder_stride", "pooler_act", "pooler_output_size"}),
)
PICTURES = frozenset({"image_size", "num_channels"})
"""Settings that the preprocessing repeats; the two must agree."""
ATTENTION = "attention.attention"

# -- tensors ----------------------------------------------------------------------------------------------------


def body(table: Mapping[str, Any], prefix: str) -> Iterator[Pairing]:
    size = table["front"]["size"]
    flattened = Flattened((size, size) if isinstance(size, int) else tuple(size))
    yield Pairing("front.class_embedding", (f"{prefix}embeddings.cls_token",), Row(axes=2))
    if table["front"]["distillation_token"]:
        yield Pairing("front.distillation_embedding", (f"{prefix}embeddings.distillation_token",), Row(axes=2))
    yield Pairing("position.table_ND", (f"{prefix}embeddings.position_embeddings",), Row())
    yield from both("front.projection", f"{prefix}embeddings.patch_embeddings.projection", flattened)
    for number in range(table["layers"]):
        for pairing in layer(table["width"]):
            yield pairing.inside(f"layers.{number}.", f"{prefix}encoder.layer.{number}.")
    yield from both("norm", f"{prefix}layernorm")


def layer(width: int) -> Iterator[Pairing]:
    shaping = Stacked((width,) * 3, (Same(),) * 3)
    for what in ("weight", "bias"):
        theirs = tuple(f"{ATTENTION}.{name}.{what}" for name in ("query", "key", "value"))
        yield Pairing(f"attention.project.{what}", theirs, shaping)
    norms = {"attention.output.LayerNorm": "layernorm_before", "output.LayerNorm": "layernorm_after"}
    for part, name in zip(PARTS, LAYER, strict=True):  # BERT's, apart from where norms stand
        yield from both(part, norms.get(name, name))


def vit_tensors(table: Mapping[str, Any]) -> Iterator[Pairing]:
    yield from on_body(body(table, "vit."))
    yield from both("head.classes", "classifier")


def deit_tensors(table: Mapping[str, Any]) -> Iterator[Pairing]:
    yield from on_body(body(table, "deit."))
    yield from both("head.classes", "classifier")


def taught_tensors(table: Mapping[str, Any]) -> Iterator[Pairing]:
    """The mean of what two matrices say of two tokens is what one says of both side by side."""
    yield from on_body(body(table, "deit."))
    heads = ("cls_classifier", "distillation_classifier")
    yield Pairing("head.classes.weight", tuple(f"{name}.weight" for name in heads), Halved())
    yield Pairing("head.classes.bias", tuple(f"{name}.bias" for name in heads), HalvedBias())


def renamed(name: str) -> str:
    """Names of the code since transformers 5, which its files do not have unless somebody wants it."""
    name = re.sub(r"^(\w+\.)layers\.(\d+)\.", r"\1encoder.layer.\2.", name)
    for theirs, old in (("q", "query"), ("k", "key"), ("v", "value")):
        name = name.replace(f".attention.{theirs}_proj.", f".{ATTENTION}.{old}.")
    name = name.replace(".attention.o_proj.", ".attention.output.dense.")
    return name.replace(".mlp.fc1.", ".intermediate.dense.").replace(".mlp.fc2.", ".output.dense.")


# -- settings ---------------------------------------------------------------------------------------------------


def write_more(table: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    width = at(table, "feed_forward.width") or 4 * table["width"]
    return {"intermediate_size": width, "attention_probs_dropout_prob": 0.0}


def picture_family(name: str, suffix: str, pooling: str, **more: Any) -> Family:
    """A class of theirs that says what a picture shows by the states of these tokens."""

    def read_task(config: Mapping[str, Any], table: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
        return {"labels": read_labels(config, notes), "pooling": pooling, "dropout": 0.0}

    def write_task(task: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
        check_pooling(task, pooling, problems)
        return write_labels(task["labels"])

    prefix = f"{name.lower()}."
    common = {
        "architecture": f"{name}ForImageClassification{suffix}", "model_type": name.lower(), "kind": "vit",
        "settings": SETTINGS, "vocabulary": {"image_size": 224, "num_channels": 3}, "prefix": prefix,
        "unneeded": (re.compile(rf"{prefix}(pooler\.dense\.(weight|bias)|embeddings\.mask_token)"),),
        "task": "classification", "reads": "pictures", "copies": (), "more": PICTURES, "write_more": write_more,
        "renamed": renamed, "headed": True, "read_task": read_task, "write_task": write_task,
    }  # fmt: skip
    return Family(**{**common, **more})


DISTILLED = replace(SETTINGS, fixed={**SETTINGS.fixed, "front.distillation_token": True})


def is_distilled(table: Mapping[str, Any]) -> bool:
    return bool(at(table, "front.distillation_token"))


VIT = picture_family(
    "ViT", "", "first", tensors=vit_tensors, also=("ViTModel",), head="classifier.",
    suits=lambda table: not is_distilled(table),
)  # fmt: skip
TAUGHT = picture_family(
    "DeiT", "WithTeacher", "tokens", tensors=taught_tensors, settings=DISTILLED, also=("DeiTModel",),
    head="cls_classifier.", suits=is_distilled, suits_task=lambda task: task["pooling"] == "tokens",
)  # fmt: skip
DEIT = picture_family("DeiT", "", "first", tensors=deit_tensors, settings=DISTILLED, suits=is_distilled)
VITS = (VIT, TAUGHT, DEIT)
"""DeiT reads two tokens and answers by the first or, as it was taught, by both."""
