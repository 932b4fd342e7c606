"""Costs: exact fits and crossings, operations that a counter agrees with, and a clock that stops in time."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from regard.inspection import costs
from regard.inspection.costs import (
    LAYERS,
    OPERATIONS,
    TABLE,
    CostCurve,
    Costs,
    attention_operations,
    costs_figure,
    crossing,
    fit_exponent,
    measure_costs,
    measured,
    median_time,
    recurrent_operations,
)

PORTS = (2, 4, 8, 16, 32)


@pytest.mark.parametrize("power", [-1.0, 0.0, 1.0, 1.5, 2.0])
def test_the_exponent_of_a_power_is_found(power: float) -> None:
    assert fit_exponent(PORTS, [3.0 * n**power for n in PORTS]) == pytest.approx(power, abs=1e-12)
    assert math.isnan(fit_exponent([7], [1.0]))


def test_overhead_hides_the_exponent_of_small_sizes() -> None:
    curve = CostCurve("it", PORTS, tuple(100.0 + n**2 for n in PORTS))
    assert curve.exponent < curve.upper_exponent < 2
    assert curve.upper_exponent == pytest.approx(fit_exponent(PORTS[2:], curve.seconds[2:]))


def test_powers_cross_where_they_are_equal() -> None:
    line, square = [6.0 * n for n in PORTS], [float(n**2) for n in PORTS]
    assert crossing(PORTS, square, line) == pytest.approx(6.0)
    assert crossing(PORTS, line, square) is None  # cheaper from there on
    assert crossing((1, 2, 4), [1.0, 4.0, 16.0], [9.0, 9.0, 9.0]) == pytest.approx(3.0)
    assert crossing((1, 2, 4), [1.0, 4.0, 16.0], [1.0, 4.0, 8.0]) == pytest.approx(2.0)


def test_no_crossing_outside_the_range_and_the_last_one_where_noise_makes_several() -> None:
    assert crossing((1, 2), [1.0, 1.0], [2.0, 2.0]) is None
    assert crossing((1, 2), [2.0, 2.0], [1.0, 1.0]) is None
    assert crossing((1, 2, 4, 8), [0.5, 2.0, 0.5, 2.0], [1.0] * 4) == pytest.approx(math.sqrt(32))
    assert crossing((), [], []) is None


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("n, d", [(5, 8), (12, 8), (100, 16)])  # the fused kernel, for longer ones, is not counted
def test_operations_are_what_a_counter_counts(kind: str, n: int, d: int) -> None:
    run = LAYERS[kind](d)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        run(torch.randn(3, n, d))
    assert counter.get_total_flops() == 3 * OPERATIONS[kind](n, d)


def test_attention_and_a_gru_cost_the_same_where_the_length_is_the_width() -> None:
    assert attention_operations(64, 64) == recurrent_operations(64, 64)
    assert attention_operations(63, 64) < recurrent_operations(63, 64)
    assert attention_operations(128, 64) == recurrent_operations(128, 64, gates=4)
    assert set(OPERATIONS) == set(LAYERS) <= set(TABLE)


class Clock:
    """Time that passes only when a call says so."""

    def __init__(self) -> None:
        self.now = 0.0
        self.calls = 0

    def __call__(self) -> float:
        return self.now

    def spends(self, seconds: float) -> Callable[[], object]:
        def call() -> None:
            self.now += seconds
            self.calls += 1

        return call


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(costs, "perf_counter", found)
    return found


def test_a_median_is_taken_after_warming_up_and_within_the_time(clock: Clock) -> None:
    assert median_time(clock.spends(0.5), seconds=100.0, repeats=3) == (0.5, 2.0)
    assert median_time(clock.spends(0.5), seconds=1.4, repeats=9) == (0.5, 1.5)
    assert median_time(clock.spends(0.5), seconds=0.0) == (0.5, 1.0)  # one to warm up, one to measure


def test_sizes_that_would_break_the_budget_are_not_begun(clock: Clock) -> None:
    curve = measured("it", PORTS, lambda n: clock.spends(float(n**2)), seconds=600.0)
    assert curve == CostCurve("it", (2, 4, 8), (4.0, 16.0, 64.0))
    assert clock.now <= 600
    assert curve.exponent == pytest.approx(2.0)


def costs_of(recurrent: Callable[[int], float], attention: Callable[[int], float]) -> Costs:
    curves = {"recurrent": recurrent, "self-attention": attention}
    over = tuple(CostCurve(kind, PORTS, tuple(float(cost(n)) for n in PORTS)) for kind, cost in curves.items())
    return Costs(6, 8, over, ())


@pytest.mark.parametrize(
    "recurrent, sentence",
    [
        (lambda n: 6 * n, "Self-attention becomes slower than the recurrent layer at n ≈ 6; by their operations they "
         "would meet at n = d = 6."),
        (lambda n: 64 * n, "They do not cross within n = 2 to 32, where self-attention is still 2.0 times faster than "
         "the recurrent layer; by their operations they would meet at n = d = 6."),
        (lambda n: n / 2, "They do not cross within n = 2 to 32, where self-attention is still 64.0 times slower than "
         "the recurrent layer; by their operations they would meet at n = d = 6."),
    ],
)  # fmt: skip
def test_sentences_say_what_was_measured(recurrent: Any, sentence: str) -> None:
    found = costs_of(recurrent, lambda n: n**2)
    assert found.sentence == (
        "Over the longer half of the lengths, time grows for recurrent as n^1.00, self-attention as n^2.00. " + sentence
    )


@pytest.mark.parametrize("passes", ["forward", "both"])
def test_every_kind_is_measured_over_both_sizes(passes: Any) -> None:
    found = measure_costs((4, 8), (4, 8), width=8, length=6, rows=2, passes=passes, seconds=3.0)
    for curves in (found.over_lengths, found.over_widths):
        assert [curve.kind for curve in curves] == list(LAYERS)
        assert all(curve.sizes == (4, 8) and min(curve.seconds) > 0 for curve in curves)
        figure = ElementTree.fromstring(costs_figure(curves, "length n"))
        assert len(list(figure.iter("polyline"))) == 3
    assert set(json.loads(json.dumps(found.as_dict(), allow_nan=False))) >= {"over_lengths", "crossing", "sentence"}


def test_the_classic_table_stands_beside_what_was_measured() -> None:
    kinds, sizes, seconds = ("recurrent", "self-attention"), (32, 64, 128, 256), (1.0, 2.0, 8.0, 32.0)
    curves = tuple(CostCurve(kind, sizes, seconds) for kind in kinds)
    head, recurrent, attention = Costs(64, 128, curves, curves).table()
    assert head[:4] == ["layer", "work", "steps in a row", "longest path"]
    assert recurrent == ["recurrent", "O(n·d²)", "O(n)", "O(n)", "n^2.00", "d^2.00"]
    assert attention[1:4] == ["O(n²·d)", "O(1)", "O(1)"]
