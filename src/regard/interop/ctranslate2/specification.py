"""A model as a CTranslate2 specification: what can be expressed, and the weights filled in.

Everything here reads modules and settings; ``ctranslate2`` itself is imported where a specification is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor, nn

from regard.attention.heads import CrossAttention, SelfAttention
from regard.attention.softmax import ScaledDotScore, Softmax
from regard.core.errors import OptionError, enumerate_problems
from regard.data.modalities.text.tokenizers import Tokenizer
from regard.interop.huggingface.settings import at
from regard.layers.blocks import DecoderLayer
from regard.layers.feed_forward import GatedFeedForward
from regard.layers.positions import TablePosition
from regard.runs.load import Run

ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "gelu-tanh": "GELUTanh", "silu": "SWISH"}
TABLES = ("sinusoidal", "learned", "reversed-binary", "grid")
"""Positions that are a table of vectors; it goes along as it is."""
NORM_EPSILON = 1e-5
"""Of the encoder–decoder's norms, for which there is no setting."""

Table = Mapping[str, Any]
"""Our ``[model]`` table."""


def check_expressible(run: Run) -> None:
    """One error with every setting that CTranslate2 has no word for."""
    table, where = run.recipe.model.settled().model_dump(), str(run.folder.path)
    if table["kind"] not in FAMILIES:
        raise OptionError(
            f"{where}: model.kind = {table['kind']!r} cannot be written for CTranslate2; "
            f"what can is {', '.join(map(repr, FAMILIES))}"
        )
    found = problems(table, FAMILIES[table["kind"]])
    if run.vocabularies.target.specials.eos < 0:
        found.append("the tokenizer has no symbol that closes a text; it needs one")
    if found:
        raise OptionError(enumerate_problems(f"{where} cannot be written for CTranslate2", found))


def problems(table: Table, family: Family) -> list[str]:
    """Everything in our ``[model]`` table that stands in the way."""
    wanted: list[tuple[str, tuple[Any, ...]]] = [("attention.kind", ("softmax",))]
    if at(table, "attention.kind") == "softmax":
        wanted.append(("attention.score", ("scaled-dot", "dot")))
    wanted += [("projection.kind", ("multi-head",)), ("position.kind", (*TABLES, "rotary"))]
    wanted += family.allowed
    if at(table, "head_norm.kind") == "rms":
        wanted.append(("head_norm.epsilon", (family.norm_epsilon(table),)))  # it has one number for all norms
    if at(table, "residual") is not None:
        wanted.append(("residual", ("pre", "post")))
    if at(table, "position.first") is not None:
        wanted.append(("position.first", (0,)))
    if at(table, "position.join") is not None:
        wanted.append(("position.join", ("add",)))
    if at(table, "position.kind") == "rotary":
        wanted.append(("position.scaling.kind", ("none", "linear")))
    wanted.append(("feed_forward.kind", ("plain", "gated")))
    if at(table, "feed_forward.kind") in ("plain", "gated"):
        wanted.append(("feed_forward.activation", tuple(ACTIVATIONS)))
    found = [
        f"model.{path} = {at(table, path)!r}; it has {', '.join(map(repr, known))} only"
        for path, known in wanted
        if at(table, path) not in known
    ]
    if at(table, "attention.temperature") == 0:
        found.append("model.attention.temperature = 0.0; it has no hard lookup")
    if table.get("encoder_layers") == 0:
        found.append("model.encoder_layers = 0; it needs one at least")
    keys, values = family.head_widths(table)
    if keys != values:
        found.append(f"keys {keys} wide and values {values}; it has one width for both")
    return found


def specification(run: Run) -> Any:
    """The filled specification, vocabularies included."""
    check_expressible(run)
    table = run.recipe.model.settled().model_dump()
    family = FAMILIES[table["kind"]]
    spec = family.fill(run, table)
    spec.config.layer_norm_epsilon = family.norm_epsilon(table)
    return spec


def translator(run: Run, table: Table) -> Any:
    from ctranslate2.specs import transformer_spec

    model: Any = run.model
    shared = {"pre_norm": table["norm"] == "pre", **shape(table, model.decoder.layers[0].attention)}
    encoder = transformer_spec.TransformerEncoderSpec(table["encoder_layers"], table["heads"], **shared)
    decoder = transformer_spec.TransformerDecoderSpec(table["decoder_layers"], table["heads"], **shared)
    spec = transformer_spec.TransformerSpec(encoder, decoder)
    fill_stack(encoder, model.encoder)
    fill_stack(decoder, model.decoder)
    encoder.embeddings[0].weight = array(model.source_embedding.weight)
    decoder.embeddings.weight = array(model.target_embedding.weight)
    fill_linear(decoder.projection, model.head)
    source, target = run.vocabularies.source, run.vocabularies.target
    spec.register_source_vocabulary(tokens(source, len(model.source_embedding.weight)))
    spec.register_target_vocabulary(tokens(target, len(model.target_embedding.weight)))
    spec.config.add_source_eos = True
    spec.config.decoder_start_token = word(target, target.specials.sos)
    name_symbols(spec.config, target)
    return spec


def writer(run: Run, table: Table) -> Any:
    from ctranslate2.specs import transformer_spec

    model: Any = run.model
    stack = model.stack
    decoder = transformer_spec.TransformerDecoderSpec(
        table["layers"], table["heads"], pre_norm=True, with_encoder_attention=False,
        rms_norm=table["norm"]["kind"] == "rms", **shape(table, stack.layers[0].attention),
    )  # fmt: skip
    spec = transformer_spec.TransformerDecoderModelSpec(decoder)
    fill_stack(decoder, stack)
    decoder.scale_embeddings = False
    decoder.embeddings.weight = array(model.embedding.weight)
    fill_linear(decoder.projection, model.head)
    spec.register_vocabulary(tokens(run.vocabularies.target, len(model.embedding.weight)))
    name_symbols(spec.config, run.vocabularies.target)
    return spec


def widths_of_translator(table: Table) -> tuple[int, int]:
    usual = table["width"] // table["heads"]
    return table["key_width"] or usual, table["value_width"] or usual


def widths_of_writer(table: Table) -> tuple[int, int]:
    width = table.get("key_width") or table["width"] // table["heads"]
    return width, width


class Family(NamedTuple):
    """What CTranslate2 has for one of our families: how its specification is filled, which settings it knows beside
    those of all families, the ε of its norms, and how wide the keys and values of a head are."""

    fill: Callable[[Run, Table], Any]
    allowed: tuple[tuple[str, tuple[Any, ...]], ...]
    norm_epsilon: Callable[[Table], float]
    head_widths: Callable[[Table], tuple[int, int]]


WRITER = Family(
    writer,
    (("head_norm.kind", ("none", "rms")), ("norm.kind", ("layer", "rms"))),
    lambda table: table["norm"]["epsilon"],
    widths_of_writer,
)
FAMILIES = {
    "transformer": Family(
        translator,
        (("head_norm.kind", ("none",)), ("cross", ("last",))),  # norms of heads would be left out without a word
        lambda table: NORM_EPSILON,
        widths_of_translator,
    ),
    "gpt": WRITER,
    "llama": WRITER,
}


def shape(table: Table, attention: SelfAttention) -> dict[str, Any]:
    """What encoder and decoder have in common: activation, gate, heads and their norms, rotary positions."""
    from ctranslate2.specs import attention_spec, common_spec

    heads, position = attention.shape, table["position"]
    said: dict[str, Any] = {
        "activation": common_spec.Activation[ACTIVATIONS[table["feed_forward"]["activation"]]],
        "ffn_glu": table["feed_forward"]["kind"] == "gated",
        "head_dim": heads.key_width,
        "qk_norm": table["head_norm"]["kind"] == "rms",
    }
    if heads.groups != heads.heads:
        said["num_heads_kv"] = heads.groups
    if position["kind"] == "rotary":
        said |= {"rotary_dim": 0, "rotary_interleave": True, "rotary_base": position["base"]}
        if position["scaling"]["kind"] == "linear":
            said["rotary_scaling_type"] = attention_spec.RotaryScalingType.Linear
            said["rotary_scaling_factor"] = position["scaling"]["factor"]
    return said


def fill_stack(spec: Any, stack: Any) -> None:
    """Positions, layers, and the norm at their end where there is one."""
    if isinstance(stack.position, TablePosition):
        spec.position_encodings.encodings = array(stack.position.table_SD)
    if not isinstance(stack.norm, nn.Identity):
        fill_norm(spec.layer_norm, stack.norm)
    for layer_spec, layer in zip(spec.layer, stack.layers, strict=True):
        fill_attention(layer_spec.self_attention, layer.attention, layer.attention_residual)
        if isinstance(layer, DecoderLayer):
            fill_attention(layer_spec.attention, layer.cross, layer.cross_residual)
        fill_network(layer_spec.ffn, layer.feed_forward, layer.feed_forward_residual)


def fill_attention(spec: Any, attention: Any, residual: Any) -> None:
    """W_q, W_k and W_v are stacked on both sides, in the same order."""
    parts: tuple[nn.Module, ...] = (attention.output,)
    if isinstance(attention, CrossAttention):
        parts = attention.project_query, attention.project_memory, *parts
    else:
        parts = attention.project, *parts
    for linear_spec, part in zip(spec.linear, parts, strict=True):
        fill_linear(linear_spec, part)
    fill_norm(spec.layer_norm, residual.norm)
    if not isinstance(attention.query_norm, nn.Identity):
        fill_norm(spec.q_norm, attention.query_norm)
        fill_norm(spec.k_norm, attention.key_norm)
    scale = score_scale(attention)
    if scale is not None:
        spec.queries_scale = scale


def score_scale(attention: SelfAttention | CrossAttention) -> float | None:
    """What q·k is multiplied with; None: 1/√d_k, as usual."""
    mechanism = attention.mechanism
    if not isinstance(mechanism, Softmax):
        return None
    scaled = isinstance(mechanism.score, ScaledDotScore)
    return (attention.shape.key_width**-0.5 if scaled else 1.0) / mechanism.temperature


def fill_network(spec: Any, network: Any, residual: Any) -> None:
    if isinstance(network, GatedFeedForward):  # the gate stands above what it lets through
        spec.linear_0.weight, spec.linear_0_noact.weight = (array(half) for half in network.inner.weight.chunk(2))
    else:
        fill_linear(spec.linear_0, network.inner)
    fill_linear(spec.linear_1, network.outer)
    fill_norm(spec.layer_norm, residual.norm)


def fill_linear(spec: Any, linear: Any) -> None:
    spec.weight = array(linear.weight)
    if linear.bias is not None:
        spec.bias = array(linear.bias)


def fill_norm(spec: Any, norm: Any) -> None:
    spec.gamma = array(norm.weight)
    if isinstance(norm, nn.LayerNorm):
        spec.beta = array(norm.bias)


def array(tensor: Tensor) -> np.ndarray:
    """A copy: their quantisation works in place, and the model lives on."""
    return tensor.detach().float().cpu().contiguous().numpy().copy()


# -- vocabulary -------------------------------------------------------------------------------------------------


def tokens(tokenizer: Tokenizer, count: int) -> list[str]:
    """The tokenizer's own strings in the order of their ids, which are all different."""
    return [word(tokenizer, id) for id in range(count)]


def word(tokenizer: Tokenizer, id: int) -> str:
    """An id that the tokenizer leaves free still has a row in the model, and needs a name."""
    found = tokenizer.raw.id_to_token(id)
    return f"<free:{id}>" if found is None else found


def name_symbols(config: Any, tokenizer: Tokenizer) -> None:
    """Their three symbols; one that we do not have is called by another's name, or ids would be added."""
    specials = tokenizer.specials
    config.eos_token = word(tokenizer, specials.eos)
    config.bos_token = word(tokenizer, specials.sos if specials.sos >= 0 else specials.eos)
    config.unk_token = word(tokenizer, specials.unk if specials.unk >= 0 else specials.eos)
