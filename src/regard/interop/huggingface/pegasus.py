"""Pegasus as Hugging Face writes it: Marian's tensors, norms before sub-layers and at the end (Zhang et al. 2020)."""

from __future__ import annotations

from regard.interop.huggingface.family import HEAD, Family
from regard.interop.huggingface.marian import (
    DECODER_WORDS,
    ENCODER_WORDS,
    FIXED,
    HARMLESS,
    PAIRED,
    REQUIRED,
    SIZES,
    UNNEEDED,
    positions,
    read_sides,
    settle,
    tensors,
    write_sides,
)
from regard.interop.huggingface.settings import Setting, Settings

SETTINGS = Settings(
    given=(*SIZES, Setting("tie_word_embeddings", "tied", True, {True: "all"})),
    fixed={**FIXED, "norm": "pre"},
    required=REQUIRED,
    harmless=HARMLESS | {"add_final_layer_norm", "normalize_before"},
)

PEGASUS = Family(
    architecture="PegasusForConditionalGeneration",
    model_type="pegasus",
    kind="transformer",
    settings=SETTINGS,
    vocabulary={"vocab_size": 50265, "decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1},
    tensors=tensors,
    prefix="model.",
    unneeded=UNNEEDED,
    task="translation",
    copies=(HEAD, ENCODER_WORDS, DECODER_WORDS),
    more=frozenset(PAIRED),
    read_more=read_sides,
    write_more=write_sides,
    settle=settle,
    constants=positions,
    suits=lambda table: table["norm"] == "pre",
)
