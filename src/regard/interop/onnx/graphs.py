"""What is exported to ONNX: the graphs that a decoding loop calls, with names for all that flows through them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import Tensor, nn

from regard.attention.cache import AttentionCache
from regard.attention.heads import HeadShape
from regard.attention.masks import Mask
from regard.attention.memory import Memory
from regard.layers.blocks import StackState
from regard.models.convolution import ConvolutionState
from regard.models.transformer import TransformerState

PAST = "past_"
"""Begins the name of an input that goes from call to call; the output without it is the next call's."""
EXAMPLE = {"batch": 2, "length": 3, "past": 5, "source": 7}
"""Sizes for tracing: distinct, and none of 0 and 1, which tracing would take for constants."""


@dataclass(frozen=True, slots=True)
class Values:
    """A tensor's axes, numbers where they are fixed and words where they are not, and the kind of its numbers."""

    shape: tuple[int | str, ...]
    type: str = "float32"

    def example(self) -> Tensor:
        sizes = [axis if isinstance(axis, int) else EXAMPLE[axis] for axis in self.shape]
        return torch.ones(sizes, dtype=getattr(torch, self.type))

    def dynamic(self) -> dict[int, str]:
        return {place: axis for place, axis in enumerate(self.shape) if isinstance(axis, str)}


@dataclass(frozen=True, slots=True)
class Graph:
    """One file: a module whose arguments and results are tensors, in the order of these names."""

    file: str
    module: nn.Module
    inputs: Mapping[str, Values]
    outputs: Mapping[str, Values]


TOKENS = Values(("batch", "length"), "int64")
SOURCE = Values(("batch", "source"), "int64")
LENGTHS = Values(("batch",), "int64")


@dataclass(slots=True)
class Past:
    """Keys and values so far as a graph knows them: what came before, joined with what is new."""

    k_BGSK: Tensor
    v_BGSV: Tensor
    ages: int = field(init=False)

    def __post_init__(self) -> None:
        self.ages = self.k_BGSK.shape[2]

    def extend(self, k_BGTK: Tensor, v_BGTV: Tensor, lengths_B: Tensor | None = None) -> tuple[Tensor, Tensor]:
        self.k_BGSK = torch.cat((self.k_BGSK, k_BGTK), dim=2)
        self.v_BGSV = torch.cat((self.v_BGSV, v_BGTV), dim=2)
        return self.k_BGSK, self.v_BGSV


def pasts(keys_LBGSK: Tensor, values_LBGSV: Tensor) -> list[AttentionCache]:
    """One for each layer, in place of caches, whose room and writing in place no graph needs."""
    return [cast(AttentionCache, Past(k, v)) for k, v in zip(keys_LBGSK.unbind(0), values_LBGSV.unbind(0), strict=True)]


def together(held: Sequence[Any]) -> tuple[Tensor, Tensor]:
    """keys_LBGSK and values_LBGSV of all layers."""
    return torch.stack([one.k_BGSK for one in held]), torch.stack([one.v_BGSV for one in held])


def memories(keys_LBGSK: Tensor, values_LBGSV: Tensor, lengths_B: Tensor) -> list[Memory]:
    mask = Mask(lengths_B=lengths_B)
    return [Memory(k, v, mask) for k, v in zip(keys_LBGSK.unbind(0), values_LBGSV.unbind(0), strict=True)]


class Computing(nn.Module):
    """A part of a model's work, as one graph computes it."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model: Any = model


class Writing(Computing):
    """A decoder alone: new tokens and what came before them become logits, and what came before the next."""

    def forward(self, tokens_BT: Tensor, keys_LBGSK: Tensor, values_LBGSV: Tensor) -> tuple[Tensor, ...]:
        state = StackState(pasts(keys_LBGSK, values_LBGSV))
        logits_BTW, state = self.model.step(tokens_BT, state)
        return logits_BTW, *together(state.caches)


class Encoding(Computing):
    """An encoder, and what each decoder layer will read of its states: projected here, once for a source."""

    def forward(self, source_BS: Tensor, lengths_B: Tensor) -> tuple[Tensor, ...]:
        return together(self.model.start((source_BS, lengths_B)).memories)


class Answering(Computing):
    """A Transformer's decoder: as ``Writing``, with a source to read."""

    def forward(
        self, tokens_BT: Tensor, memory_keys: Tensor, memory_values: Tensor, lengths_B: Tensor,
        keys_LBGSK: Tensor, values_LBGSV: Tensor,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        read = memories(memory_keys, memory_values, lengths_B)
        state = TransformerState(read, pasts(keys_LBGSK, values_LBGSV), tokens_BT.shape[0])
        logits_BTW, state = self.model.step(tokens_BT, state)
        return logits_BTW, *together(state.caches)


class Convolving(Computing):
    """A convolutional decoder: it sees no further back than its windows, and is shown the answer from its start."""

    def forward(self, tokens_BT: Tensor, memory_keys: Tensor, memory_values: Tensor, lengths_B: Tensor) -> Tensor:
        rows, width = tokens_BT.shape[0], self.model.config.width
        nothing = [layer.convolution.no_past(rows, width, memory_keys) for layer in self.model.decoder]
        state = ConvolutionState(memories(memory_keys, memory_values, lengths_B), nothing)
        return self.model.step(tokens_BT, state)[0]


def keys_and_values(prefix: str, layers: int, shape: HeadShape, positions: str) -> dict[str, Values]:
    key: tuple[int | str, ...] = (layers, "batch", shape.groups, positions)
    return {f"{prefix}keys": Values((*key, shape.key_width)), f"{prefix}values": Values((*key, shape.value_width))}


def writer(model: Any, symbols: int) -> list[Graph]:
    layers = model.stack.layers
    shape = layers[0].attention.shape
    inputs = {"tokens": TOKENS, **keys_and_values(PAST, len(layers), shape, "past")}
    outputs = {"logits": logits(symbols), **keys_and_values("", len(layers), shape, "past + length")}
    return [Graph("model.onnx", Writing(model), inputs, outputs)]


def translator(model: Any, symbols: int) -> list[Graph]:
    layers = model.decoder.layers
    shape = layers[0].attention.shape
    encoder, read = encoder_of(model, layers)
    inputs = {"tokens": TOKENS, **read, **keys_and_values(PAST, len(layers), shape, "past")}
    outputs = {"logits": logits(symbols), **keys_and_values("", len(layers), shape, "past + length")}
    return [encoder, Graph("decoder.onnx", Answering(model), inputs, outputs)]


def convolutional(model: Any, symbols: int) -> list[Graph]:
    encoder, read = encoder_of(model, model.decoder)
    inputs = {"tokens": TOKENS, **read}
    return [encoder, Graph("decoder.onnx", Convolving(model), inputs, {"logits": logits(symbols)})]


def encoder_of(model: Any, layers: Any) -> tuple[Graph, dict[str, Values]]:
    """The graph, and what of it a decoder asks for."""
    memory = keys_and_values("memory_", len(layers), layers[0].cross.shape, "source")
    lengths = {"source_lengths": LENGTHS}
    return Graph("encoder.onnx", Encoding(model), {"source": SOURCE, **lengths}, memory), {**memory, **lengths}


def logits(symbols: int) -> Values:
    return Values(("batch", "length", symbols))
