"""Which experts every position was sent to, with which weights, and how busy that made each of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import nn

from regard.inspection.figures.alignments import three_digits
from regard.inspection.heads.names import kind_of
from regard.inspection.probes import axes, probe
from regard.inspection.recording import Record, recorded
from regard.layers.mixture.experts import Experts
from regard.runs.load import Run


@dataclass(frozen=True)
class Routing:
    """A mixture of experts at work on one text: weights_NE of every position, 0 for experts that it did not choose."""

    name: str
    tokens: tuple[str, ...]
    weights_NE: tuple[tuple[float, ...], ...]

    @property
    def load(self) -> tuple[float, ...]:
        """The share of all choices that fell on each expert."""
        counts = [sum(weight > 0 for weight in column) for column in zip(*self.weights_NE, strict=True)]
        return tuple(count / sum(counts) for count in counts)

    @property
    def sentence(self) -> str:
        load = self.load
        busiest, idle = max(range(len(load)), key=load.__getitem__), sum(not share for share in load)
        rest = f"; {idle} of {len(load)} had nothing to do" if idle else ""
        share = three_digits(load[busiest])
        return f"In {self.name} expert {busiest} was the busiest, with {share} of the choices{rest}."

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "load": self.load, "sentence": self.sentence}


def routing(run: Run, text: str, target: str = "") -> tuple[Routing, ...]:
    """Of every layer with experts; of a model without any, nothing."""
    return routing_of(recorded(run.model, probe(run, text, target), router_names(run.model)))


def router_names(model: nn.Module) -> list[str]:
    """The modules whose outputs tell where positions are sent."""
    return [f"{name}.router" for name, _ in layers_with_experts(model)]


def layers_with_experts(model: nn.Module) -> Iterator[tuple[str, Experts]]:
    return ((name, module) for name, module in model.named_modules() if isinstance(module, Experts))


@torch.inference_mode()
def routing_of(seen: Record) -> tuple[Routing, ...]:
    """The same of a pass in which the routers were recorded."""
    found = []
    for name, experts in layers_with_experts(seen.model):
        logits_NE = torch.cat(seen.modules[f"{name}.router"])
        weights_NE = experts.weights_of(experts.rules.scores_of(logits_NE.float()))
        labels = axes(seen.probe, kind_of(seen.model, name))[0].labels
        found.append(Routing(name, labels, tuple(map(tuple, weights_NE.tolist()))))
    return tuple(found)
