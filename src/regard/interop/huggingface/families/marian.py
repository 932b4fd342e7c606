"""Marian as Hugging Face writes it: the Transformer of 2017, norms after sub-layers (Junczys-Dowmunt et al. 2018)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from regard.core.errors import RunError
from regard.interop.huggingface.families.family import HEAD, Family
from regard.interop.huggingface.files import Stored
from regard.interop.huggingface.settings import ACTIVATIONS, SOFTMAX, Setting, Settings, at
from regard.interop.huggingface.tensors import Interleaved, Pairing, Row, Same, Stacked, both
from regard.layers.positions import sinusoids

SIZES = (
    Setting("encoder_layers", "encoder_layers", 12),
    Setting("decoder_layers", "decoder_layers", 12),
    Setting("d_model", "width", 1024),
    Setting("encoder_attention_heads", "heads", 16),
    Setting("max_position_embeddings", "position.max_length", 1024),
    Setting("encoder_ffn_dim", "feed_forward.width", 4096),
    Setting("activation_function", "feed_forward.activation", "gelu", ACTIVATIONS),
    Setting("dropout", "dropout", 0.1),
    Setting("activation_dropout", "feed_forward_dropout", 0.0),
)
FIXED = {
    "kind": "transformer",
    "cross": "last",
    "position.kind": "sinusoidal",
    "position.join": "add",
    "feed_forward.kind": "plain",
    **SOFTMAX,
}
REQUIRED = {"is_encoder_decoder": True, "scale_embedding": True}
HARMLESS = frozenset(
    {
        "attention_dropout", "bad_words_ids", "classif_dropout", "classifier_dropout", "decoder_layerdrop",
        "decoder_start_token_id", "early_stopping", "encoder_layerdrop", "extra_pos_embeddings",
        "forced_eos_token_id", "init_std", "length_penalty", "num_beams", "num_hidden_layers",
        "static_position_embeddings",
    }
)  # fmt: skip
SETTINGS = Settings(given=SIZES, fixed={**FIXED, "norm": "post"}, required=REQUIRED, harmless=HARMLESS)

# -- tensors ----------------------------------------------------------------------------------------------------

BIAS = "final_logits_bias"
SHARED, ENCODER_WORDS, DECODER_WORDS = (
    f"model.{place}.weight" for place in ("shared", "encoder.embed_tokens", "decoder.embed_tokens")
)
WRITES, READS = Interleaved(0), Interleaved(1)
"""The axis of a tensor that is the model's width: rows write into the residual stream, columns read from it."""


def tensors(table: Mapping[str, Any]) -> Iterator[Pairing]:
    yield from words(table["tied"])
    for side, sublayers in (("encoder", {"attention": "self_attn"}), ("decoder", DECODER_ATTENTION)):
        for layer in range(table[f"{side}_layers"]):
            for pairing in layer_tensors(table["width"], sublayers):
                yield pairing.inside(f"{side}.layers.{layer}.", f"model.{side}.layers.{layer}.")
        if table["norm"] == "pre":
            yield from norm(f"{side}.norm", f"model.{side}.layer_norm")
    if table["output_bias"]:
        yield Pairing("head.bias", (BIAS,), Row())


DECODER_ATTENTION = {"attention": "self_attn", "cross": "encoder_attn"}


def words(tied: str) -> Iterator[Pairing]:
    """The target's embedding first: it is what others may be copies of."""
    yield Pairing("target_embedding.weight", (SHARED if tied == "all" else DECODER_WORDS,), READS)
    if tied != "all":
        yield Pairing("source_embedding.weight", (ENCODER_WORDS,), READS)
    if tied == "none":
        yield Pairing("head.weight", (HEAD,), READS)


def layer_tensors(width: int, attention: Mapping[str, str]) -> Iterator[Pairing]:
    """One layer; ``attention`` names its attention sub-layers, ours and theirs."""
    for ours, theirs in attention.items():
        if ours == "cross":
            yield from linear(f"{ours}.project_query", (f"{theirs}.q_proj",), width)
            yield from linear(f"{ours}.project_memory", (f"{theirs}.k_proj", f"{theirs}.v_proj"), width)
        else:
            yield from linear(f"{ours}.project", tuple(f"{theirs}.{name}_proj" for name in "qkv"), width)
        yield from written(f"{ours}.output", f"{theirs}.out_proj")
        yield from norm(f"{ours}_residual.norm", f"{theirs}_layer_norm")
    yield from both("feed_forward.inner", "fc1", READS)
    yield from written("feed_forward.outer", "fc2")
    yield from norm("feed_forward_residual.norm", "final_layer_norm")


def linear(ours: str, theirs: tuple[str, ...], width: int) -> Iterator[Pairing]:
    """Projections of the stream, which stand below one another in ours."""
    rows = (width,) * len(theirs)
    weights, biases = (tuple(f"{name}.{what}" for name in theirs) for what in ("weight", "bias"))
    yield Pairing(f"{ours}.weight", weights, Stacked(rows, (READS,) * len(rows)))
    yield Pairing(f"{ours}.bias", biases, Stacked(rows, (Same(),) * len(rows)))


def written(ours: str, theirs: str) -> Iterator[Pairing]:
    """What a sub-layer adds to the stream."""
    for what in ("weight", "bias"):
        yield Pairing(f"{ours}.{what}", (f"{theirs}.{what}",), WRITES)


norm = written  # its weight and its bias lie along the stream too


def positions(table: Mapping[str, Any]) -> dict[str, Tensor]:
    """The sinusoids as they save them, if they do."""
    (table_SD,) = READS.part(sinusoids(torch.arange(table["position"]["max_length"]), table["width"]))
    return {f"model.{side}.embed_positions.weight": table_SD.clone() for side in ("encoder", "decoder")}


def settle(
    table: dict[str, Any], stored: Mapping[str, Stored], where: str
) -> tuple[dict[str, Any], Mapping[str, Stored]]:
    """A bias of nothing but zeros is none; positions that were saved must be those that are computed here."""
    for name in stored.keys() & {f"model.{side}.embed_positions.weight" for side in ("encoder", "decoder")}:
        wanted_SD, found_SD = positions(table)[name], stored[name].read().float()
        if found_SD.shape != wanted_SD.shape or not torch.allclose(found_SD, wanted_SD, atol=1e-2):
            raise RunError(f"{where}: {name} are not sinusoids, but only sinusoids are supported")
    if BIAS not in stored:
        return table, stored
    if bool(stored[BIAS].read().any()):
        return {**table, "output_bias": True}, stored
    return table, {name: one for name, one in stored.items() if name != BIAS}


# -- settings that hang together --------------------------------------------------------------------------------

PAIRED = {"decoder_attention_heads": "encoder_attention_heads", "decoder_ffn_dim": "encoder_ffn_dim"}
DEFAULTS = {setting.theirs: setting.default for setting in SIZES}
TIES = {"all": (True, True), "output": (False, True), "none": (False, False)}
"""By our word: share_encoder_decoder_embeddings, tie_word_embeddings."""
SHARE, TIE = "share_encoder_decoder_embeddings", "tie_word_embeddings"


def read_sides(config: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """Both sides have one number of heads and one width here, and embeddings are scaled."""
    for decoder, encoder in PAIRED.items():
        one, other = config.get(encoder, DEFAULTS[encoder]), config.get(decoder, DEFAULTS[encoder])
        if one != other:
            problems.append(f"{decoder} = {other!r}, but {encoder} = {one!r}; only equal ones are supported")
    if config.get("scale_embedding") is None:
        problems.append("scale_embedding is missing, which means False, but only True is supported")
    return {}


def read_ties(config: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    read_sides(config, problems)
    found = config.get(SHARE, True), config.get(TIE, True)
    tied = next((ours for ours, theirs in TIES.items() if theirs == found), None)
    if tied is None:
        problems.append(f"{SHARE} = {found[0]!r} with {TIE} = {found[1]!r} is not supported")
    symbols, targets = config.get("vocab_size"), config.get("decoder_vocab_size")
    if targets not in (None, symbols):
        problems.append(f"decoder_vocab_size = {targets!r}, but vocab_size = {symbols!r}; only equal ones are read")
    return {"tied": tied}


def write_sides(table: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    heads = table["heads"]
    usual = {"groups": heads, "key_width": table["width"] // heads, "value_width": table["width"] // heads}
    problems += [
        f"model.{name} = {table[name]}; they have {wanted} only, with model.width = {table['width']} and "
        f"model.heads = {heads}"
        for name, wanted in usual.items()
        if table[name] not in (0, wanted)
    ]
    inner = at(table, "feed_forward.width")
    return {"decoder_attention_heads": heads, "encoder_ffn_dim": inner, "decoder_ffn_dim": inner}


def write_ties(table: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    share, tie = TIES[table["tied"]]
    return {**write_sides(table, problems), SHARE: share, TIE: tie}


MARIAN = Family(
    architecture="MarianMTModel",
    model_type="marian",
    kind="transformer",
    settings=SETTINGS,
    vocabulary={"vocab_size": 58101, "decoder_start_token_id": 58100, "pad_token_id": 58100, "eos_token_id": 0},
    tensors=tensors,
    prefix="model.",
    unneeded=(re.compile(r"model\.(encoder|decoder)\.embed_positions\.weight"),),  # computed, not learned
    task="translation",
    copies=(HEAD, ENCODER_WORDS, DECODER_WORDS),
    more=frozenset({*PAIRED, SHARE, TIE, "decoder_vocab_size"}),
    read_more=read_ties,
    write_more=write_ties,
    settle=settle,
    suits=lambda table: table["norm"] == "post",
)
