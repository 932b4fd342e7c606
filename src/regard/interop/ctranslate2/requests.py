"""Requests to CTranslate2: batches, repeated requests, decoding options, and streamed tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from regard.core.errors import OptionError
from regard.core.seams import Hypothesis
from regard.decoding.options import Beam, Greedy, Sampling, Strategy
from regard.decoding.walk import Watch


@dataclass(frozen=True, slots=True)
class Batch:
    """Places of inputs that are asked together, and whether what is never chosen is forbidden to them."""

    places: list[int]
    forbid: bool


class Requests:
    """What is asked, and what was found so far."""

    def __init__(
        self,
        inputs: Sequence[Sequence[int]],
        limits: Sequence[int],
        options: Strategy,
        watch: Callable[[Sequence[int]], Watch] | None,
    ) -> None:
        self.inputs, self.limits, self.options = inputs, limits, options
        self.ways = 1 if isinstance(options, Beam) else options.rows
        self.watch = None if isinstance(options, Beam) else watch
        self.found: dict[int, list[Hypothesis]] = {}
        self.chosen: dict[int, int] = {}  # the most tokens of an answer, the closing one among them
        self.tamed: set[int] = set()

    def again(self, forbidden: Sequence[int]) -> list[Batch]:
        """Those who went beyond their limit or said what is never chosen, among their like."""
        never, groups = {*forbidden}, dict[tuple[int, bool, bool], list[int]]()
        for place, own in self.found.items():
            wild = place not in self.tamed and any(never.intersection(one.tokens) for one in own)
            if wild:
                self.tamed.add(place)
            if wild or self.chosen[place] > self.limits[place]:
                alike = self.limits[place], place in self.tamed, len(self.inputs[place]) > 1
                groups.setdefault(alike, []).append(place)
        return [Batch(places, forbid) for (_, forbid, _), places in groups.items()]


class TokenStreamer:
    """Hears every token and passes it on to who watches; remembers the rows that were ended by them."""

    def __init__(self, watch: Watch, ways: int, end: int) -> None:
        self.watch, self.ways, self.end = watch, ways, end
        self.halted: set[int] = set()

    def __call__(self, step: Any) -> bool:
        sentence, way = divmod(step.batch_id, self.ways)
        tokens_1N = torch.full((1, self.ways), self.end)  # the other ways say nothing now
        tokens_1N[0, way] = step.token_id
        halted_1N = self.watch(torch.tensor([sentence]), tokens_1N)
        if halted_1N is None or not halted_1N[0, way]:
            return False
        self.halted.add(step.batch_id)
        return True


def search_options(options: Strategy) -> dict[str, Any]:
    """Their names for our strategy."""
    if isinstance(options, Beam):
        # Without a penalty both rank alike, and theirs stops as soon as nothing can change.
        number = options.size if options.length_penalty else options.n_best
        return {"beam_size": options.size, "length_penalty": options.length_penalty, "num_hypotheses": number}
    plain = {"beam_size": 1, "length_penalty": 0.0}
    if isinstance(options, Greedy):
        return plain
    if not isinstance(options, Sampling):
        raise OptionError(f"decoding.kind = {options.kind!r} is not known to CTranslate2; use --engine torch")
    refused = [
        f"{name} = {getattr(options, name)}"
        for name, neutral in (("min_p", 0.0), ("repetition_penalty", 1.0))
        if getattr(options, name) != neutral
    ]
    if refused:
        raise OptionError(f"CTranslate2 does not sample as we do with {' and '.join(refused)}; use --engine torch")
    return {
        **plain, "sampling_topk": options.top_k, "sampling_topp": options.top_p,
        "sampling_temperature": options.temperature,
    }  # fmt: skip
