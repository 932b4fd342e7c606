"""Norms in the residual stream after each layer, what each head writes into it, and which neurons fire.

A head's share of an attention's output is its answer times its slice of the output matrix; the shares of all heads and
the bias add up to the output (Elhage et al. 2021).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.core.seams.anatomy import anatomy_of
from regard.core.seams.modules import CarriesStream, HasActivations, WritesResidual
from regard.core.taps import attention_points, record_attention_outputs
from regard.inspection.figures.alignments import three_digits
from regard.inspection.flow.states import joined, levels
from regard.inspection.heads.names import head_count, kind_of
from regard.inspection.probes import axes, probe
from regard.inspection.recording import Record, recorded
from regard.runs.load import Run


class HasNorms:
    """Something whose vectors are measured position by position."""

    norms: tuple[float, ...]

    @property
    def mean(self) -> float:
        return sum(self.norms) / len(self.norms)


@dataclass(frozen=True)
class StreamNorms(HasNorms):
    """‖x‖₂ after one layer, by position."""

    name: str
    tokens: tuple[str, ...]
    norms: tuple[float, ...]


@dataclass(frozen=True)
class HeadWrites(HasNorms):
    """‖what one head writes‖₂ by position."""

    name: str
    head: int
    tokens: tuple[str, ...]
    norms: tuple[float, ...]

    @property
    def sentence(self) -> str:
        loudest = max(range(len(self.norms)), key=self.norms.__getitem__)
        return (
            f"Head {self.head} of {self.name} writes vectors of length {three_digits(self.mean)} on average, "
            f"the longest, {three_digits(self.norms[loudest])}, at {self.tokens[loudest]!r}."
        )


@dataclass(frozen=True)
class Firing:
    """A feed-forward network's inner activations: the share that is above 0, the strongest unit at each position."""

    name: str
    tokens: tuple[str, ...]
    active: tuple[float, ...]
    strongest: tuple[int, ...]
    strength: tuple[float, ...]


@dataclass(frozen=True)
class Stream:
    """One text on its way through a model."""

    layers: tuple[StreamNorms, ...]
    heads: tuple[HeadWrites, ...]
    feed_forward: tuple[Firing, ...]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def stream(run: Run, text: str, target: str = "") -> Stream:
    """Norms and activations at every position; of what a model does not have, nothing."""
    asked = probe(run, text, target)
    return stream_of(recorded(run.model, asked, [*layer_names(run.model), *fired_names(run.model).values()]))


def layer_names(model: nn.Module) -> list[str]:
    """The modules after which the stream is measured."""
    on_the_way = levels(model) if anatomy_of(model).depth_path else []
    return [
        name
        for name, module in model.named_modules()
        if isinstance(module, CarriesStream) or name in on_the_way
    ]


def fired_names(model: nn.Module) -> dict[str, str]:
    """For each feed-forward network the module whose output are its inner activations."""
    return {
        name: f"{name}.{module.activations}"
        for name, module in model.named_modules()
        if isinstance(module, HasActivations)
    }


@torch.inference_mode()
def stream_of(seen: Record) -> Stream:
    """The same of a pass in which the layers and what fires were recorded."""
    model = seen.model

    def tokens(name: str) -> tuple[str, ...]:
        return axes(seen.probe, kind_of(model, name))[0].labels

    def passed(name: str) -> Tensor:
        return joined(seen.modules[name])[0]

    return Stream(
        tuple(StreamNorms(name, tokens(name), _norms(passed(name))) for name in layer_names(model)),
        tuple(
            HeadWrites(name, head, tokens(name), _norms(write_TD))
            for name, write_BHTD in writes_of(model, seen.heads).items()
            for head, write_TD in enumerate(write_BHTD[0])
        ),
        tuple(_firing(name, tokens(name), passed(fired)) for name, fired in fired_names(model).items()),
    )


@torch.inference_mode()
def head_writes(model: nn.Module, inputs: tuple[Any, ...]) -> dict[str, Tensor]:
    """write_BHTD of every head of every attention, in one pass over the arguments that a model takes."""
    if not attention_points(model):
        return {}
    with record_attention_outputs(model, "*") as seen:
        model.eval()(*inputs)
    return writes_of(model, seen)


def writes_of(model: nn.Module, heads: Mapping[str, list[Tensor]]) -> dict[str, Tensor]:
    """The same of heads whose answers were recorded; a recurrent decoder's one head writes what it has read."""
    found = {}
    for name, calls in heads.items():
        out_BHTV = torch.cat(calls, dim=-2)
        owner = model.get_submodule(name)
        if isinstance(owner, WritesResidual):
            (output,) = owner.residual_outputs()
            w_DHV = output.weight.unflatten(1, (head_count(model, name), -1))
            out_BHTV = torch.einsum("bhtv,dhv->bhtd", out_BHTV, w_DHV)
        found[name] = out_BHTV
    return found


def _norms(x_TD: Tensor) -> tuple[float, ...]:
    return tuple(x_TD.float().norm(dim=-1).tolist())


def _firing(name: str, tokens: tuple[str, ...], inner_TF: Tensor) -> Firing:
    strength = inner_TF.float().abs().max(-1)
    active = (inner_TF > 0).float().mean(-1).tolist()
    return Firing(name, tokens, tuple(active), tuple(strength.indices.tolist()), tuple(strength.values.tolist()))
