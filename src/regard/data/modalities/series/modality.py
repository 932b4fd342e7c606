"""The series modality: values over time, normalised for each window or by training data, beside mask and calendar."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch

from regard.core.errors import DataError, InputError
from regard.core.files import write_json
from regard.core.inputs import Axis, Inputs
from regard.core.ports import Arrays
from regard.data.ledger import Ledger
from regard.data.modalities import check_not_cut
from regard.data.modalities.series import calendar
from regard.data.modalities.series.drawing import drawn
from regard.data.modalities.series.series import Clock, Series, Window, whole
from regard.data.modalities.series.tables import SeriesColumns, is_number, read_series, step_name
from regard.data.modalities.series.ts_files import one_series
from regard.data.readers import find_file

FILE = "series.json"
LEAST_SHARE = 0.05  # of what is usual in training: how little a window may spread before it counts as flat
NUMBERED = re.compile(r"(.+\.ts(?:\.gz|\.bz2|\.xz)?):(\d+)")
Normalise = Literal["window", "channel"]


class Learned(NamedTuple):
    """What training series are like; ``masked`` says that values were missing among them."""

    channels: tuple[str, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    masked: bool
    calendar: tuple[str, ...]
    step: int
    unit: str
    time: tuple[str, ...]
    time_format: str
    length: int
    season: int = 0  # what lies ahead is filled with what was so many steps before; 0: with the mean


class SeriesItem(NamedTuple):
    """values_EN as a model reads them: the values, normalised and filled, then the mask of what was missing, then the
    calendar. A value times its spread, plus its mean, is the user's."""

    values_EN: np.ndarray
    mean_C: np.ndarray
    spread_C: np.ndarray
    raw: Window


@dataclass(frozen=True)
class SeriesModality:
    """Series become arrays_BEN of their channels, with what each window was divided by.

    Law: ``encode`` looks at one series alone; of what lies ahead of a window nothing but the calendar is read.
    """

    normalise: Normalise
    learned: Learned

    lazy = False
    batch_positions = 1 << 15
    max_length = 0
    name = "series"

    @property
    def channels(self) -> tuple[str, ...]:
        return self.learned.channels

    def port(self) -> Arrays:
        learned = self.learned
        masks = len(learned.channels) if learned.masked else 0
        return Arrays(len(learned.channels) + masks + calendar.width(learned.calendar), (learned.length,))

    def windowed(self, length: int, season: int = 0) -> SeriesModality:
        return replace(self, learned=self.learned._replace(length=length, season=season))

    def values(self, item: SeriesItem) -> np.ndarray:
        return item.values_EN[: len(self.channels)].T

    def limited(self, max_length: int, keep: str) -> SeriesModality:
        check_not_cut("series", max_length, keep, ", and set input.length for longer ones")
        return self

    # -- from the command line ----------------------------------------------------------------------------------

    def parse(self, argument: str) -> Series:
        """A table, a .ts file (``file.ts:7`` for its seventh series), or the values themselves with spaces between."""
        named = NUMBERED.fullmatch(argument)
        path = find_file(Path(named[1] if named else argument).expanduser())
        if path.is_file():
            if ".ts" in path.suffixes:
                return self.checked(one_series(path, int(named[2]) if named else 0))
            columns = SeriesColumns(self.learned.time, self.channels, self.learned.time_format)
            return self.checked(read_series(path, "given", Ledger(), columns).series)
        texts = argument.split()
        if texts and all(map(is_number, texts)):
            return self.checked(Series(np.array([[float(text)] for text in texts]), self.channels[:1]))
        raise DataError(
            f"there is no file {argument!r}, and these are not numbers; this run reads series: give the path of a "
            f"table with {', '.join(self.channels)}, of a .ts file, or numbers with spaces between them"
        )

    def checked(self, series: Series) -> Series:
        """A series as those of training, refused where its channels or its steps are others."""
        learned, own = self.learned, len(series.channels)
        if own != len(learned.channels):
            names = ", ".join(learned.channels)
            raise DataError(f"{series.name} has {own} channels, and the run reads {len(learned.channels)}: {names}")
        clock, wanted = series.clock, Clock(0, learned.step, learned.unit)
        if learned.unit and clock.unit and (clock.step, clock.unit) != (learned.step, learned.unit):
            steps = step_name(wanted)
            raise DataError(f"{series.name} has steps of {step_name(clock)}, and the run learned from steps of {steps}")
        return series

    # -- items --------------------------------------------------------------------------------------------------

    def encode(self, raws: Sequence[Series | Window]) -> list[SeriesItem]:
        windows = [whole(raw) for raw in raws]
        sizes = [window.stop - window.start + window.ahead for window in windows]
        most = self.learned.length
        wrong = {
            place: f"{window.series.name} has {size:,} steps"
            for place, (window, size) in enumerate(zip(windows, sizes, strict=True))
            if not 0 < size <= most or window.stop == window.start
        }  # fmt: skip
        if wrong:
            remedy = f"1 to input.length = {most:,} are read: set it to {max(*sizes, 1)}, or leave these out"
            raise InputError("series are too long or empty", wrong, remedy)
        return [self.encoded(window) for window in windows]

    def encoded(self, window: Window) -> SeriesItem:
        learned = self.learned
        values_NC = window.series.values_NC[window.start : window.stop]
        mean_C, spread_C = self.scale(values_NC)
        known_NC = np.isfinite(values_NC)
        masked = len(learned.channels) * learned.masked
        width = len(learned.channels) + masked + calendar.width(learned.calendar)
        made_EN = np.zeros((width, len(values_NC) + window.ahead), np.float32)
        made_CN = made_EN[: len(learned.channels)]
        made_CN[:, : len(values_NC)] = carried((values_NC - mean_C) / spread_C, known_NC).T
        if window.ahead and learned.season:
            first = max(len(values_NC) - learned.season, 0)
            made_CN[:, len(values_NC) :] = made_CN[:, first + np.arange(window.ahead) % (len(values_NC) - first)]
        if masked:
            masks_CN = made_EN[len(learned.channels) : 2 * len(learned.channels)]
            masks_CN[:] = 1.0
            masks_CN[:, : len(values_NC)] = ~known_NC.T
        if learned.calendar:
            stop = window.stop + window.ahead
            whole_KN = calendar_of(window.series, learned.calendar, max(stop, len(window.series)))
            made_EN[len(learned.channels) + masked :] = whole_KN[:, window.start : stop]
        return SeriesItem(made_EN, mean_C, spread_C, window)

    def scale(self, values_NC: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """mean_C and spread_C of what is known of a window; one that is flat or empty has training's."""
        usual_C, spread_C = np.array(self.learned.mean), np.array(self.learned.std)
        if self.normalise == "channel":
            return usual_C, spread_C
        known_NC = np.isfinite(values_NC)
        counts_C = known_NC.sum(axis=0)
        held_NC = np.where(known_NC, values_NC, 0.0)
        mean_C = np.where(counts_C > 0, held_NC.sum(axis=0) / np.maximum(counts_C, 1), usual_C)
        square_C = (np.where(known_NC, held_NC - mean_C, 0.0) ** 2).sum(axis=0) / np.maximum(counts_C, 1)
        return mean_C, np.where(counts_C > 1, np.maximum(np.sqrt(square_C), LEAST_SHARE * spread_C), spread_C)

    def augment(self, item: SeriesItem, generator: np.random.Generator) -> SeriesItem:
        return item

    def size(self, item: SeriesItem) -> int:
        return item.values_EN.shape[1]

    def cut(self, item: SeriesItem) -> int:
        return 0

    def collate(self, items: Sequence[SeriesItem]) -> Inputs:
        """Where all are equally long, nothing is padded."""
        sizes = [self.size(item) for item in items]
        values_BEN = np.zeros((len(items), len(items[0].values_EN), max(sizes)), np.float32)
        for row, item in enumerate(items):
            values_BEN[row, :, : self.size(item)] = item.values_EN
        scale_B2C = np.stack([(item.mean_C, item.spread_C) for item in items]).astype(np.float32)
        lengths_B = None if min(sizes) == max(sizes) else torch.tensor(sizes)
        return Inputs(torch.from_numpy(values_BEN), lengths_B, scale_B2C=torch.from_numpy(scale_B2C))

    # -- for those who look ---------------------------------------------------------------------------------------

    def axis(self, item: SeriesItem) -> Axis:
        """Its steps by their times; a front makes fewer positions of them."""
        window = item.raw
        clock, steps = window.series.clock, range(window.start, window.stop + window.ahead)
        return Axis(tuple(clock.time_of(step) for step in steps), (len(steps),))

    def describe(self, item: SeriesItem) -> str:
        return str(item.raw.series)

    def pixels(self, item: SeriesItem) -> np.ndarray:
        """pixels_HWC of the series as a line for each channel."""
        window = item.raw
        return drawn(window.series.values_NC[window.start : window.stop], item.mean_C, item.spread_C, self.size(item))

    def random_items(self, generator: np.random.Generator, rows: int, length: int) -> list[SeriesItem]:
        most = min(length, self.learned.length)
        usual = np.array(self.learned.mean), np.array(self.learned.std)
        lengths = generator.integers(1, most + 1, rows)
        clock = Clock(0, self.learned.step, self.learned.unit)
        made = [usual[0] + usual[1] * generator.standard_normal((own, len(self.channels))) for own in lengths]
        return self.encode([Series(values_NC, self.channels, clock) for values_NC in made])

    def save(self, folder: Path) -> None:
        write_json(folder / FILE, self.learned._asdict())


def carried(values_NC: np.ndarray, known_NC: np.ndarray) -> np.ndarray:
    """What is missing has the last known value before it, or 0."""
    places_N1 = np.arange(len(values_NC))[:, None]
    last_NC = np.maximum.accumulate(np.where(known_NC, places_N1, -1), axis=0)
    found_NC = np.take_along_axis(np.where(known_NC, values_NC, 0.0), np.maximum(last_NC, 0), axis=0)
    return np.where(last_NC >= 0, found_NC, 0.0)


@lru_cache(maxsize=64)
def calendar_of(series: Series, names: tuple[str, ...], steps: int) -> np.ndarray:
    """features_KN of so many steps, once for all windows of a series."""
    return calendar.features(series.clock, 0, steps, names)
