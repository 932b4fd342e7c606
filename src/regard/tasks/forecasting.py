"""Forecasting: what comes next in a series, several steps ahead, in quantiles that say how certain it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from regard.core.answers import Answer, NumbersAnswer
from regard.core.batch import Examples, InputBatch
from regard.core.errors import DataError, InputError, OptionError
from regard.core.inputs import Inputs
from regard.core.metrics import Metric, share
from regard.core.ports import INPUT, Ports
from regard.core.probe import Probe
from regard.core.seams import HasGrid
from regard.core.seams.task import Session, Sums
from regard.core.yardsticks import Yardstick
from regard.data.batching import in_length_order, with_progress
from regard.data.corpus import Corpus
from regard.data.modalities.both import Modalities
from regard.data.modalities.series import calendar
from regard.data.modalities.series.modality import SeriesModality
from regard.data.modalities.series.series import Series, SeriesSplit, Window, whole
from regard.layers.quantile_head import QuantileHead
from regard.tasks import TaskPart
from regard.tasks.baselines.lags import naive_error
from regard.tasks.metrics.forecasts import MIDDLE, Judged, forecast_scores
from regard.tasks.probing import check_no_target, forward_head, grid_axis
from regard.tasks.series.origins import Origins
from regard.tasks.series.yardsticks import forecast_yardsticks

LEAST_UNIT = 1e-9


class ForecastingConfig(TaskPart):
    """What comes next; ``targets``, ``seasons`` and ``units`` are what the data says unless they are named."""

    headline = (
        Metric("scaled_error", "scaled error", higher_is_better=False),
        Metric("mean_absolute_error", "mean absolute error", higher_is_better=False),
        share("coverage", "within the interval"),
    )

    kind: str = "forecasting"
    context: int = Field(168, ge=1)  # steps that are read
    horizon: int = Field(24, ge=1)  # steps that are forecast
    targets: tuple[str, ...] = ()  # the channels that are; (): all
    quantiles: tuple[float, ...] = (0.1, 0.5, 0.9)  # the first and the last are the ends of the interval
    base: Literal["season", "mean"] = "season"  # what the model corrects: what was a season ago, or the window's mean
    stride: int = Field(0, ge=0)  # steps from one scored forecast to the next; 0: as many as are forecast
    seasons: tuple[int, ...] = ()  # steps after which things recur; (): a day and a week, by the times
    units: tuple[float, ...] = ()  # of errors, by target; (): the seasonal naive method's in training
    dropout: float = Field(0.1, ge=0, lt=1)  # before the last matrix

    @model_validator(mode="after")
    def _fits(self) -> Self:
        levels = self.quantiles
        if MIDDLE not in levels or list(levels) != sorted({*levels}) or not 0 < levels[0] <= levels[-1] < 1:
            raise ValueError(f"quantiles = {list(levels)} must rise between 0 and 1, with 0.5 among them")
        if any(season < 1 for season in self.seasons):
            raise ValueError(f"seasons = {list(self.seasons)} are numbers of steps, from 1 on")
        return self

    def example(self, tokenizer: Any) -> str:
        return "series.csv"

    def resolved(self, corpus: Corpus[Any]) -> ForecastingConfig:
        """With targets, seasons and units as the training split has them."""
        parts = corpus.splits.get("train", ())
        if any(not isinstance(one, SeriesSplit) for one in parts[:1]):
            raise DataError('forecasting needs series with times; choose data.kind = "series" (or waves)')
        if not parts:
            return self
        series = parts[0].series
        targets = self.targets or series.channels
        unknown = [name for name in targets if name not in series.channels]
        if unknown:
            raise DataError(f"task.targets: no channel {', '.join(unknown)}; there are {', '.join(series.channels)}")
        longest = max(len(one.seen()) for one in parts)
        seasons = self.seasons or calendar.seasons(series.clock, longest) or (1,)
        places = [series.channels.index(name) for name in targets]
        errors = np.array([naive_error(one.seen()[:, places], seasons[0]) for one in parts])
        counts = np.array([len(one.seen()) for one in parts], np.float64)[:, None]
        known = np.isfinite(errors)
        means = np.where(known, errors * counts, 0).sum(0) / np.maximum((known * counts).sum(0), 1)
        units = self.units or tuple(float(one) if one > LEAST_UNIT else 1.0 for one in means)
        return self.model_copy(update={"targets": targets, "seasons": seasons, "units": units})

    def unresolved(self) -> ForecastingConfig:
        return self.model_copy(update={"targets": (), "seasons": (), "units": ()})

    def build(self, corpus: Corpus[Any], modalities: Modalities, seed: int) -> Forecasting:
        return Forecasting(self, corpus, modalities)


@dataclass(frozen=True, slots=True)
class ForecastBatch(InputBatch):
    """Windows and what came after them: targets_BHC in the windows' own units, 0 where nothing is known. ``terms`` are
    the steps of which something is."""

    targets_BHC: Tensor
    known_BHC: Tensor
    terms: int

    @property
    def loss_terms(self) -> int:
        return self.terms


class Forecasting:
    """The task over one corpus. Windows of training lie wholly before what validates and tests; those of the latter may
    read what lies before them."""

    additive = True
    static_shapes = True

    def __init__(self, config: ForecastingConfig, corpus: Corpus[Any], modalities: Modalities) -> None:
        if not isinstance(modalities.input, SeriesModality):
            raise OptionError(f'forecasting reads series; found a {modalities.input.name}: set input.kind = "series"')
        self.config, self.corpus = config, corpus
        self.length = config.context + config.horizon
        self.modality = modalities.input.windowed(self.length, self.season)
        self.targets = config.targets or self.modality.channels
        self.places = [self.modality.channels.index(name) for name in self.targets]
        self.origins = {
            split: Origins.of(own, split, config.context, config.horizon, self.stride(split), self.places)
            for split, own in corpus.splits.items()
        }

    @property
    def season(self) -> int:
        """Of the values that the model corrects; 0: it corrects the mean. A season longer than what is read is none."""
        if self.config.base == "mean":
            return 0
        first = min(self.config.seasons or (1,))
        return first if first <= self.config.context else 1

    def stride(self, split: str) -> int:
        """Every step begins a window of training; forecasts that are scored follow one another."""
        return 1 if split == "train" else self.config.stride or self.config.horizon

    def ports(self) -> Ports:
        return {INPUT: self.modality.port()}

    def head(self, body: Any) -> nn.Module:
        width, grid = body.width, body
        if not isinstance(grid, HasGrid):
            raise OptionError(f'{type(body).__name__} has no grid of time steps to forecast on; set model.kind = "vit"')
        config, steps_each = self.config, -(-self.length // grid.grid[0])
        return QuantileHead(width, config.horizon, steps_each, len(self.targets), config.quantiles, config.dropout)

    # -- examples and batches -----------------------------------------------------------------------------------

    def examples(self, split: str, epoch: int) -> Examples:
        return self.gathered(self.origins.get(split, ()))

    def gathered(self, windows: Sequence[Window]) -> Examples:
        return Examples(windows, np.full((len(windows), 1), self.length, np.int64))

    def collate(self, items: Sequence[Window]) -> ForecastBatch:
        encoded = self.modality.encode(items)
        mean_BC = np.stack([one.mean_C for one in encoded])[:, self.places]
        spread_BC = np.stack([one.spread_C for one in encoded])[:, self.places]
        gold_BHC = (self.gold(items) - mean_BC[:, None]) / spread_BC[:, None]
        known_BHC = np.isfinite(gold_BHC)
        return ForecastBatch(
            self.modality.collate(encoded), self.length * len(items),
            torch.from_numpy(np.where(known_BHC, gold_BHC, 0.0)).float(), torch.from_numpy(known_BHC),
            int(known_BHC.any(axis=2).sum()),
        )  # fmt: skip

    def gold(self, windows: Sequence[Window]) -> np.ndarray:
        """gold_BHC of the targets, NaN where the series has no value or is over."""
        made_BHC = np.full((len(windows), self.config.horizon, len(self.places)), np.nan)
        for row, window in enumerate(windows):
            found_HC = window.targets()[:, self.places]
            made_BHC[row, : len(found_HC)] = found_HC
        return made_BHC

    # -- loss ---------------------------------------------------------------------------------------------------

    def sums(self, model: nn.Module, batch: ForecastBatch) -> Sums:
        """The pinball loss of every step, a mean over levels and over those channels that are known there."""
        made_BHCQ = self.corrected(model, batch.inputs)
        levels_Q = torch.tensor(self.config.quantiles, device=made_BHCQ.device)
        gap_BHCQ = batch.targets_BHC[..., None] - made_BHCQ
        pinball_BHC = 2 * torch.maximum(levels_Q * gap_BHCQ, (levels_Q - 1) * gap_BHCQ).mean(-1)
        weights_BHC = batch.known_BHC / batch.known_BHC.sum(-1, keepdim=True).clamp(min=1)
        middle = self.config.quantiles.index(MIDDLE)
        error_BHC = gap_BHCQ[..., middle].detach().abs()
        sums = {"loss": (pinball_BHC * weights_BHC).sum(), "absolute_error": (error_BHC * weights_BHC).sum()}
        return Sums(sums, dict.fromkeys(sums, batch.terms))

    def corrected(self, model: nn.Module, inputs: Inputs) -> Tensor:
        """values_BHCQ, in the windows' own units: what the model says beside what the steps ahead are filled with."""
        base_BCH = inputs.values[:, self.places, -self.config.horizon :]
        return base_BCH.transpose(1, 2)[..., None] + model(inputs).float()

    # -- answers and scores -------------------------------------------------------------------------------------

    @torch.inference_mode()
    def quantiles(self, session: Session, windows: Sequence[Window]) -> np.ndarray:
        """values_BHCQ in the user's units."""
        model, examples = session.model.eval(), self.gathered(windows)
        config = self.config
        made = np.zeros((len(windows), config.horizon, len(self.targets), len(config.quantiles)))
        order = in_length_order(examples.lengths_NA, self.modality.batch_positions)
        for indices in with_progress(order, len(windows), session.progress):
            inputs = session.move(self.modality.collate(self.modality.encode(examples.at(indices))))
            assert inputs.scale_B2C is not None, "series keep what they were divided by"
            mean_BC, spread_BC = inputs.scale_B2C[:, :, self.places].double().cpu().numpy().swapaxes(0, 1)
            found = self.corrected(model, inputs).double().cpu().numpy()
            made[indices] = found * spread_BC[:, None, :, None] + mean_BC[:, None, :, None]
        return made

    def windows(self, inputs: Sequence[Series | Window]) -> list[Window]:
        """What is forecast for inputs: what comes after their last step, from as many before it as are read."""
        found = [one if isinstance(one, Window) and one.ahead else self.last(whole(one)) for one in inputs]
        short = {
            place: f"{one.series.name} has {one.stop:,} steps" for place, one in enumerate(found) if one.start < 0
        }
        if short:
            raise InputError("series are too short", short, f"the run reads task.context = {self.config.context} steps")
        return found

    def last(self, window: Window) -> Window:
        return Window(window.series, window.stop - self.config.context, window.stop, self.config.horizon)

    def forecast(self, session: Session, inputs: Sequence[Series | Window]) -> list[NumbersAnswer]:
        windows = self.windows(inputs)
        found = self.quantiles(session, windows)
        return [self.numbers(window, values_HCQ) for window, values_HCQ in zip(windows, found, strict=True)]

    def numbers(self, window: Window, values_HCQ: np.ndarray) -> NumbersAnswer:
        clock = window.series.clock
        times, past = (
            tuple(clock.time_of(place) for place in range(*ends))
            for ends in ((window.stop, window.stop + window.ahead), (window.start, window.stop))
        )
        medians = values_HCQ[..., self.config.quantiles.index(MIDDLE)]
        return NumbersAnswer(
            " ".join(f"{one:.6g}" for one in medians.ravel()), 0.0, 0.0, times, self.targets, self.config.quantiles,
            values_HCQ, past, window.series.values_NC[window.start : window.stop, self.places],
        )  # fmt: skip

    def predict(self, session: Session, inputs: Sequence[Any]) -> list[list[Answer]]:
        return [[one] for one in self.forecast(session, inputs)]

    def score(self, session: Session, split: str) -> dict[str, Any]:
        """A rolling origin: forecasts one after another through the split, each from what was known by then."""
        windows = self.origins[split]
        return forecast_scores(self.judged(self.quantiles(session, windows), windows), self.targets)

    def judged(self, values_BHCQ: np.ndarray, windows: Sequence[Window]) -> Judged:
        units = self.config.units or (1.0,) * len(self.targets)
        return Judged(values_BHCQ, self.gold(windows), self.config.quantiles, np.array(units))

    def yardsticks(self, corpus: Corpus[Any], split: str) -> Mapping[str, Yardstick]:
        """What was a season ago, and ridge regression on what is read, over the same windows."""
        config = self.config
        train = Origins.of(corpus.splits["train"], "train", config.context, config.horizon, 1, self.places)
        scored = Origins.of(
            corpus.splits[split], split, config.context, config.horizon, self.stride(split), self.places
        )
        return forecast_yardsticks(self, config.seasons or (1,), train, scored)

    # -- probes -------------------------------------------------------------------------------------------------

    def probe(self, session: Session, raw: Any, target: str = "") -> Probe:
        check_no_target(target, self.modality.name)
        return self.probe_examples(session, self.windows([raw]))

    def probe_examples(self, session: Session, items: Sequence[Window]) -> Probe:
        """What stands for logits are the quantiles, a row for each step and channel."""
        encoded = self.modality.encode(items)
        levels = self.config.quantiles
        return session.move(
            Probe(
                self.modality.collate(encoded), forward_head, lambda model, said: said.float().flatten(1, 2),
                lambda place: f"quantile {levels[place]:g}", "quantile",
                axis=grid_axis(session.model, self.modality.axis(encoded[0])), text=self.modality.describe(encoded[0]),
                pixels_HWC=self.modality.pixels(encoded[0]),
            )
        )  # fmt: skip

    def random_examples(
        self, session: Session, generator: np.random.Generator, rows: int, length: int
    ) -> list[Window]:
        """Windows are all of one length."""
        learned = self.modality.learned
        shape = rows, self.length, len(learned.channels)
        values = np.array(learned.mean) + np.array(learned.std) * generator.standard_normal(shape)
        context, horizon = self.config.context, self.config.horizon
        return [Window(Series(values_NC, learned.channels), 0, context, horizon) for values_NC in values]
