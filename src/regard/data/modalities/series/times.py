"""Times as they are written in files, and the regular clock that they follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from regard.core.errors import DataError
from regard.data.modalities.series.series import MONTHS, SECONDS, STEPS, Clock

Reader = Callable[[str], int]
FORMS = ("%m/%d/%Y %H:%M:%S", "%m/%d/%Y %H:%M", "%m/%d/%Y", "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M", "%d.%m.%Y",
         "%Y/%m/%d %H:%M:%S", "%Y/%m/%d %H:%M", "%Y/%m/%d", "%Y%m%d", "%d-%b-%Y", "%b %Y")  # fmt: skip
"""How dates are written where not as ISO 8601 has it; with slashes, the month comes first."""
LOOKED_AT = 200  # times, to see how they are written
MOSTLY = 0.9  # of them, for a form to be theirs
LONGEST_MONTH, SHORTEST_MONTH = 31, 28
DAY = 86_400


class NoTime(ValueError):
    """Text that is no time."""


def iso(text: str) -> int:
    return seconds(datetime.fromisoformat(text))


def count(text: str) -> int:
    """A number of a step; a year, say, or 1, 2, 3 …"""
    number = float(text)
    if number != int(number):
        raise NoTime(f"{text!r} is not a whole number")
    return int(number)


def by_form(form: str) -> Reader:
    return lambda text: seconds(datetime.strptime(text, form))


def seconds(date: datetime) -> int:
    """Since 1970; a date without a zone is taken as it stands, so that no hour is lost or doubled."""
    return round((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp())


class Form(NamedTuple):
    """How the times of a column are written."""

    read: Reader
    unit: str


def form_of(texts: Sequence[str], wanted: str = "") -> Form:
    """The first of the known ways that nearly all texts are written in; ``wanted`` names one, as strptime has it."""
    if wanted:
        return Form(by_form(wanted), SECONDS)
    shown = [text for text in texts[:: -(-len(texts) // LOOKED_AT) or 1] if text]
    ways = [Form(count, STEPS), Form(iso, SECONDS), *(Form(by_form(form), SECONDS) for form in FORMS)]
    if shown and all(len(text) == len("20120131") and text.isdecimal() for text in shown):
        ways = ways[1:]  # dates without a sign between
    for way in ways:
        if shown and sum(reads(way.read, text) for text in shown) >= MOSTLY * len(shown):
            return way
    found = ", ".join(map(repr, shown[:3])) or "nothing"
    raise DataError(
        f"times such as {found} are written in no known way; say how, as in --set data.time_format='%d/%m/%Y %H:%M', "
        "or name another column with data.time"
    )


def reads(read: Reader, text: str) -> bool:
    try:
        read(text)
    except (ValueError, OverflowError):
        return False
    return True


def clock_of(times_N: np.ndarray, unit: str) -> Clock:
    """The clock of sorted, different times: the step is the one that is most frequent between two that follow."""
    if len(times_N) < 2:
        return Clock(int(times_N[0]) if len(times_N) else 0, 1, unit)
    gaps, counts = np.unique(np.diff(times_N), return_counts=True)
    if unit == SECONDS and is_monthly(times_N, gaps):
        months_N = times_N.astype("datetime64[s]").astype("datetime64[M]").astype(np.int64)
        return clock_of(months_N, MONTHS)
    return Clock(int(times_N[0]), int(gaps[counts.argmax()]), unit)


def is_monthly(times_N: np.ndarray, gaps: np.ndarray) -> bool:
    """Whether all times have the same day of the month, and lie at least a month apart."""
    dates = times_N.astype("datetime64[s]")
    days = dates.astype("datetime64[D]") - dates.astype("datetime64[M]").astype("datetime64[D]")
    same = len(np.unique(days)) == 1 and len(np.unique(times_N % DAY)) == 1
    return bool(same and gaps.min() >= SHORTEST_MONTH * DAY)


def in_unit(times_N: np.ndarray, clock: Clock) -> np.ndarray:
    """Times in seconds as a clock of months counts them; others as they are."""
    if clock.unit != MONTHS:
        return times_N
    return times_N.astype("datetime64[s]").astype("datetime64[M]").astype(np.int64)
