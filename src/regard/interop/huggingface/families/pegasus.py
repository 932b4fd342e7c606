"""Pegasus as Hugging Face writes it: Marian's tensors, norms before sub-layers and at the end (Zhang et al. 2020)."""

from __future__ import annotations

from dataclasses import replace

from regard.interop.huggingface.families.marian import (
    FIXED,
    HARMLESS,
    MARIAN,
    PAIRED,
    REQUIRED,
    SIZES,
    positions,
    read_sides,
    write_sides,
)
from regard.interop.huggingface.settings import Setting, Settings

SETTINGS = Settings(
    given=(*SIZES, Setting("tie_word_embeddings", "tied", True, {True: "all"})),
    fixed={**FIXED, "norm": "pre"},
    required=REQUIRED,
    harmless=HARMLESS | {"add_final_layer_norm", "normalize_before"},
)

PEGASUS = replace(
    MARIAN,
    architecture="PegasusForConditionalGeneration",
    model_type="pegasus",
    settings=SETTINGS,
    vocabulary={"vocab_size": 50265, "decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1},
    more=frozenset(PAIRED),
    read_more=read_sides,
    write_more=write_sides,
    constants=positions,
    suits=lambda table: table["norm"] == "pre",
)
