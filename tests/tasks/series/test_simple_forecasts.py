"""Seasonal naive, ridge on lags, warping and the figures of forecasts, on numbers that a hand can compute."""

from __future__ import annotations

import numpy as np
import pytest

from regard.tasks.baselines.lags import SeasonalNaive, fit_ridge, naive_error
from regard.tasks.baselines.warping import nearest, warped_distances
from regard.tasks.metrics.forecasts import Judged, forecast_scores
from regard.tasks.series.yardsticks import gaps

NAN = np.nan


def past(*rows: list[float]) -> np.ndarray:
    return np.array(rows)[..., None]


def test_the_seasonal_naive_repeats_the_last_season() -> None:
    method = SeasonalNaive(3, np.array([50.0]))
    found = method.forecast(past([9, 1, 2, 3, 4, 5, 6]), 5)
    assert found[0, :, 0].tolist() == [4, 5, 6, 4, 5]


def test_what_is_missing_comes_from_an_earlier_season_the_last_value_or_the_usual() -> None:
    method = SeasonalNaive(3, np.array([50.0]))
    found = method.forecast(past([7, 8, NAN, NAN, 5, NAN], [NAN] * 6, [NAN, NAN, NAN, NAN, 4, NAN]), 3)
    assert found[..., 0].tolist() == [[7, 5, 5], [50, 50, 50], [4, 4, 4]]


def test_a_season_longer_than_the_past_is_the_last_value() -> None:
    assert SeasonalNaive(9, np.array([50.0])).forecast(past([1, 2, 3]), 2)[0, :, 0].tolist() == [3, 3]


def test_the_error_of_the_seasonal_naive_in_training() -> None:
    values_NC = np.array([[0.0, 1], [10, 1], [3, 1], [14, NAN]])
    np.testing.assert_allclose(naive_error(values_NC, 2), [3.5, 0.0])
    assert np.isnan(naive_error(values_NC[:2], 2)).all()


def test_ridge_finds_a_law_of_lags_at_any_scale() -> None:
    """x_t = x_{t-1} + x_{t-2} − x_{t-3} holds for every straight line and every wave of two steps."""
    generator = np.random.default_rng(3)
    slopes, levels, waves = generator.standard_normal((3, 80))
    steps = np.arange(13)
    rows = slopes[:, None] * steps + 100 * levels[:, None] + waves[:, None] * (-1.0) ** steps
    series_BLC = rows[..., None] * 1000 + 7
    model = fit_ridge(series_BLC[:60, :9], series_BLC[:60, 9:], np.zeros(1), np.full(1, 1e-9))
    found = model.forecast(series_BLC[60:, :9], 4)
    assert np.abs(found - series_BLC[60:, 9:]).max() < 0.05 * series_BLC.std()
    again = model.forecast(series_BLC[60:, :9] * 3 + 11, 4)
    np.testing.assert_allclose(again, found * 3 + 11, rtol=1e-6)


def test_figures_by_hand() -> None:
    values_BHCQ = np.array([[[[1.0, 2, 3]], [[4, 5, 6]]], [[[0, 4, 9]], [[2, 2, 2]]]])
    gold_BHC = np.array([[[3.0], [9]], [[NAN], [1]]])
    found = Judged(values_BHCQ, gold_BHC, (0.1, 0.5, 0.9), np.array([2.0])).figures()
    assert found["mean_absolute_error"] == pytest.approx((1 + 4 + 1) / 3)
    assert found["scaled_error"] == pytest.approx(1.0)
    assert found["root_mean_square_error"] == pytest.approx(np.sqrt(18 / 3))
    assert found["coverage"] == pytest.approx(1 / 3)
    losses = [0.1 * 2 + 0.5 * 1 + 0, 0.1 * 5 + 0.5 * 4 + 0.9 * 3, 0.9 * 1 + 0.5 * 1 + 0.1 * 1]
    assert found["pinball_loss"] == pytest.approx(2 * sum(losses) / 3 / 3 / 2)


def test_scores_have_intervals_by_window_steps_and_channels() -> None:
    generator = np.random.default_rng(1)
    gold_BHC = generator.standard_normal((17, 3, 2)) * np.array([1, 100])
    made = np.sort(generator.standard_normal((17, 3, 2, 3)), axis=-1) * np.array([1, 100])[:, None]
    scores = forecast_scores(Judged(made, gold_BHC, (0.1, 0.5, 0.9), np.array([1.0, 100.0])), ("load", "price"))
    assert scores["leading"][0] == "scaled_error"  # of channels in different units
    assert scores["scaled_error_low"] < scores["scaled_error"] < scores["scaled_error_high"]
    assert np.mean(scores["by_step"]) == pytest.approx(scores["scaled_error"])
    own = [scores["channels"][name]["mean_absolute_error"] for name in ("load", "price")]
    assert np.mean(own) == pytest.approx(scores["mean_absolute_error"])
    assert scores["windows"] == 17


def test_intervals_of_simple_methods_hold_the_forecast_in_the_middle() -> None:
    rests_BHC = np.array([1.0, 2, 3, 4, 5])[:, None, None]  # always above
    assert gaps(rests_BHC, (0.25, 0.5, 0.75))[0, 0].tolist() == [0, 0, 4]


def test_warping_lets_either_series_wait() -> None:
    def column(*values: float) -> np.ndarray:
        return np.array(values)[:, None]

    one = column(0, 1, 2, 3)
    others = [column(0, 0, 1, 1, 2, 3, 3), column(0, 1, 2, 4), column(3, 2), column(1)]
    assert warped_distances(one, others).tolist() == [0, 1, 9 + 1 + 0 + 1, 1 + 0 + 1 + 4]
    assert nearest(one, others) == 0


def slow_warping(one: np.ndarray, other: np.ndarray) -> float:
    """As its definition reads."""
    table = np.full((len(one) + 1, len(other) + 1), np.inf)
    table[0, 0] = 0
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            cost = ((one[i - 1] - other[j - 1]) ** 2).sum()
            table[i, j] = cost + min(table[i - 1, j], table[i, j - 1], table[i - 1, j - 1])
    return table[-1, -1]


def test_warping_of_many_at_once_is_that_of_each() -> None:
    generator = np.random.default_rng(2)
    one, *others = (generator.standard_normal((length, 3)) for length in (7, 5, 11, 1, 8))
    np.testing.assert_allclose(warped_distances(one, others), [slow_warping(one, other) for other in others])
