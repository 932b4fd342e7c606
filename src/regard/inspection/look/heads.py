"""The heads of a page: a thumbnail of each, and exact weights of as many as fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from regard.core.errors import OptionError, enumerate_problems
from regard.core.probe import Probe
from regard.core.taps import attention_points
from regard.inspection.heads.names import HeadAt, Kind, head_count, kind_of
from regard.inspection.look.packing import packed, pictured
from regard.inspection.look.walking import walk
from regard.inspection.probes import axes
from regard.inspection.recording import Record
from regard.runs.load import Run

FULL_BYTES = 24_000_000  # of all heads' codes on a page; as letters they are a third longer
WALK_BYTES = 1_000_000


@dataclass(frozen=True)
class Wanted:
    """Which heads are shown in full: layers are counted from 0 in every stack, heads in every layer; empty: all."""

    layers: tuple[int, ...] = ()
    heads: tuple[int, ...] = ()

    def takes(self, layer: int, head: int) -> bool:
        return (not self.layers or layer in self.layers) and (not self.heads or head in self.heads)


@dataclass
class Shown:
    """What the page is given: descriptions for its JSON, and long numbers by the name under which it finds them."""

    walk_room: float
    attentions: list[dict[str, Any]] = field(default_factory=list)
    heads: list[dict[str, Any]] = field(default_factory=list)
    numbers: dict[str, str] = field(default_factory=dict)
    reads: dict[str, Any] | None = None
    left_out: list[str] = field(default_factory=list)

    @property
    def first(self) -> int:
        """The head that is shown first: of the last attention that says what an answer was read from."""
        kind = self.reads["kind"] if self.reads else ""
        full = [place for place, one in enumerate(self.heads) if "key" in one]
        own = [place for place in full if self.attentions[self.heads[place]["attention"]]["kind"] == kind]
        last = max((self.heads[place]["attention"] for place in own), default=-1)
        return next((place for place in own if self.heads[place]["attention"] == last), full[0] if full else 0)

    def keep(self, key: str, weights_TS: np.ndarray, *, triangle: bool) -> dict[str, Any]:
        """The weights under this name, and what the page must know to read them."""
        codes = packed(weights_TS, triangle=triangle)
        self.numbers[key] = codes.text
        return {"key": key, "scale": codes.scale}

    def keep_walk(self, key: str, walked: Callable[[], Mapping[str, Any] | None]) -> dict[str, Any]:
        """The walk's numbers, while there is room for them."""
        steps = dict(walked() or {}) if self.walk_room > 0 else {}
        numbers = steps.pop("numbers", "")
        self.walk_room -= 0.75 * len(numbers)
        if not numbers or self.walk_room < 0:
            return {}
        self.numbers[f"{key}.walk"] = numbers
        return {"walk": steps}


def layers_of(model: nn.Module) -> dict[str, int]:
    """For every attention its number in the stack that it belongs to."""
    found: dict[str, int] = {}
    counts: dict[Kind, int] = {}
    for name in attention_points(model):
        kind = kind_of(model, name)
        found[name] = counts.get(kind, 0)
        counts[kind] = found[name] + 1
    return found


def check_choice(run: Run, wanted: Wanted) -> None:
    layers = max(layers_of(run.model).values()) + 1
    heads = max(head_count(run.model, name) for name in attention_points(run.model))
    wrong = [f"layer {one} (there are 0 to {layers - 1})" for one in wanted.layers if not 0 <= one < layers]
    wrong += [f"head {one} (there are 0 to {heads - 1})" for one in wanted.heads if not 0 <= one < heads]
    if wrong:
        raise OptionError(enumerate_problems("the model does not have", wrong))


def room(run: Run, asked: Probe, wanted: Wanted, triangles: Mapping[str, bool], most: float) -> set[HeadAt]:
    """The wanted heads that fit into so many bytes: the first of every layer, the second of every layer, and so on."""
    numbers = layers_of(run.model)
    every = [(name, head) for name in triangles for head in range(head_count(run.model, name))]
    kept: set[HeadAt] = set()
    used = 0
    for name, head in sorted(every, key=lambda at: (at[1], numbers[at[0]])):
        if wanted.takes(numbers[name], head):
            rows, columns = (len(axis.labels) for axis in axes(asked, kind_of(run.model, name)))
            used += 2 * (rows * (rows + 1) // 2 if triangles[name] else rows * columns)
            if used > most:
                break
            kept.add((name, head))
    return kept


@torch.inference_mode()
def shown_heads(run: Run, record: Record, wanted: Wanted, prefix: str, share: float, command: str) -> Shown:
    """All heads on one text; ``share`` is this text's part of the page's room."""
    model, seen, values = record.model, record.attention, record.values
    numbers, found = layers_of(run.model), Shown(walk_room=WALK_BYTES * share)
    triangles = {
        name: all(mask.causal for _, _, mask, _ in attention.calls)
        for name, attention in seen.items()
        if attention.mechanism.has_matrix
    }
    full = room(run, record.probe, wanted, triangles, FULL_BYTES * share)
    last = _reading_last(run)
    sums: list[np.ndarray] = []
    for place, (name, attention) in enumerate(seen.items()):
        found.attentions.append(
            {"name": name, "kind": kind_of(model, name), "layer": numbers[name], "heads": head_count(model, name),
             "causal": triangles.get(name, False), "matrix": name in triangles}
        )  # fmt: skip
        if name not in triangles:
            found.left_out.append(f"{name}: {type(attention.mechanism).__name__} never forms attention weights.")
            continue
        weights_HTS = attention.weights[0].float().cpu()
        if kind_of(model, name) == last:
            sums.append(weights_HTS.double().mean(0).numpy())
        for head, weights_TS in enumerate(weights_HTS):
            one = {"attention": place, "head": head, "picture": pictured(weights_TS.numpy()).as_dict()}
            if (name, head) in full:
                key = f"{prefix}{name}.{head}"
                one |= found.keep(key, weights_TS.numpy(), triangle=triangles[name])
                one |= found.keep_walk(key, partial(walk, attention, values[name], head, weights_TS))
            found.heads.append(one)
    if sums:
        triangle = all(triangles[name] for name in triangles if kind_of(model, name) == last)
        kept = found.keep(f"{prefix}reads", np.mean(sums, axis=0), triangle=triangle)
        found.reads = {**kept, "kind": last, "causal": triangle}
    missing = sum("key" not in one for one in found.heads)
    if missing:
        found.left_out.append(
            f"{len(found.heads) - missing} of {len(found.heads)} heads are here in full, all of them as thumbnails. "
            f"For others: {command} --layers {max(numbers.values())} --heads 0,1"
        )
    return found


def _reading_last(run: Run) -> Kind:
    """The kind of attention that says what an answer was read from."""
    kinds: Sequence[Kind] = [kind_of(run.model, name) for name in attention_points(run.model)]
    return "cross" if "cross" in kinds else kinds[-1]
