"""One pass of a model over a probe, with everything recorded that views are made of: attention, states, answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from regard.core.probe import Probe
from regard.core.seams.anatomy import Entrance, anatomy_of
from regard.core.taps import Recording, arguments, attention_points, record, record_attention_outputs, record_outputs
from regard.inspection.flow.states import passing_states
from regard.layers.headed import body_of


@dataclass(frozen=True)
class Record:
    """What happened while a model worked on a probe.

    ``attention`` are queries, keys and masks of every mechanism, ``values`` v_BHSV and ``heads`` the answers out_BHTV;
    ``states`` are states_BTD by depth, ``embedded`` what tokens became where they entered; ``modules`` is what other
    modules gave that were asked for, call by call.
    """

    model: nn.Module
    probe: Probe
    output: Any
    attention: Recording
    values: Mapping[str, Tensor]
    heads: Mapping[str, list[Tensor]]
    states: Mapping[str, Tensor]
    embedded: Mapping[Entrance, Tensor]
    modules: Mapping[str, list[Any]] = field(default_factory=dict)

    @cached_property
    def logits_TW(self) -> Tensor:
        """The answers at every position, or the one for the whole input."""
        with torch.inference_mode():
            return self.probe.read_out(self.model, self.output)[0]


@torch.inference_mode()
def recorded(model: nn.Module, probe: Probe, modules: Sequence[str] = ()) -> Record:
    """Runs the model once; ``modules`` are names of others whose outputs are kept."""
    with ExitStack() as taps:
        attention, heads = Recording(), {}
        if attention_points(model):
            attention = taps.enter_context(record(model, "*"))
            heads = taps.enter_context(record_attention_outputs(model, "*"))
        values = taps.enter_context(values_read(model))
        states = taps.enter_context(passing_states(model)) if anatomy_of(model).depth_path else {}
        embedded = taps.enter_context(embeddings_of(model, probe))
        others = taps.enter_context(record_outputs(model, *modules)) if modules else {}
        output = probe.run(model.eval())
    return Record(model, probe, output, attention, values, heads, states, embedded, others)


@contextmanager
def values_read(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """v_BHSV of every attention, by name, as it was shown to it last."""
    seen: dict[str, Tensor] = {}

    def keeper(name: str) -> Any:
        def hook(module: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
            seen[name] = arguments(inputs, named)["v"].detach()

        return hook

    points = attention_points(model).items()
    handles = [one.register_forward_pre_hook(keeper(name), with_kwargs=True) for name, one in points]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def embeddings_of(model: nn.Module, probe: Probe) -> Iterator[dict[Entrance, Tensor]]:
    """embeddings_BTD of the probe's tokens by entrance; calls about other tokens (of a shared embedding) are left."""
    seen: dict[Entrance, Tensor] = {}

    def keeper(entrance: Entrance, tokens_BT: Tensor) -> Any:
        def hook(module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
            if torch.equal(inputs[0], tokens_BT):
                seen[entrance] = output.detach()

        return hook

    body = body_of(model)
    there = dict(body.named_modules(remove_duplicate=False))
    handles = []
    for entrance in anatomy_of(body).entrances:
        if entrance.embedding not in there or entrance.position not in there:
            continue  # a head took the place of what writes
        own = entrance if probe.source is not None else entrance._replace(side="tokens")
        side = probe.source if probe.source is not None and own.side == "source" else probe.inputs
        if side.values.is_floating_point():
            continue  # an array, which a front cuts: it has no tokens
        handles.append(there[entrance.embedding].register_forward_hook(keeper(own, side.values)))
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()
