"""Measures mechanisms of attention side by side over lengths, in about the time that it is given."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import Any

import torch

from regard.core.errors import RegardError, is_out_of_memory
from regard.core.seams import Mechanism
from regard.inspection.attention_costs.peak_memory import memory_of
from regard.inspection.attention_costs.subjects import (
    FULL,
    Given,
    Pass,
    Step,
    Subject,
    error_against_full,
    pass_of,
)
from regard.inspection.costs import fit_exponent

ROUNDS = 7  # in each every mechanism has a turn, so that what else the machine does meets all of them
FITTED_FROM = 4096  # below, calls cost more than arithmetic; exponents are fitted from here on, where there is enough
Progress = Callable[[int, int | None], None]


@dataclass(frozen=True)
class Shape:
    """What is asked of every mechanism."""

    lengths: tuple[int, ...]
    heads: int = 4
    width: int = 64  # of a head
    spread: float = 1.0  # standard deviation of queries and keys
    passes: tuple[Pass, ...] = ("forward", "both", "step")


@dataclass
class Point:
    """One mechanism at one length in one pass."""

    length: int
    seconds: float
    peak: int  # bytes beside queries, keys and values
    remembered: int = 0  # bytes of the cache, in a step of decoding
    rounds: int = 1


@dataclass
class Measured:
    """All that was found of one mechanism."""

    subject: Subject
    causal: bool = True
    points: dict[Pass, list[Point]] = field(default_factory=dict)
    errors: dict[int, float] = field(default_factory=dict)  # against full attention, by length
    reasons: dict[Pass, str] = field(default_factory=dict)  # why a pass ends before the longest length

    @property
    def name(self) -> str:
        return self.subject.name

    def at(self, wanted: Pass, length: int) -> Point | None:
        return next((point for point in self.points.get(wanted, ()) if point.length == length), None)

    def exponent(self, wanted: Pass, what: str = "seconds") -> float:
        """p of cost ≈ c · n^p; not a number with fewer than two lengths."""
        points = self.points.get(wanted, [])
        long = [point for point in points if point.length >= FITTED_FROM]
        chosen = long if len(long) > 1 else points
        costs = [{"seconds": point.seconds, "peak": float(point.peak)}[what] for point in chosen]
        if not all(costs):
            return float("nan")
        return fit_exponent([point.length for point in chosen], costs)

    def as_dict(self) -> dict[str, Any]:
        return {
            "kind": self.name,
            "settings": self.subject.settings,
            "causal": self.causal,
            "passes": {
                wanted: {
                    "points": [asdict(point) for point in points],
                    "time_exponent": self.exponent(wanted),
                    "memory_exponent": self.exponent(wanted, "peak"),
                    "stopped": self.reasons.get(wanted, ""),
                }
                for wanted, points in self.points.items()
            },
            "error": {str(length): error for length, error in self.errors.items()},
        }


class Measurement:
    """Length by length, pass by pass, every mechanism in turn.

    What is left of the time is divided evenly among all that is still to be measured; what would take longer than its
    share ends there, and says so.
    """

    def __init__(self, subjects: Sequence[Subject], shape: Shape, seconds: float, device: torch.device) -> None:
        self.shape, self.device = shape, device
        self.found = [Measured(subject) for subject in subjects]
        self.ends = perf_counter() + seconds
        self.to_do = len(self.found) * len(shape.passes) * len(shape.lengths)

    def run(self, progress: Progress) -> list[Measured]:
        total = self.to_do
        progress(0, total)
        for length in self.shape.lengths:
            shape = self.shape
            given = Given.random(shape.heads, length, shape.width, shape.spread, self.device)
            for wanted in shape.passes:
                self._measure(wanted, given)
                progress(total - self.to_do, total)
        return self.found

    def _measure(self, wanted: Pass, given: Given) -> None:
        asked = [one for one in self.found if self._affordable(one, wanted, given.length)]
        ends = perf_counter() + self._share() * len(asked)
        calls = {one.name: call for one in asked if (call := self._prepared(one, wanted, given)) is not None}
        times: dict[str, list[float]] = {name: [] for name in calls}
        for turn in range(ROUNDS):
            if turn and perf_counter() + sum(own[-1] for own in times.values()) > ends:
                break
            for name, call in calls.items():
                times[name].append(self._timed(call))
        for one in asked:
            if one.name in calls:
                point = one.points[wanted][-1]
                point.seconds, point.rounds = statistics.median(times[one.name]), len(times[one.name])
        self.to_do -= len(self.found)

    def _share(self) -> float:
        """Seconds for one mechanism in one pass at one length."""
        return (self.ends - perf_counter()) / max(self.to_do, 1)

    def _affordable(self, one: Measured, wanted: Pass, length: int) -> bool:
        """Whether counting memory and one turn fit into its share, by how time grew so far."""
        before = one.points.setdefault(wanted, [])
        if wanted in one.reasons or not before:
            return wanted not in one.reasons
        grown = fit_exponent([point.length for point in before[-2:]], [point.seconds for point in before[-2:]])
        grown = min(max(grown, 1.0), 2.0) if len(before) > 1 else 2.0
        expected = before[-1].seconds * (length / before[-1].length) ** grown
        if 3 * expected <= self._share():
            return True
        told = f"n = {length:,} would take about {expected:.1f} s a call"
        one.reasons[wanted] = f"{told}, more than its share of --seconds"
        return False

    def _prepared(self, one: Measured, wanted: Pass, given: Given) -> Callable[[], object] | None:
        """The call, once made under the eyes of who counts memory; None where there is none, with the reason."""
        try:
            return self._counted(one, wanted, given)
        except RegardError as error:
            one.reasons[wanted] = str(error)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            one.reasons[wanted] = f"out of memory at n = {given.length:,}"
        return None

    def _counted(self, one: Measured, wanted: Pass, given: Given) -> Callable[[], object] | None:
        mechanism, mask = one.subject.build(self.shape.width, self.shape.heads, given.length)
        one.causal, given = mask.causal, given.for_mechanism(mechanism)
        mechanism.to(self.device)
        if wanted == "step" and not mask.causal:
            one.reasons[wanted] = "it cannot be causal, so it does not decode"
            return None
        if given.length not in one.errors and one.name != FULL:
            one.errors[given.length] = error_against_full(mechanism, mask, given)
        remembered = 0
        if wanted == "step":
            assert isinstance(mechanism, Mechanism)
            call: Callable[[], object] = (step := Step(mechanism, given))
            remembered = step.remembered
        else:
            call = pass_of(mechanism, mask, given, backward=wanted == "both")
        _, taken = memory_of(call, self.device)
        one.points[wanted].append(Point(given.length, 0.0, taken.peak, remembered))
        return call

    def _timed(self, call: Callable[[], object]) -> float:
        began = perf_counter()
        call()
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return perf_counter() - began
