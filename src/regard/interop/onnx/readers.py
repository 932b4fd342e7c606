"""What reads and does not write, as one ONNX graph: bodies with the head of a task, and encoders that fill gaps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from regard.core.inputs import Inputs
from regard.core.ports import INPUT, Arrays, Ports
from regard.core.seams import reads_segments
from regard.interop.onnx.graphs import Graph, Values
from regard.interop.onnx.recurrent import Scanned
from regard.layers.headed import Headed, VectorHead, body_of

FILE = "model.onnx"
TEXT = {"tokens": Values(("batch", "length"), "int64"), "lengths": Values(("batch",), "int64")}
"""Tokens between the symbols around a text, filled up on the right, and how many of each row are there."""
SEGMENTS = {"segments": Values(("batch", "length"), "int64")}
"""1 for the tokens of a second text."""


class ReadingTexts(nn.Module):
    """Tokens to what a head says of a text, or of each of its positions."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens_BS: Tensor, lengths_B: Tensor, segments_BS: Tensor | None = None) -> Tensor:
        inputs = Inputs(tokens_BS, lengths_B, segments_BS)
        if isinstance(self.model, Headed):
            return self.model(inputs)
        model: Any = self.model
        return model.head(model.represent(inputs).x_BND)


class ReadingArrays(nn.Module):
    """Normalised pictures, or other arrays of one size, to what a head says of them."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, values_BC: Tensor) -> Tensor:
        return self.model(Inputs(values_BC))


def reader(model: nn.Module, ports: Ports) -> list[Graph]:
    """One graph, whatever the head says."""
    port, body = ports[INPUT], body_of(model)
    module: nn.Module
    if isinstance(port, Arrays):
        module, inputs = ReadingArrays(model), {"values": Values(("batch", port.channels, *port.shape))}
    else:
        inputs = {**TEXT, **(SEGMENTS if reads_segments(body) else {})}
        module = ReadingTexts(model)
    vectors = isinstance(model, Headed) and isinstance(model.head, VectorHead)
    return [Graph(FILE, module, inputs, {"vectors" if vectors else "logits": output_values(module, inputs)})]


def scanned(model: nn.Module, ports: Ports) -> list[Graph]:
    """The same where the body is a recurrent encoder, whose loop becomes one operation."""
    turned = deepcopy(model)
    body: Any = body_of(turned)
    body.encoder = Scanned(body.encoder)
    return reader(turned, ports)


def output_values(module: nn.Module, inputs: Mapping[str, Values]) -> Values:
    """The shape of what comes out: a row for each input, or for each of its positions."""
    with torch.no_grad():
        out = module.eval()(*(values.example() for values in inputs.values()))
    rows: tuple[int | str, ...] = ("batch",) if out.dim() == 2 else ("batch", "length")
    return Values((*rows, out.shape[-1]))


READERS: dict[str, Callable[[nn.Module, Ports], list[Graph]]] = {
    "bert": reader,
    "vit": reader,
    "gpt": reader,
    "llama": reader,
    "transformer": reader,
    "convolution": reader,
    "fixed-context": scanned,
    "bahdanau": scanned,
    "luong": scanned,
}
"""By the kind of the body, from a model and its ports."""
