"""Costs of attention: memory is counted to the byte, errors are those of the formula, a step is one of decoding."""

from __future__ import annotations

import math

import pytest
import torch

from regard.attention import formulas
from regard.attention.masks import CAUSAL
from regard.inspection.attention_costs.measuring import Measured, Measurement, Point, Shape
from regard.inspection.attention_costs.peak_memory import memory_of
from regard.inspection.attention_costs.report import AttentionReport, bytes_told, seconds_told
from regard.inspection.attention_costs.subjects import USUAL, Given, Step, error_against_full, subjects

CPU = torch.device("cpu")
SEES_ALL_OF_90 = ("softmax", "window", "longformer", "sinks", "bigbird")


def test_memory_is_counted_at_its_peak_and_for_good() -> None:
    x = torch.ones(1000)

    def call() -> torch.Tensor:
        larger = torch.cat((x, x, x))  # 12,000 bytes beside what is returned
        return larger[:1000] + 1

    answer, taken = memory_of(call, CPU)
    assert answer.shape == (1000,)
    assert 16_000 <= taken.peak < 17_000
    assert 4_000 <= taken.kept < 5_000


@pytest.mark.parametrize("kind", list(USUAL))
def test_the_error_is_that_of_the_formula(kind: str) -> None:
    subject = subjects([kind], [])[-1]
    mechanism, mask = subject.build(8, 2, 90)
    given = Given.random(2, 90, 8, 0.7, CPU).for_mechanism(mechanism)
    with torch.no_grad():
        read = mechanism(given.q_BHTK, given.k_BHSK, given.v_BHSV, mask)
    full = formulas.attention(given.q_BHTK, given.k_BHSK, given.v_BHSV, mask.dense(90, 90))
    expected = float((read - full).norm() / full.norm())
    assert error_against_full(mechanism, mask, given) == pytest.approx(expected, abs=1e-6)
    assert (expected < 1e-6) == (kind in SEES_ALL_OF_90)


@pytest.mark.parametrize("kind", [kind for kind in USUAL if kind != "linformer"])
def test_a_step_answers_like_the_last_row_of_a_longer_text(kind: str) -> None:
    mechanism, _ = subjects([kind], ["window.size=5"] if kind == "window" else [])[-1].build(8, 2, 30)
    given = Given.random(2, 29, 8, 1.0, CPU).for_mechanism(mechanism)
    longer = [torch.cat((one, one[:, :, -1:]), 2) for one in (given.q_BHTK, given.k_BHSK, given.v_BHSV)]
    with torch.no_grad():
        expected = mechanism(*longer, CAUSAL)[:, :, -1:]
    torch.testing.assert_close(Step(mechanism, given)(), expected, atol=1e-5, rtol=1e-4)


def test_exponents_are_fitted_to_long_sequences() -> None:
    points = [Point(n, float(n) ** 2 + 1e8, n * 8) for n in (256, 1024)] + [
        Point(n, float(n) ** 1.5, n * 8) for n in (4096, 16384)
    ]
    one = Measured(subjects(["linear"], [])[-1], points={"both": points})
    assert one.exponent("both") == pytest.approx(1.5)
    assert one.exponent("both", "peak") == pytest.approx(1.0)
    assert math.isnan(one.exponent("step"))


def test_faster_than_full_attention_is_told_at_the_longest_common_length() -> None:
    full, linear = (Measured(subject) for subject in subjects(["linear"], []))
    full.points["both"] = [Point(4, 3.0, 1), Point(8, 12.0, 1)]
    linear.points["both"] = [Point(4, 3.0, 1), Point(8, 4.0, 1), Point(16, 8.0, 1)]
    report = AttentionReport(Shape((4, 8, 16), passes=("both",)), [full, linear], {})
    assert report.faster(linear, "both") == (8, 3.0)
    assert report.faster(full, "both") is None
    assert "3.0× at 8" in report.table("both")[2]
    assert report.table("both")[1][3] == "–"


def test_progress_counts_to_the_end() -> None:
    told: list[tuple[int, int | None]] = []
    shape = Shape((8, 16), heads=2, width=4, passes=("forward", "step"))
    Measurement(subjects(["window"], []), shape, 5.0, CPU).run(lambda done, total: told.append((done, total)))
    assert told == [(0, 8), (2, 8), (4, 8), (6, 8), (8, 8)]


def test_units() -> None:
    assert [seconds_told(s) for s in (2.5, 0.0123, 4.2e-5)] == ["2.50 s", "12.3 ms", "42 µs"]
    assert [bytes_told(size) for size in (12, 2048, 3.5 * 2**20, 2**40)] == ["12 B", "2.0 KiB", "3.5 MiB", "1024.0 GiB"]
