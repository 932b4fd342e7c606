"""Every model that the laws are held against, and one way to ask all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.core.config import Config, parse
from regard.core.ports import INPUT, Arrays, Nodes, Ports, text_ports
from regard.core.symbols import EOS
from regard.data.padding import pad
from regard.decoding.engine import TorchEngine
from regard.models import ModelPart
from regard.models.gpt import Gpt
from regard.models.llama import Llama
from regard.models.recurrent import Recurrent
from regard.models.transformer_xl import TransformerXl
from regard.runs.recipe import Recipe
from tests.laws.families import DecoderOnly

WRITERS = ("gpt", "llama", "recurrent", "transformer-xl")
"""Families that read nothing but their own words."""

SYMBOLS = 13
PORTS = text_ports(13, 13, shared=True)
Sources = Sequence[Sequence[int]]


@dataclass(frozen=True)
class Subject:
    """A model by its table in a recipe."""

    name: str
    table: dict[str, Any] = field(hash=False)
    ports: Ports = field(default_factory=lambda: PORTS, hash=False)

    @property
    def within(self) -> float:
        """How far apart equal answers may be: products of experts have as many rows as positions chose them, buckets of
        hashes as many as have the hash, and another number of rows may be rounded otherwise."""
        kinds = {self.table.get(part, {}).get("kind") for part in ("feed_forward", "attention")}
        return 1e-5 if kinds & {"experts", "reformer"} else 0.0

    @property
    def config(self) -> ModelPart:
        return parse(Recipe, {"model": self.table}).model

    @property
    def reads_a_source(self) -> bool:
        return "DecoderOnly" not in self.table["kind"] and self.table["kind"] not in WRITERS

    def build(self, seed: int = 1, noise: float = 0.3) -> nn.Module:
        """With noise on every weight: what starts at zero (biases) would hide a mistake."""
        torch.manual_seed(seed)
        model = self.config.build(self.ports)
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(torch.randn_like(weight) * noise * max(float(weight.std(correction=0)), 0.1))
        return model.eval()


def collate(model: nn.Module, sources: Sources) -> Any:
    """What ``start`` takes."""
    if isinstance(model, DecoderOnly):
        return len(sources)
    if not reads_a_source(model):
        return len(sources), 0
    source_BS, lengths_B = pad([np.asarray(source, np.int64) for source in sources], after=EOS)
    return torch.from_numpy(source_BS), torch.from_numpy(lengths_B)


def reads_a_source(model: nn.Module) -> bool:
    return not isinstance(model, DecoderOnly | Gpt | Llama | Recurrent | TransformerXl)


def states(model: Any, source: Any, target_BT: Tensor) -> Tensor:
    """states_BTD of the training pass."""
    return model(*source, target_BT) if reads_a_source(model) else model(target_BT)


def parallel(model: Any, source: Any, target_BT: Tensor) -> Tensor:
    """logits_BTW of the training pass."""
    return model.head(states(model, source, target_BT))


def engine(model: Any) -> TorchEngine:
    return TorchEngine(model, lambda sources: collate(model, sources))


def _transformer(**changes: Any) -> dict[str, Any]:
    tiny = {"encoder_layers": 2, "decoder_layers": 2, "width": 12, "heads": 3, "feed_forward": {"width": 17}}
    return {"kind": "transformer", **tiny, "dropout": 0.1, **changes}


def _recurrent(kind: str, *, cell: str, **changes: Any) -> dict[str, Any]:
    tiny = {"embedding": {"kind": "learned", "width": 7}, "width": 11, "dropout": 0.1}
    return {"kind": kind, "cell": {"kind": cell}, **tiny, **changes}


def _writer(kind: str, **changes: Any) -> dict[str, Any]:
    return {"kind": kind, "layers": 2, "width": 12, "heads": 3, "dropout": 0.1, **changes}


def _local(score: str, reach: str) -> dict[str, Any]:
    return {"kind": score, "reach": {"kind": reach, "window": 4}}


def _alternating(local: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "alternating", "local": local}


def _experts(**changes: Any) -> dict[str, Any]:
    return {"kind": "experts", "experts": 4, "active": 2, "width": 11, **changes}


def _latent(**changes: Any) -> dict[str, Any]:
    return {"kind": "latent", "rank": 6, "key_width": 4, "rotary_width": 2, "value_width": 3, **changes}


def _reformer(**changes: Any) -> dict[str, Any]:
    return {"kind": "reformer", "buckets": 4, "chunk": 2, "rounds": 3, **changes}


_LAYOUT = ["x" * (row + 1) + "." * (12 - row) for row in range(13)]
_CONVOLUTION: dict[str, Any] = {
    "kind": "convolution", "embedding": {"kind": "learned", "width": 7}, "width": 12, "encoder_layers": 2,
    "decoder_layers": 2, "dropout": 0.1,
}  # fmt: skip

SUBJECTS = [
    Subject("post", _transformer(norm="post")),
    Subject("pre-own", _transformer(norm="pre", cross="own")),
    Subject("post-own", _transformer(norm="post", cross="own")),
    Subject("untied", _transformer(tied="none", norm="pre")),
    Subject("concatenated", _transformer(position={"kind": "sinusoidal", "join": "concatenate", "width": 5})),
    Subject("learned", _transformer(position={"kind": "learned", "max_length": 64}, norm="pre")),
    Subject("reversed-binary", _transformer(position={"kind": "reversed-binary"}, norm="pre")),
    Subject("grid", _transformer(position={"kind": "grid"}, norm="pre")),
    Subject("relative-bias", _transformer(position={"kind": "relative-bias", "max_distance": 3}, norm="pre")),
    Subject("gated", _transformer(feed_forward={"kind": "gated", "width": 11}, norm="pre")),
    Subject("rotary", _transformer(position={"kind": "rotary"}, norm="pre", cross="own")),
    Subject("none", _transformer(position={"kind": "none"}, norm="pre")),
    Subject("grouped", _transformer(width=16, heads=4, groups=2, position={"kind": "rotary", "base": 100.0})),
    Subject("other-widths", _transformer(key_width=6, value_width=5, norm="pre")),
    Subject("additive", _transformer(attention={"kind": "softmax", "score": "additive"}, norm="pre")),
    Subject("bilinear", _transformer(attention={"kind": "softmax", "score": "bilinear"}, norm="pre")),
    Subject("head-norm", _transformer(head_norm={"kind": "layer"}, groups=1, norm="pre")),
    Subject("no-encoder", _transformer(encoder_layers=0, norm="pre")),
    Subject("window", _transformer(attention={"kind": "window", "size": 3}, norm="pre")),
    Subject("blockwise", _transformer(attention={"kind": "blockwise", "block": 2}, norm="pre")),
    Subject("dilated", _transformer(attention=_alternating({"kind": "dilated", "size": 3, "stride": 2}), norm="pre")),
    Subject("bigbird", _transformer(attention={"kind": "bigbird", "block": 2, "random": 1}, norm="pre")),
    Subject("top-k", _transformer(attention={"kind": "top-k", "keys": 2}, norm="pre")),
    Subject("linear", _transformer(attention={"kind": "linear"}, norm="pre", groups=1)),
    Subject("performer", _transformer(attention={"kind": "performer", "features": 5}, norm="pre")),
    Subject("experts", _transformer(feed_forward=_experts(shared=1, balance={"kind": "bias"}), norm="pre")),
    Subject("latent", _transformer(projection={"kind": "latent", "rank": 5, "query_rank": 7}, norm="pre")),
    Subject("shared", _transformer(projection={"kind": "shared"}, norm="pre")),
    Subject("reformer", _transformer(projection={"kind": "shared"}, attention=_reformer(), norm="pre")),
    Subject("fixed-start", _recurrent("fixed-context", cell="rnn", context="start", encoder_layers=2)),
    Subject("fixed-every-step", _recurrent("fixed-context", cell="lstm", decoder_layers=2, tied="none")),
    Subject("bahdanau", _recurrent("bahdanau", cell="gru")),
    Subject("bahdanau-lstm", _recurrent("bahdanau", cell="lstm", encoder_layers=2, bidirectional=False)),
    Subject("luong", _recurrent("luong", cell="lstm", layers=2)),
    Subject("luong-dot", _recurrent("luong", cell="gru", attention={"kind": "dot"}, feeding="none")),
    Subject("luong-concat", _recurrent("luong", cell="rnn", attention={"kind": "additive", "hidden": 5})),
    Subject("luong-monotonic", _recurrent("luong", cell="gru", attention=_local("general", "monotonic"))),
    Subject("luong-predictive", _recurrent("luong", cell="gru", attention=_local("additive", "predictive"))),
    Subject("luong-one-hot", _recurrent("luong", cell="gru", embedding={"kind": "one-hot"}, tied="none")),
    Subject("convolution", _CONVOLUTION),
    Subject("convolution-learned", {**_CONVOLUTION, "position": {"kind": "learned"}, "kernel": 4}),
    Subject("gpt", _writer("gpt", position={"kind": "learned", "max_length": 40}, feed_forward={"width": 17})),
    Subject("gpt-rms", _writer("gpt", norm={"kind": "rms"}, position={"kind": "rotary"}, tied="none")),
    Subject("gpt-head-norm", _writer("gpt", head_norm={"kind": "rms"}, position={"kind": "rotary"})),
    Subject("gpt-biased", _writer("gpt", position={"kind": "relative-bias"}, feed_forward={"kind": "gated"})),
    Subject("llama", _writer("llama", width=16, heads=4, groups=2, feed_forward={"kind": "gated", "width": 11})),
    Subject("llama-wide", _writer("llama", groups=1, key_width=6, tied="output", norm={"kind": "layer"})),
    Subject("gpt-window", _writer("gpt", attention={"kind": "window", "size": 2}, position={"kind": "relative-bias"})),
    Subject("llama-window", _writer("llama", width=16, heads=4, groups=2, attention={"kind": "window", "size": 3})),
    Subject("llama-alternating", _writer("llama", attention=_alternating({"kind": "window", "size": 2}))),
    Subject("gpt-linear", _writer("gpt", attention={"kind": "linear", "features": "softmax"})),
    Subject("gpt-longformer", _writer("gpt", attention={"kind": "longformer", "size": 2, "stride": 2, "globals": 2})),
    Subject("gpt-blocks", _writer("gpt", attention={"kind": "block-sparse", "block": 3, "layout": _LAYOUT})),
    Subject("llama-performer", _writer("llama", width=16, heads=4, groups=2, attention={"kind": "performer"})),
    Subject("llama-sinks", _writer("llama", attention={"kind": "sinks", "size": 2, "sinks": 1})),
    Subject("llama-experts", _writer("llama", feed_forward=_experts(dense=1, groups=2, active_groups=1, width=16))),
    Subject("llama-latent", _writer("llama", heads=5, projection=_latent(query_rank=7))),
    Subject("llama-latent-window", _writer("llama", projection=_latent(), attention={"kind": "window", "size": 3})),
    Subject("llama-latent-linear", _writer("llama", projection=_latent(), attention={"kind": "linear"})),
    Subject("llama-reformer", _writer("llama", projection={"kind": "shared"}, attention=_reformer(rounds=2))),
    Subject("gpt-reversible", _writer("gpt", residual="reversible", position={"kind": "relative-bias"})),
    Subject("llama-reversible", _writer("llama", residual="reversible", projection={"kind": "shared"},
                                        attention=_reformer())),
    Subject("gpt-latent", _writer("gpt", projection=_latent(), position={"kind": "relative-bias"})),
    Subject("xl", _writer("transformer-xl", memory=3)),
    Subject("xl-long", _writer("transformer-xl", memory=40, tied="none", norm={"kind": "rms"})),
    Subject("recurrent", _recurrent("recurrent", cell="lstm", layers=2)),
    Subject("recurrent-gru", _recurrent("recurrent", cell="gru", layers=1, tied="none")),
    Subject("gru", {"kind": "tests.laws.families:GruConfig", "width": 11, "dropout": 0.1}),
    Subject("decoder-only", {"kind": "tests.laws.families:DecoderOnlyConfig", "width": 12, "dropout": 0.1}),
]


def _encoder(**changes: Any) -> dict[str, Any]:
    tiny = {"layers": 2, "width": 12, "heads": 3, "dropout": 0.1, "position": {"kind": "learned", "max_length": 40}}
    return {"kind": "bert", **tiny, **changes}


ENCODERS = [
    Subject("bert", _encoder(pooler="tanh", feed_forward={"width": 17})),
    Subject("roberta", _encoder(segments=1, position={"kind": "learned", "max_length": 40, "first": 2})),
    Subject("distilbert", _encoder(segments=0)),
    Subject("bert-rotary", _encoder(position={"kind": "rotary"}, norm={"kind": "rms"}, tied="none")),
    Subject("bert-pre", _encoder(residual="pre", head_norm={"kind": "rms"})),
    Subject("bert-window", _encoder(attention={"kind": "window", "size": 5})),
    Subject("bert-longformer", _encoder(attention={"kind": "longformer", "size": 4})),
    Subject("bert-bigbird", _encoder(attention={"kind": "bigbird", "block": 2, "globals": 0})),
    Subject("bert-linear", _encoder(attention={"kind": "linear"})),
    Subject("bert-performer", _encoder(attention={"kind": "performer"})),
    Subject("bert-linformer", _encoder(attention={"kind": "linformer", "rows": 5})),
    Subject("bert-reformer", _encoder(projection={"kind": "shared"}, attention=_reformer(buckets=2, chunk=4))),
    Subject("bert-experts", _encoder(feed_forward=_experts(scores="sigmoid"))),
    Subject("bert-latent", _encoder(projection=_latent())),
    Subject("bert-biased", _encoder(position={"kind": "relative-bias"}, feed_forward={"kind": "gated", "width": 11})),
]
"""Models that read a text from both sides and never step."""

LONG_READERS = [
    Subject("hierarchical", {"kind": "hierarchical", "layers": 1, "width": 12, "heads": 3, "part": 3, "dropout": 0.1}),
    Subject("hierarchical-rotary", {"kind": "hierarchical", "layers": 2, "width": 12, "heads": 3, "part": 2,
                                    "summary_layers": 1, "position": {"kind": "rotary"}, "norm": {"kind": "rms"}}),
]  # fmt: skip
"""Models that read a text part by part."""


def _arrays(shape: tuple[int, ...], **changes: Any) -> tuple[dict[str, Any], Ports]:
    tiny = {"layers": 2, "width": 12, "heads": 3, "dropout": 0.1, "front": {"kind": "patches", "size": 2}}
    return {"kind": "vit", **tiny, **changes}, {INPUT: Arrays(2, shape)}


_STEM = {"kind": "convolution", "channels": (5,), "strides": (2,)}

ARRAY_READERS = [
    Subject("vit", *_arrays((6, 4))),
    Subject("vit-series", *_arrays((8,))),
    Subject("vit-sinusoidal", *_arrays((8,), position={"kind": "sinusoidal"}, norm={"kind": "rms"})),
    Subject("vit-stem", *_arrays((8,), front=_STEM, feed_forward={"kind": "gated", "width": 11})),
    Subject("vit-bare", *_arrays((8,), front={"kind": "patches", "size": 1, "class_token": False},
                                 position={"kind": "none"}, head_norm={"kind": "rms"})),
    Subject("vit-factorised", *_arrays((6, 4), position={"kind": "factorised"})),
    Subject("vit-hierarchy", *_arrays((8,), front={"kind": "hierarchy", "sizes": (4, 2)},
                                      position={"kind": "sinusoidal"})),
]  # fmt: skip
"""Models that read arrays: pictures of 6 × 4, and series of at most 8 steps."""


def _graphs(pairs: int = 0, **changes: Any) -> tuple[dict[str, Any], Ports]:
    tiny = {"layers": 2, "width": 12, "heads": 3, "dropout": 0.1}
    return {"kind": "graph-transformer", **tiny, **changes}, {INPUT: Nodes(5, pairs)}


GRAPH_READERS = [
    Subject("graph", *_graphs()),
    Subject("graph-pairs", *_graphs(2, norm={"kind": "rms"}, front={"kind": "nodes", "hidden": 7})),
    Subject("graph-mask", *_graphs(adjacency={"kind": "mask"}, head_norm={"kind": "rms"})),
    Subject("graph-wide-mask", *_graphs(2, adjacency={"kind": "mask", "hops": 2, "heads": 2})),
    Subject("graph-bag", *_graphs(adjacency={"kind": "none"}, feed_forward={"kind": "gated", "width": 11})),
]
"""Models that read graphs, whose nodes have five features each."""
ATTENTIVE = [subject for subject in SUBJECTS if subject.table["kind"] not in ("fixed-context", "recurrent")]
SOURCE_READERS = [subject for subject in SUBJECTS if subject.reads_a_source]


def kinds_covered(path: str, subjects: Sequence[Subject] = (*SUBJECTS, *ENCODERS)) -> set[str]:
    """The kinds that stand at one place of the subjects' configurations, as in ``position.kind``."""
    found = set()
    for subject in subjects:
        value: Any = subject.config
        for name in path.split("."):
            value = getattr(value, name, None) if isinstance(value, Config) else None
        if value is not None:
            found.add(str(value))
    return found


def close(found: Tensor, expected: Tensor, within: float = 1e-5) -> None:
    torch.testing.assert_close(found, expected, atol=within, rtol=within)
