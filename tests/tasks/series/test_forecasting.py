"""Forecasting: windows that know nothing of what is to come, quantiles in the user's units, a rolling origin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import regard
from regard.core.answers import NumbersAnswer
from regard.core.errors import DataError, InputError, OptionError, RecipeError
from regard.data.corpus import Corpus
from regard.data.ledger import Ledger
from regard.data.modalities.both import Modalities
from regard.data.modalities.series.part import SeriesPart
from regard.data.modalities.series.series import Clock, Series, SeriesSplit, Window
from regard.data.modalities.text.modality import TextModality
from regard.data.modalities.text.tokenizers import CharacterTokenizer
from regard.data.sources.series import SeriesFiles
from regard.runs.evaluate import evaluate
from regard.runs.recipe import Recipe
from regard.tasks.forecasting import Forecasting, ForecastingConfig

HOUR = 3600
CONTEXT, HORIZON = 11, 5


def tables(path: Path, steps: int = 130, *, seed: int = 1, gap: tuple[int, ...] = ()) -> Path:
    """Two channels of hours: a wave of 12 hours with noise, and its opposite, a hundred times as large."""
    generator = np.random.default_rng(seed)
    lines = ["time,load,price"]
    for hour in range(steps):
        one = np.sin(2 * np.pi * hour / 12) + 0.1 * generator.standard_normal()
        if hour not in gap:
            lines.append(f"2024-03-{1 + hour // 24:02} {hour % 24:02}:00,{one:.4f},{500 - 100 * one:.3f}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


TREE: dict[str, Any] = {
    "input": {"kind": "series"},
    "model": {"kind": "vit", "layers": 1, "width": 16, "heads": 2, "dropout": 0.0,
              "front": {"kind": "patches", "size": 4, "class_token": False}},
    "task": {"kind": "forecasting", "context": 24, "horizon": 4, "seasons": [12], "dropout": 0.0},
    "training": {"steps": 60, "batch_tokens": 28 * 16, "learning_rate": 0.005, "optimizer": {"kind": "adamw"}},
}  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run folder, and the table that it learned from."""
    folder = tmp_path_factory.mktemp("forecast")
    table = tables(folder / "load.csv", 330, gap=(40, 41, 77))
    regard.train({**TREE, "data": {"kind": "series", "train": str(table)}}, folder / "run")
    return folder / "run", table


def series(steps: int = 60) -> Series:
    values_NC = np.arange(2.0 * steps).reshape(steps, 2)
    return Series(values_NC, ("load", "price"), Clock(0, HOUR, "s"))


def task_over(**splits: SeriesSplit) -> Forecasting:
    corpus: Any = Corpus({name: (own,) for name, own in splits.items()}, Ledger())
    config = ForecastingConfig(context=CONTEXT, horizon=HORIZON, seasons=(3,)).resolved(corpus)
    return config.build(corpus, Modalities(SeriesPart().measured(corpus.splits["train"])), 1)


# -- no leak ------------------------------------------------------------------------------------------------------


def test_splits_by_time_share_no_step_that_is_forecast(tmp_path: Path) -> None:
    files = SeriesFiles(train=tables(tmp_path / "load.csv", 200).as_posix(), validation_share=0.2, test_share=0.3)  # type: ignore[arg-type]
    corpus = files.load(1, Ledger())
    ends = [(own[0].first, own[0].last) for own in corpus.splits.values()]
    assert [*corpus.splits] == ["train", "validation", "test"]
    assert ends == [(0, 100), (100, 140), (140, 200)]
    assert corpus.ledger.splits == {"train": 100, "validation": 40, "test": 60}
    config = ForecastingConfig(context=CONTEXT, horizon=HORIZON).resolved(corpus)
    task = config.build(corpus, Modalities(SeriesPart().measured(corpus.splits["train"])), 1)
    asked = {
        split: {step for one in task.examples(split, 0) for step in range(one.stop, one.stop + one.ahead)}
        for split in corpus.splits
    }
    assert asked == {
        "train": set(range(CONTEXT, 100)), "validation": set(range(100, 140)), "test": set(range(140, 200)),
    }  # fmt: skip
    assert all(one.stop - one.start == CONTEXT and one.start >= 0 for one in task.examples("test", 0))


def test_what_is_measured_knows_training_alone() -> None:
    whole = series()
    task = task_over(train=SeriesSplit(whole, 0, 40), test=SeriesSplit(whole, 40, 60))
    assert task.modality.learned.mean == (39.0, 40.0)  # 0, 2 … 78 and 1, 3 … 79
    assert task.config.units == (6.0, 6.0)  # three steps of 2
    assert task.config.targets == ("load", "price")


def test_nothing_of_what_lies_ahead_is_read_but_the_calendar() -> None:
    whole = series()
    task = task_over(train=SeriesSplit(whole, 0, 40))
    changed = whole.values_NC.copy()
    changed[30:] = -1e6
    other = Series(changed, whole.channels, whole.clock)
    one, same = (task.collate([Window(own, 30 - CONTEXT, 30, HORIZON)]) for own in (whole, other))
    assert torch.equal(one.inputs.values, same.inputs.values)
    assert one.inputs.scale_B2C is not None
    assert torch.equal(one.inputs.scale_B2C, same.inputs.scale_B2C)  # type: ignore[arg-type]
    assert not torch.equal(one.targets_BHC, same.targets_BHC)
    later = Series(whole.values_NC, whole.channels, Clock(5 * HOUR, HOUR, "s"))
    assert torch.equal(task.collate([Window(later, 19, 30, HORIZON)]).targets_BHC, one.targets_BHC)


# -- windows ------------------------------------------------------------------------------------------------------


def test_targets_are_in_the_windows_own_units() -> None:
    task = task_over(train=SeriesSplit(series(), 0, 60))
    batch = task.collate([Window(series(), 0, CONTEXT, HORIZON)])
    assert batch.inputs.scale_B2C is not None
    mean, spread = batch.inputs.scale_B2C[0, :, 0].tolist()
    assert mean == pytest.approx(10.0)  # of 0, 2 … 20
    assert spread == pytest.approx(np.std(np.arange(0, 22, 2)))
    expected = (np.arange(22, 32, 2) - mean) / spread
    np.testing.assert_allclose(batch.targets_BHC[0, :, 0], expected, rtol=1e-5)
    assert (batch.loss_terms, batch.tokens) == (HORIZON, CONTEXT + HORIZON)


def test_what_lies_ahead_is_filled_with_the_last_season_and_corrected() -> None:
    task = task_over(train=SeriesSplit(series(), 0, 60))
    batch = task.collate([Window(series(), 0, CONTEXT, HORIZON)])
    values_CN = batch.inputs.values[0, :2]
    assert torch.equal(values_CN[:, CONTEXT:], values_CN[:, [8, 9, 10, 8, 9]])

    def silent(inputs: Any) -> torch.Tensor:
        return torch.zeros(1, HORIZON, 2, 3)

    found = task.corrected(silent, batch.inputs)  # type: ignore[arg-type]
    assert torch.equal(found[0, :, :, 0], values_CN[:, [8, 9, 10, 8, 9]].T)
    plain = Forecasting(task.config.model_copy(update={"base": "mean"}), task.corpus, Modalities(task.modality))
    assert not plain.collate([Window(series(), 0, CONTEXT, HORIZON)]).inputs.values[0, :2, CONTEXT:].any()


def test_missing_values_are_masked_carried_on_and_not_learned_from() -> None:
    whole = series()
    whole.values_NC[5, 0] = whole.values_NC[12, 1] = np.nan
    whole.values_NC[13] = np.nan
    task = task_over(train=SeriesSplit(whole, 0, 60))
    assert task.ports()["input"].channels == 2 + 2 + 6  # type: ignore[attr-defined]  # values, masks, the time of day
    batch = task.collate([Window(whole, 0, CONTEXT, HORIZON)])
    load_N, mask_N = batch.inputs.values[0, 0], batch.inputs.values[0, 2]
    assert load_N[5] == load_N[4]
    assert mask_N.tolist() == [float(step == 5 or step >= CONTEXT) for step in range(CONTEXT + HORIZON)]
    assert batch.known_BHC[0].tolist() == [[True, True], [True, False], [False, False], [True, True], [True, True]]
    assert batch.loss_terms == 4
    made = torch.randn(1, HORIZON, 2, 3)
    losses = [loss_of(task, made, batch), loss_of(task, made + unknown(), batch)]
    assert losses[0] == losses[1]


def loss_of(task: Forecasting, made_BHCQ: torch.Tensor, batch: Any) -> float:
    """Where a model says this."""
    said: Any = lambda inputs: made_BHCQ  # noqa: E731
    return float(task.sums(said, batch).sums["loss"])


def unknown() -> torch.Tensor:
    """A change of what is said where nothing is known."""
    shift = torch.zeros(1, HORIZON, 2, 3)
    shift[0, 1, 1] = shift[0, 2] = 9.0
    return shift


def test_windows_in_which_nothing_is_known_are_left_out() -> None:
    whole = series()
    whole.values_NC[20:40] = np.nan
    task = task_over(train=SeriesSplit(whole, 0, 60))
    origins = [one.stop for one in task.examples("train", 0)]
    assert origins == [*range(11, 20), *range(41, 56)]


def test_the_pinball_loss_by_hand() -> None:
    task = task_over(train=SeriesSplit(series(), 0, 60))
    batch = task.collate([Window(series(), 0, CONTEXT, HORIZON)])
    base_BHC = task.corrected(lambda inputs: torch.zeros(1, HORIZON, 2, 3), batch.inputs)[..., 0]  # type: ignore[arg-type]

    def off(by: float) -> float:
        made = batch.targets_BHC - base_BHC + by
        sums = task.sums(lambda inputs: made[..., None].expand(-1, -1, -1, 3), batch)  # type: ignore[arg-type]
        return sums.mean("loss")

    assert off(0.0) == pytest.approx(0.0, abs=1e-6)
    assert off(2.0) == pytest.approx(2 * 2.0 * (0.9 + 0.5 + 0.1) / 3, rel=1e-5)
    assert off(-2.0) == pytest.approx(2 * 2.0 * (0.1 + 0.5 + 0.9) / 3, rel=1e-5)


# -- what is refused ----------------------------------------------------------------------------------------------


def test_a_horizon_longer_than_the_data_is_refused_by_name(tmp_path: Path) -> None:
    table = tables(tmp_path / "load.csv", 60)
    data = {"kind": "series", "train": str(table), "validation_share": 0.0, "test_share": 0.0}
    with pytest.raises(DataError, match=r"train split: .*load\.csv has 60 steps for train, and 0 before; task"):
        regard.train({**TREE, "data": data, "task": {**TREE["task"], "horizon": 40}}, tmp_path / "run")
    assert not list((tmp_path / "run").iterdir())  # another horizon may be tried in the same place
    with pytest.raises(DataError, match=r"test split: .*has 6 steps for test, and 54 before.*task\.horizon = 8 after"):
        shares = {**data, "test_share": 0.1}
        regard.train({**TREE, "data": shares, "task": {**TREE["task"], "horizon": 8}}, tmp_path / "run")


@pytest.mark.parametrize("quantiles", ["[0.1, 0.9]", "[0.9, 0.5, 0.1]", "[0.0, 0.5, 1.0]", "[0.5, 0.5]"])
def test_quantiles_must_rise_around_the_middle(quantiles: str) -> None:
    with pytest.raises(RecipeError, match=r"must rise between 0 and 1, with 0\.5 among them"):
        Recipe.of(TREE, [f"task.quantiles={quantiles}"])


def test_other_data_models_and_targets_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="forecasting needs series with times"):
        regard.train({**TREE, "data": {"kind": "wave-shapes", "train_size": 9}}, tmp_path / "run")
    text: Any = TextModality(train_tokenizer(), "tokenizer.json", "joint")
    with pytest.raises(OptionError, match=r'forecasting reads series; found a text: set input\.kind = "series"'):
        ForecastingConfig().build(Corpus({}, Ledger()), Modalities(text), 1)
    table = tables(tmp_path / "load.csv")
    with pytest.raises(DataError, match=r"task\.targets: no channel wind; there are load, price"):
        tree = {**TREE, "data": {"kind": "series", "train": str(table)}}
        regard.train(tree, tmp_path / "run", ['task.targets=["wind"]'])


def train_tokenizer() -> Any:
    return CharacterTokenizer().train(["ab"])


# -- a trained run ------------------------------------------------------------------------------------------------


def test_answers_come_in_the_users_units_with_times(trained: tuple[Path, Path]) -> None:
    run = regard.load(trained[0])
    (answers,) = run.answers([str(trained[1])])
    (one,) = answers
    assert isinstance(one, NumbersAnswer)
    assert one.channels == ("load", "price")
    assert one.times == ("2024-03-14 18:00", "2024-03-14 19:00", "2024-03-14 20:00", "2024-03-14 21:00")
    truth_H = np.sin(2 * np.pi * np.arange(330, 334) / 12)
    assert np.abs(one.medians_HC[:, 0] - truth_H).max() < 0.6
    assert np.abs(one.medians_HC[:, 1] - (500 - 100 * truth_H)).max() < 60
    assert (np.diff(one.values_HCQ, axis=-1) > 0).all()


def test_scores_are_those_of_a_rolling_origin_beside_simple_methods(trained: tuple[Path, Path]) -> None:
    run = regard.load(trained[0])
    scores = evaluate(run)
    assert scores["windows"] == 8  # 33 steps of the test split, 4 at a time
    assert scores["mean_absolute_error_low"] < scores["mean_absolute_error"] < scores["mean_absolute_error_high"]
    assert scores["channels"].keys() == {"load", "price"}
    assert len(scores["by_step"]) == 4
    methods = scores["yardsticks"]
    assert methods.keys() == {"seasonal naive, 12 steps", "ridge regression on lags"}
    assert methods["seasonal naive, 12 steps"]["scaled_error"] == pytest.approx(1, abs=0.4)
    assert scores["scaled_error"] < 1.1
    assert json.loads((trained[0] / "scores.json").read_text())["coverage"] == scores["coverage"]


def test_files_of_ones_own_are_scored_with_the_columns_of_the_run(trained: tuple[Path, Path], tmp_path: Path) -> None:
    run = regard.load(trained[0])
    scores = evaluate(run, data=[tables(tmp_path / "other.csv", 60, seed=5)])
    assert scores["split"] == "given"
    assert scores["windows"] == 9  # from step 24 on
    assert scores["yardsticks"]


def test_series_that_do_not_go_with_the_run_are_refused(trained: tuple[Path, Path], tmp_path: Path) -> None:
    run = regard.load(trained[0])
    with pytest.raises(InputError, match=r"too short: input 1 \(.*has 20 steps\); the run reads task\.context = 24"):
        run.predict([str(tables(tmp_path / "short.csv", 20))])
    daily = tmp_path / "daily.csv"
    daily.write_text("time,load,price\n" + "".join(f"2024-03-{day:02},1,2\n" for day in range(1, 31)))
    with pytest.raises(InputError, match="has steps of 1 day, and the run learned from steps of 1 hour"):
        run.predict([str(daily)])
    with pytest.raises(InputError, match=r"there is no file 'nowhere\.csv', and these are not numbers"):
        run.predict(["nowhere.csv"])
    with pytest.raises(InputError, match="has 1 channels, and the run reads 2: load, price"):
        run.predict(["1 2 3"])
    other = tmp_path / "other.csv"
    other.write_text("time,load\n2024-03-01,1\n")
    with pytest.raises(InputError, match="has no column 'price'"):
        run.predict([str(other)])
