"""Attention rollout: which input tokens a state is composed of after several layers (Abnar & Zuidema 2020).

Each layer mixes what its heads read on average with what the residual path carries on, half and half; the mixtures are
multiplied from the first layer to the last. It knows nothing of values, norms and feed-forward networks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.core.errors import OptionError
from regard.core.probe import Probe
from regard.core.taps import Attention, attention_points, record
from regard.inspection.figures.alignments import three_digits
from regard.inspection.heads.names import Kind, check_has_attention, kind_of
from regard.inspection.probes import axes, probe
from regard.runs.load import Run


@dataclass(frozen=True)
class Rollout:
    """weights_LTS: after each layer, how much of each position comes from each input token."""

    kind: Kind
    names: tuple[str, ...]
    tokens: tuple[str, ...]
    weights_LTS: tuple[tuple[tuple[float, ...], ...], ...]

    def sentence(self, position: int) -> str:
        row = self.weights_LTS[-1][position]
        best = max(range(len(row)), key=row.__getitem__)
        return (
            f"After {len(self.names)} layers {self.tokens[position]!r} at place {position} is made most of "
            f"{self.tokens[best]!r} at place {best} ({three_digits(row[best])}), and to {three_digits(row[position])} "
            "of itself."
        )

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "sentences": [self.sentence(position) for position in range(len(self.tokens))]}


@torch.inference_mode()
def rollout(run: Run, text: str, target: str = "", *, kind: Kind | None = None) -> Rollout:
    """Over the layers in which a text reads itself: of a translator the encoder's, or with ``kind`` the decoder's."""
    model = run.model.eval()
    check_has_attention(model)
    names = stack_of(model, kind)
    asked = probe(run, text, target)
    with record(model, "*") as seen:
        asked.run(model)
    return rollout_of(model, asked, seen, names)


def stack_of(model: nn.Module, kind: Kind | None = None) -> list[str]:
    """The attentions in which an input reads itself, layer by layer: those of a kind, or of the first that there is."""
    stacks: dict[Kind, list[str]] = {}
    for name in attention_points(model):
        stacks.setdefault(kind_of(model, name), []).append(name)
    stacks.pop("cross", None)
    chosen = kind or next(iter(stacks), None)
    if chosen is None or chosen not in stacks:
        raise OptionError(
            f"{type(model).__name__} has no layers in which a text reads itself"
            + (f" as {kind!r}; available: {', '.join(stacks) or 'none at all'}" if kind else "; see reading.read")
        )
    return stacks[chosen]


@torch.inference_mode()
def rollout_of(model: nn.Module, asked: Probe, seen: Mapping[str, Attention], names: Sequence[str]) -> Rollout:
    """The same of a pass that was recorded."""
    weights = [seen[name].weights[0].mean(0).cpu().double() for name in names]
    rolled = tuple(tuple(map(tuple, after_TS.tolist())) for after_TS in rolled_out(weights))
    kind = kind_of(model, names[0])
    return Rollout(kind, tuple(names), axes(asked, kind)[0].labels, rolled)


def rolled_out(weights: list[Tensor]) -> list[Tensor]:
    """The product of all layers so far, after each layer; of heads' means weights_TS."""
    through_TS = torch.eye(len(weights[0]), dtype=weights[0].dtype)
    found = []
    for weights_TS in weights:
        mixed_TS = (weights_TS + torch.eye(len(weights_TS), dtype=weights_TS.dtype)) / 2
        through_TS = mixed_TS / mixed_TS.sum(-1, keepdim=True) @ through_TS
        found.append(through_TS)
    return found
