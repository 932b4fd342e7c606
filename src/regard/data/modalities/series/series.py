"""Series and what is learned from them: values over time, windows of them, labelled ones, and splits by time."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from regard.data.examples import OneLabelled

LONGEST = 40  # characters of a name that is no path
SECONDS, MONTHS, STEPS = "s", "M", ""
"""Units of time: seconds since 1970, months since January 1970, or steps that have no date."""


class Clock(NamedTuple):
    """When values were taken: the first time, and what lies between any two that follow one another, in units."""

    first: int = 0
    step: int = 1
    unit: str = STEPS

    def times(self, start: int, stop: int) -> np.ndarray:
        """times_N of the steps from ``start`` to before ``stop``, in units; there may be more than there are values."""
        return self.first + self.step * np.arange(start, stop, dtype=np.int64)

    def dates(self, start: int, stop: int) -> np.ndarray:
        """The same as dates; only where the clock knows of dates."""
        return self.times(start, stop).astype(f"datetime64[{self.unit}]")

    def time_of(self, place: int) -> str:
        """The time of a step as it is written."""
        if self.unit == STEPS:
            return str(self.first + self.step * place)
        date = self.dates(place, place + 1)[0]
        if self.unit == MONTHS or (self.step % 86400 == 0 and self.first % 86400 == 0):
            return str(date.astype("datetime64[M]" if self.unit == MONTHS else "datetime64[D]"))
        exact = date.dtype if self.step % 60 or self.first % 60 else "datetime64[m]"
        return str(date.astype(exact)).replace("T", " ")


NO_DATES = Clock()


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """values_NC over time, NaN where one is missing; ``origin`` says where they were read."""

    values_NC: np.ndarray
    channels: tuple[str, ...] = ("value",)
    clock: Clock = NO_DATES
    origin: str = "a series"
    time: tuple[str, ...] = ()  # the columns of a table that its times were read from
    time_format: str = ""

    def __len__(self) -> int:
        return len(self.values_NC)

    def digest(self) -> str:
        """By which it is known again."""
        made = hashlib.blake2b(np.ascontiguousarray(self.values_NC, np.float64).tobytes(), digest_size=16)
        made.update(repr((self.channels, self.clock)).encode())
        return made.hexdigest()

    @property
    def name(self) -> str:
        """As messages call it; values that were typed can be long."""
        return self.origin if len(self.origin) <= LONGEST or "/" in self.origin else f"{self.origin[:LONGEST]}…"

    def __str__(self) -> str:
        return self.origin


class Window(NamedTuple):
    """A stretch of a series: the steps from ``start`` to before ``stop`` are read, and so many ``ahead`` of them asked
    about."""

    series: Series
    start: int
    stop: int
    ahead: int = 0

    def targets(self) -> np.ndarray:
        """values_HC of the steps that are asked about, as far as the series goes."""
        return self.series.values_NC[self.stop : self.stop + self.ahead]


def whole(raw: Series | Window) -> Window:
    """A series as a window of all its steps."""
    return raw if isinstance(raw, Window) else Window(raw, 0, len(raw))


class HasSeries(Protocol):
    """An example of a series, and the part of it that may be learned from."""

    @property
    def series(self) -> Series: ...

    def seen(self) -> np.ndarray:
        """values_NC of that part."""
        ...


@dataclass(frozen=True, slots=True)
class LabelledSeries(OneLabelled[Series]):
    """A series and the class that it belongs to."""

    @property
    def series(self) -> Series:
        return self.raw

    def seen(self) -> np.ndarray:
        return self.raw.values_NC

    def key(self) -> Hashable:
        return self.raw.digest()

    def record(self) -> dict[str, Any]:
        """What is missing has no number in JSON."""
        values = [[None if np.isnan(one) else float(one) for one in row] for row in self.raw.values_NC]
        held = {"values": values, "channels": [*self.raw.channels], "clock": [*self.raw.clock], "name": self.raw.origin}
        return {**held, "label": self.label, "group": self.group, "line": self.line, "origin": self.origin}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        fields = dict(record)
        channels = tuple(fields.pop("channels"))
        values_NC = np.array(fields.pop("values"), np.float64).reshape(-1, len(channels))
        return cls(Series(values_NC, channels, Clock(*fields.pop("clock")), fields.pop("name")), **fields)


@dataclass(frozen=True, slots=True)
class SeriesSplit:
    """The part of a series that a split may ask about: the steps from ``first`` to before ``last``. What stands before
    may be read."""

    series: Series
    first: int
    last: int
    line: int = 0
    origin: str = ""

    @property
    def source(self) -> str:
        return str(self.series)

    def key(self) -> Hashable:
        return self.series.digest(), self.first, self.last

    def answer(self) -> Hashable:
        return ""

    def seen(self) -> np.ndarray:
        """values_NC of what is asked about."""
        return self.series.values_NC[self.first : self.last]
