"""RoBERTa as Hugging Face writes it: BERT's tensors, positions that start after the padding (Liu et al. 2019)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from regard.interop.huggingface.families import bert
from regard.interop.huggingface.families.family import as_declared
from regard.interop.huggingface.families.heads import BODY, classifier, on_body, tagger
from regard.interop.huggingface.settings import Setting, Settings, at
from regard.interop.huggingface.tensors import Pairing, both

SETTINGS = Settings(
    # Their head has GELU whatever the layers have.
    given=(*bert.SIZES, Setting("hidden_act", "feed_forward.activation", "gelu", {"gelu": "gelu"})),
    fixed=bert.FIXED,
    required=bert.REQUIRED,
    harmless=bert.HARMLESS,
)
LONGEST = "max_position_embeddings"


def tensors(table: Mapping[str, Any]) -> Iterator[Pairing]:
    yield from bert.body(table, "roberta.")
    yield from both("head.dense", "lm_head.dense")
    yield from both("head.norm", "lm_head.layer_norm")
    yield Pairing("head.words.bias", ("lm_head.bias",))


def read_positions(config: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """Their table has rows that no token stands at: up to the one with the padding symbol's number."""
    first = config.get("pad_token_id", 1) + 1
    max_length = config.get(LONGEST, 512) - first
    return {"position": {"kind": "learned", "join": "add", "max_length": max_length, "first": first}}


def write_more(table: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    rows = (at(table, "position.max_length") or 0) + (at(table, "position.first") or 0)
    return {**bert.write_more(table, problems), LONGEST: rows}


ROBERTA = replace(
    bert.encoder_family("Roberta", SETTINGS, {"vocab_size": 50265, "pad_token_id": 1}, tensors),
    copies=("lm_head.decoder.weight",),
    more=frozenset({LONGEST}),
    read_more=read_positions,
    write_more=write_more,
    settle=bert.settle_pooler,
    head="lm_head.",
    renamed=bert.renamed,
    suits=lambda table: table["segments"] > 0 and bool(at(table, "position.first")),
)


def own_body(table: Mapping[str, Any]) -> Iterator[Pairing]:
    yield from bert.body(table, "roberta.")


def classifying(table: Mapping[str, Any]) -> Iterator[Pairing]:
    """What is BERT's pooler stands in their head."""
    yield from on_body(own_body({**table, "pooler": "none"}))
    yield from both(f"{BODY}pooler.dense", "classifier.dense")
    yield from both("head.classes", "classifier.out_proj")


ROBERTAS = (
    ROBERTA,
    classifier(
        ROBERTA, classifying, "classifier_dropout", settle=as_declared,
        settings=replace(SETTINGS, fixed={**SETTINGS.fixed, "pooler": "tanh"}),
        unneeded=(*ROBERTA.unneeded, re.compile(r"roberta\.pooler\.dense\.(weight|bias)")),
    ),
    tagger(ROBERTA, own_body, "classifier_dropout"),
)  # fmt: skip
"""The same body under each head. Questions are left out: two symbols close a question there, and one does here."""
