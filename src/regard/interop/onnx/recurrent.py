"""Recurrent families as ONNX graphs: the encoder's loop over positions becomes one operation, the decoder one step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, cast

import torch
from torch import Tensor, nn

from regard.attention.local import Monotonic
from regard.attention.masks import Mask
from regard.attention.memory import Memory
from regard.core.errors import OptionError
from regard.interop.onnx.graphs import LENGTHS, PAST, SOURCE, Graph, Values, together
from regard.layers.recurrent.cells import Cell, State
from regard.layers.recurrent.stacks import Backwards, RecurrentEncoder
from regard.models.bahdanau import BahdanauState
from regard.models.fixed_context import FixedContextState
from regard.models.luong import LuongState
from regard.models.recurrent import RecurrentState

TOKEN = Values(("batch", 1), "int64")


class Scanned(nn.Module):
    """What a recurrent encoder does on packed data, on padded: where a sentence has no position, the state stays."""

    def __init__(self, encoder: RecurrentEncoder) -> None:
        super().__init__()
        self.layers = encoder.layers

    def forward(self, x_BSI: Tensor, lengths_B: Tensor) -> tuple[Tensor, list[State]]:
        there_BS1 = (torch.arange(x_BSI.shape[1], device=x_BSI.device) < lengths_B[:, None]).unsqueeze(-1)
        finals: list[State] = []
        for directions in self.layers:
            found = [scanned(direction, x_BSI, there_BS1) for direction in cast(nn.ModuleList, directions)]
            x_BSI = torch.cat([states for states, _ in found], dim=-1)
            parts = zip(*(final for _, final in found), strict=True)
            finals.append(tuple(torch.cat(part, dim=-1) for part in parts))
        return x_BSI, finals


def scanned(direction: nn.Module, x_BSI: Tensor, there_BS1: Tensor) -> tuple[Tensor, State]:
    """A cell along the positions or against them: states_BSD, 0 where nothing is, and what is remembered."""
    from torch._higher_order_ops.scan import scan

    cell = cast(Cell, direction.cell)

    def step(state: State, now: tuple[Tensor, Tensor]) -> tuple[State, Tensor]:
        x_BJ, there_B1 = now
        after = tuple(torch.where(there_B1, new, old) for new, old in zip(cell(x_BJ, state), state, strict=True))
        return after, after[0].clone()

    along = (cell.project(x_BSI).transpose(0, 1), there_BS1.transpose(0, 1))
    turned = isinstance(direction, Backwards)
    if turned:
        along = (along[0].flip(0), along[1].flip(0))
    first = tuple(part.clone() for part in cell.start(x_BSI.shape[0], x_BSI))
    final, states_SBD = scan(step, first, along)
    states_BSD = (states_SBD.flip(0) if turned else states_SBD).transpose(0, 1)
    return states_BSD * there_BS1, final


def stacked(states: Sequence[State]) -> Tensor:
    """states_PBD: all parts of all layers' states, layer by layer."""
    return torch.stack([part for state in states for part in state])


def apart(states_PBD: Tensor, parts: int) -> list[State]:
    every = states_PBD.unbind(0)
    return [every[place : place + parts] for place in range(0, len(every), parts)]


def memory_of(keys_LBGSK: Tensor, values_LBGSV: Tensor, lengths_B: Tensor) -> Memory:
    return Memory(keys_LBGSK[0], values_LBGSV[0], Mask(lengths_B=lengths_B))


class Holding(nn.Module):
    """Around a model whose loop over the source, if it has one, can be exported."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model: Any = model


class RecurrentWriting(Holding):
    def forward(self, tokens_B1: Tensor, states_PBD: Tensor) -> tuple[Tensor, ...]:
        state = RecurrentState(apart(states_PBD, self.model.stack.parts))
        logits_B1W, state = self.model.step(tokens_B1, state)
        return logits_B1W, stacked(state.states)


class FixedEncoding(Holding):
    def forward(self, source_BS: Tensor, lengths_B: Tensor) -> tuple[Tensor, ...]:
        state = self.model.start((source_BS, lengths_B))
        return state.context_BD, stacked(state.states)


class FixedAnswering(Holding):
    def forward(self, tokens_B1: Tensor, context_BD: Tensor, states_PBD: Tensor) -> tuple[Tensor, ...]:
        state = FixedContextState(context_BD, apart(states_PBD, self.model.decoder.parts))
        logits_B1W, state = self.model.step(tokens_B1, state)
        return logits_B1W, stacked(state.states)


class BahdanauEncoding(Holding):
    def forward(self, source_BS: Tensor, lengths_B: Tensor) -> tuple[Tensor, ...]:
        state = self.model.start((source_BS, lengths_B))
        return *together([state.memory]), stacked([state.state])


class BahdanauAnswering(Holding):
    def forward(
        self, tokens_B1: Tensor, keys: Tensor, values: Tensor, lengths_B: Tensor, states_PBD: Tensor
    ) -> tuple[Tensor, ...]:
        state = BahdanauState(memory_of(keys, values, lengths_B), tuple(states_PBD.unbind(0)))
        logits_B1W, state = self.model.step(tokens_B1, state)
        return logits_B1W, stacked([state.state])


class LuongEncoding(Holding):
    def forward(self, source_BS: Tensor, lengths_B: Tensor) -> tuple[Tensor, ...]:
        state = self.model.start((source_BS, lengths_B))
        return *together([state.memory]), stacked(state.states), state.fed_RD


class LuongAnswering(Holding):
    def forward(
        self, tokens_B1: Tensor, keys: Tensor, values: Tensor, lengths_B: Tensor, states_PBD: Tensor, fed_BD: Tensor
    ) -> tuple[Tensor, ...]:
        states = apart(states_PBD, self.model.decoder.parts)
        state = LuongState(memory_of(keys, values, lengths_B), states, fed_BD)
        logits_B1W, state = self.model.step(tokens_B1, state)
        return logits_B1W, stacked(state.states), state.fed_RD


def recurrent_writer(model: Any, symbols: int) -> list[Graph]:
    states = {"states": Values((len(model.stack.cells) * model.stack.parts, "batch", model.config.width))}
    return [stepping("model.onnx", RecurrentWriting(model), symbols, {}, states)]


def fixed_context(model: Any, symbols: int) -> list[Graph]:
    width, decoder = model.config.width, model.decoder
    states = {"states": Values((len(decoder.cells) * decoder.parts, "batch", width))}
    read = {"context": Values(("batch", width))}
    return pair(model, symbols, FixedEncoding, FixedAnswering, read, {}, states)


def bahdanau(model: Any, symbols: int) -> list[Graph]:
    states = {"states": Values((model.cell.parts, "batch", model.config.width))}
    return pair(model, symbols, BahdanauEncoding, BahdanauAnswering, memory(model), lengths(), states)


def luong(model: Any, symbols: int) -> list[Graph]:
    width, decoder = model.config.width, model.decoder
    states = {"states": Values((len(decoder.cells) * decoder.parts, "batch", width))}
    fed = {"fed": Values(("batch", model.head.width))}
    return pair(model, symbols, LuongEncoding, LuongAnswering, memory(model), lengths(), {**states, **fed})


def memory(model: Any) -> dict[str, Values]:
    """One layer and one head, named and shaped as where there are several."""
    if isinstance(model.attention.mechanism, Monotonic):
        raise OptionError(
            'model.attention.reach = "monotonic" cannot be exported to ONNX: its window walks along with the number of '
            'the step, which no graph knows; "global" and "predictive" can'
        )
    key = model.attention.project_key
    width = key.out_features if isinstance(key, nn.Linear) else model.encoder.width
    place: tuple[int | str, ...] = (1, "batch", 1, "source")
    return {"memory_keys": Values((*place, width)), "memory_values": Values((*place, model.encoder.width))}


def lengths() -> dict[str, Values]:
    return {"source_lengths": LENGTHS}


def pair(
    model: Any, symbols: int, encoding: Callable[[Any], nn.Module], answering: Callable[[Any], nn.Module],
    read: dict[str, Values], asked: dict[str, Values], carried: dict[str, Values],
) -> list[Graph]:  # fmt: skip
    """An encoder that gives what is ``read`` and what is first ``carried``, and a decoder that takes both."""
    scanning = deepcopy(model)
    scanning.encoder = Scanned(scanning.encoder)
    first = {**read, **{f"{PAST}{name}": values for name, values in carried.items()}}
    encoder = Graph("encoder.onnx", encoding(scanning), {"source": SOURCE, **lengths()}, first)
    return [encoder, stepping("decoder.onnx", answering(model), symbols, {**read, **asked}, carried)]


def stepping(
    file: str, module: nn.Module, symbols: int, read: dict[str, Values], carried: dict[str, Values]
) -> Graph:
    """One token further: a loop over many would be written out for one length."""
    past = {f"{PAST}{name}": values for name, values in carried.items()}
    logits = {"logits": Values(("batch", 1, symbols))}
    return Graph(file, module, {"tokens": TOKEN, **read, **past}, {**logits, **carried})
