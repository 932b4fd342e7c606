"""Series made here: sums of daily and weekly waves to be forecast, and waves of three shapes to be told apart."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from regard.data import MOST_MADE, DataPart
from regard.data.corpus import Corpus
from regard.data.ledger import Ledger
from regard.data.modalities.series.series import SECONDS, Clock, LabelledSeries, Series, SeriesSplit
from regard.data.modalities.series.tables import ReadSeries
from regard.data.sources.series import divided
from regard.data.splits import gathered

HOUR, DAY, WEEK = 3600, 24, 168  # seconds, and hours
NEW_YEAR_2024 = 1_704_067_200  # a Monday
SHAPES = ("sawtooth", "sine", "square")


class Waves(DataPart):
    """One series of hours: a wave that goes up and down each day, less on two days of the week, a trend that wanders,
    noise, and hours that are missing."""

    files_kind: ClassVar[str] = "series"

    kind: str = "waves"
    hours: int = Field(default=1344, ge=2, le=MOST_MADE)
    noise: float = Field(default=0.2, ge=0)
    missing: float = Field(default=0.02, ge=0, lt=1)  # share of hours without a value
    validation_share: float = Field(default=0.2, ge=0, lt=0.5)
    test_share: float = Field(default=0.2, ge=0, lt=0.5)

    def load(self, seed: int, ledger: Ledger) -> Corpus[SeriesSplit]:
        generator = np.random.default_rng(seed)
        hours_N = np.arange(self.hours)
        workday_N = np.where(hours_N // DAY % 7 < 5, 1.0, 0.4)
        daily_N = np.sin(2 * np.pi * (hours_N - 8) / DAY) + 0.5 * np.sin(4 * np.pi * hours_N / DAY)
        wandering_N = 0.05 * np.cumsum(generator.standard_normal(self.hours))
        values_N = 50 + 10 * (workday_N * daily_N + wandering_N + self.noise * generator.standard_normal(self.hours))
        values_N[generator.random(self.hours) < self.missing] = np.nan
        series = Series(values_N[:, None], ("load",), Clock(NEW_YEAR_2024, HOUR, SECONDS), "waves")
        shares = {"validation": self.validation_share, "test": self.test_share}
        ledger.record("train", "waves", read=self.hours, kept=self.hours)
        ledger.units["waves"] = "hours"
        parts = divided(
            ReadSeries(series, np.ones(self.hours, bool)), "train", {k: one for k, one in shares.items() if one}, ledger
        )
        ledger.check()
        return Corpus({split: (part,) for split, part in parts}, ledger)


class WaveShapes(DataPart):
    """Waves of three shapes, of different lengths, speeds and phases, in noise."""

    files_kind: ClassVar[str] = "labelled-series"

    kind: str = "wave-shapes"
    train_size: int = Field(default=600, ge=1, le=MOST_MADE)
    validation_size: int = Field(default=60, ge=0, le=MOST_MADE)
    test_size: int = Field(default=200, ge=0, le=MOST_MADE)
    noise: float = Field(default=0.3, ge=0)

    def load(self, seed: int, ledger: Ledger) -> Corpus[LabelledSeries]:
        generator = np.random.default_rng(seed)
        sizes = {"train": self.train_size, "validation": self.validation_size, "test": self.test_size}
        splits = {
            split: [self.made(generator, line) for line in range(1, size + 1)]
            for split, size in sizes.items()
        }
        return Corpus(gathered(splits, "wave-shapes", ledger), ledger)

    def made(self, generator: np.random.Generator, line: int) -> LabelledSeries:
        """It is called by its values, as they would be typed."""
        shape = SHAPES[int(generator.integers(len(SHAPES)))]
        steps = np.arange(int(generator.integers(20, 41)))
        phases_N = steps * generator.uniform(0.3, 0.6) + generator.uniform(0, 2 * np.pi)
        values_N = {
            "sine": np.sin(phases_N), "square": np.sign(np.sin(phases_N)), "sawtooth": phases_N / np.pi % 2 - 1,
        }[shape]  # fmt: skip
        values_N = (values_N + self.noise * generator.standard_normal(len(values_N))).round(2)
        name = " ".join(f"{value:.2f}" for value in values_N)
        return LabelledSeries(Series(values_N[:, None], origin=name), shape, line=line, origin="wave-shapes")
