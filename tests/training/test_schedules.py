"""Learning-rate schedules against values computed by hand."""

import math

import pytest

from regard.core.config import parse
from regard.core.errors import RecipeError
from regard.training import SCHEDULES
from regard.training.schedules import (
    ConstantSchedule,
    CosineSchedule,
    InverseRootSchedule,
    LinearSchedule,
    PaperSchedule,
)


def test_the_papers_schedule_by_hand() -> None:
    schedule = PaperSchedule(width=16, warmup=100)  # width^−0.5 = 1/4, warmup^−1.5 = 1/1000
    assert schedule.factor(1, 0) == pytest.approx(1 / 4000)
    assert schedule.factor(50, 0) == pytest.approx(50 / 4000)
    assert schedule.factor(100, 0) == pytest.approx(1 / 40)  # the peak
    assert schedule.factor(400, 0) == pytest.approx(1 / 80)  # four times as late, half as high
    assert max(range(1, 1000), key=lambda step: schedule.factor(step, 0)) == 100


def test_the_papers_schedule_has_the_papers_peak() -> None:
    paper = PaperSchedule().settled(512, 100_000)
    assert paper.factor(4000, 100_000) == pytest.approx(6.98771e-4, rel=1e-5)  # (512 · 4000)^−0.5
    assert paper.factor(1, 100_000) == pytest.approx(1.746928e-7, rel=1e-5)


def test_inverse_root_by_hand() -> None:
    schedule = InverseRootSchedule(warmup=100)
    assert [schedule.factor(step, 0) for step in (1, 50, 100, 400, 10_000)] == pytest.approx([0.01, 0.5, 1, 0.5, 0.1])


def test_cosine_by_hand() -> None:
    schedule = CosineSchedule(warmup=10, final=0.2)
    found = [schedule.factor(step, 110) for step in (1, 5, 10, 35, 60, 110, 500)]
    quarter = 0.2 + 0.8 * (1 + math.sqrt(0.5)) / 2
    assert found == pytest.approx([0.1, 0.5, 1.0, quarter, 0.6, 0.2, 0.2])


def test_linear_by_hand() -> None:
    schedule = LinearSchedule(warmup=10, final=0.2)
    found = [schedule.factor(step, 110) for step in (1, 5, 10, 35, 60, 110, 500)]
    assert found == pytest.approx([0.1, 0.5, 1.0, 0.8, 0.6, 0.2, 0.2])


def test_constant_by_hand() -> None:
    assert [ConstantSchedule(warmup=4).factor(step, 0) for step in (1, 2, 4, 5, 999)] == [0.25, 0.5, 1, 1, 1]
    assert ConstantSchedule(warmup=0).factor(1, 0) == 1


@pytest.mark.parametrize("kind", SCHEDULES.kinds())
@pytest.mark.parametrize("warmup, total", [(7, 100), (1, 1), (1, 2), (50, 50), (90, 50)])
def test_every_schedule_rises_then_never_rises_again_and_stays_sensible(kind: str, warmup: int, total: int) -> None:
    schedule = SCHEDULES.resolve(kind)(kind=kind, warmup=warmup).settled(512, total)
    factors = [schedule.factor(step, total) for step in range(1, 2 * total + 2)]
    assert all(0 <= factor <= 1 + 1e-9 for factor in factors)
    assert factors[0] > 0 or total <= warmup
    peak = min(warmup, len(factors)) - 1
    assert factors[:peak] == sorted(factors[:peak])
    assert factors[peak:] == sorted(factors[peak:], reverse=True)


@pytest.mark.parametrize("schedule", [CosineSchedule(warmup=0), LinearSchedule(warmup=0)])
def test_without_a_warm_up_the_first_step_is_nearly_full(schedule: CosineSchedule | LinearSchedule) -> None:
    assert schedule.factor(1, 1000) == pytest.approx(1.0, abs=2e-3)
    assert schedule.factor(1000, 1000) == pytest.approx(0.0)


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(RecipeError, match="warmup: Input should be greater than or equal to 1, found 0"):
        parse(PaperSchedule, {"warmup": 0})
