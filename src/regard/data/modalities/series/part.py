"""Series as a recipe chooses them: how they are normalised, what of the calendar is read, what training measures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field

from regard.core.errors import DataError, RunError
from regard.core.files import read_object
from regard.data import TokenizerPart
from regard.data.modalities import ModalityPart
from regard.data.modalities.both import Modalities
from regard.data.modalities.series import calendar
from regard.data.modalities.series.modality import FILE, Learned, Normalise, SeriesModality
from regard.data.modalities.series.series import HasSeries
from regard.data.modalities.series.tables import step_name

SHOWN = 6  # series in messages
Parts = Literal["day", "week", "year"]


class SeriesPart(ModalityPart):
    """Series: how they are normalised, and what of the calendar is read beside their values."""

    unit = "time steps"
    example = "series.csv"
    file = FILE

    kind: str = "series"
    length: int = Field(0, ge=0)  # steps of the longest series; 0: as in training. A forecast's windows have their own
    normalise: Normalise = "window"  # by what is read of each series, or as in training on average
    calendar: Literal["auto"] | tuple[Parts, ...] = "auto"  # auto: those of which training shows two

    def fit(self, corpus: Any, tokenizer: TokenizerPart) -> Modalities:
        return Modalities(self.measured(corpus.splits["train"]))

    def measured(self, examples: Sequence[HasSeries]) -> SeriesModality:
        """Measures training series, as far as they are learned from."""
        if not examples:
            raise DataError("there are no series to measure; check data.train")
        first = examples[0].series
        check_alike(examples)
        values_NC = np.concatenate([one.seen() for one in examples])
        known_C = np.isfinite(values_NC).any(axis=0)
        if not known_C.all():
            empty = ", ".join(name for name, known in zip(first.channels, known_C, strict=True) if not known)
            raise DataError(f"no training series has a value of {empty}; leave it out of data.values")
        mean_C, std_C = np.nanmean(values_NC, axis=0), np.nanstd(values_NC, axis=0)
        std_C[std_C < 1e-12 * np.maximum(np.abs(mean_C), 1)] = 1.0  # all alike: there is nothing to divide
        longest = max(len(one.seen()) for one in examples)
        names = calendar.usual(first.clock, longest) if self.calendar == "auto" else tuple(self.calendar)
        learned = Learned(
            first.channels, tuple(mean_C.tolist()), tuple(std_C.tolist()), bool(np.isnan(values_NC).any()), names,
            first.clock.step, first.clock.unit, first.time, first.time_format, self.length or longest,
        )  # fmt: skip
        return SeriesModality(self.normalise, learned)

    def load(self, folder: Path, tokenizer: TokenizerPart) -> Modalities:
        held = read_object(folder / FILE)
        try:
            fields: dict[str, Any] = {key: tuple(one) if isinstance(one, list) else one for key, one in held.items()}
            learned = Learned(**fields)
        except TypeError as error:
            raise RunError(f"{folder / FILE} should hold {', '.join(Learned._fields)}: {error}; put it back") from error
        return Modalities(SeriesModality(self.normalise, learned))


def check_alike(examples: Sequence[HasSeries]) -> None:
    """All series of a corpus have the same channels and the same steps."""
    first, problems = examples[0].series, []
    for one in examples:
        other = one.series
        if other.channels != first.channels:
            problems.append(f"{other.name} has the channels {', '.join(other.channels)}")
        elif (other.clock.step, other.clock.unit) != (first.clock.step, first.clock.unit):
            problems.append(f"{other.name} has steps of {step_name(other.clock)}")
    if problems:
        raise DataError(
            f"{first.name} has {', '.join(first.channels)} in steps of {step_name(first.clock)}, but "
            f"{'; '.join(problems[:SHOWN])}; make them alike, or train on each kind by itself"
        )
