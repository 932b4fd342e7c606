"""Files that end in .ts: labelled series as the UCR and UEA archives and their tools (aeon, sktime) keep them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from regard.core.errors import DataError
from regard.data.ledger import Ledger
from regard.data.modalities.series.series import LabelledSeries, Series
from regard.data.readers import read_lines, summarise

MISSING = ("?", "nan", "na")


class Head(NamedTuple):
    """What stands before the data."""

    labelled: bool
    labels: tuple[str, ...]
    first: int  # the line after @data, counted from 1


def read_ts(path: Path, split: str, ledger: Ledger) -> list[LabelledSeries]:
    """All series of a file; one without a value is skipped. What cannot be read is named line by line."""
    lines = read_lines(path)
    head = head_of(path, lines)
    if not head.labelled:
        raise DataError(f"{path} has no classes (@classLabel false); a label at the end of each line is needed")
    kept, wrong, read, dimensions = [], [], 0, 0
    for line, text in filled(lines, head.first):
        read += 1
        *channels, label = text.split(":")
        problem = problem_of(channels, label, head, dimensions)
        if problem:
            wrong.append(f"line {line} {problem}")
            continue
        dimensions = len(channels)
        series = series_of(channels, f"{path}:{read}")
        if np.isnan(series.values_NC).all():
            ledger.skip(split, str(path), line, "no value is there")
        else:
            kept.append(LabelledSeries(series, label.strip(), line=line, origin=str(path)))
    if wrong:
        raise DataError(f"{path}: {summarise(wrong)}. Correct these lines, or take them out")
    ledger.record(split, str(path), read=read, kept=len(kept))
    return kept


def one_series(path: Path, number: int) -> Series:
    """The series with this number, counted from 1, for those who ask about it."""
    lines = read_lines(path)
    head = head_of(path, lines)
    rows = [text for _, text in filled(lines, head.first)]
    if not number and len(rows) > 1:
        raise DataError(f"{path} holds {len(rows):,} series; name one by its number, as {path}:1")
    if not 1 <= (number or 1) <= len(rows):
        raise DataError(f"{path} holds {len(rows):,} series, and none has the number {number}")
    channels = rows[(number or 1) - 1].split(":")
    if head.labelled:
        channels = channels[:-1]
    if problem := problem_of(channels, "", head._replace(labels=()), 0):
        raise DataError(f"{path}, series {number or 1} {problem}")
    return series_of(channels, f"{path}:{number or 1}")


def filled(lines: Sequence[str], first: int) -> Iterator[tuple[int, str]]:
    """The lines of the data that are not empty, with their numbers."""
    for line, text in enumerate(lines[first - 1 :], start=first):
        if text.strip() and not text.startswith(("#", "%")):
            yield line, text.strip()


def head_of(path: Path, lines: Sequence[str]) -> Head:
    """The lines that begin with @; times before the values, which few files have, are refused."""
    labelled, labels = True, tuple[str, ...]()
    for line, text in enumerate(lines, start=1):
        words = text.strip().split()
        key = words[0].lower() if words else ""
        if key == "@data":
            return Head(labelled, labels, line + 1)
        if key == "@timestamps" and words[1:2] and words[1].lower() == "true":
            raise DataError(
                f"{path}, line {line}: values with a time before each (@timeStamps true) are not read; write the "
                "values alone"
            )
        if key == "@classlabel":
            labelled = words[1:2] != ["false"]
            labels = tuple(words[2:])
        if key == "@targetlabel":
            labelled = False
    raise DataError(
        f"{path} has no line @data before its series: it is not a .ts file as aeon and sktime write them; name another"
    )


def problem_of(channels: Sequence[str], label: str, head: Head, dimensions: int) -> str:
    """What is wrong with a line; nothing where it can be read."""
    if head.labels and label.strip() not in head.labels:
        return f"has the label {label.strip()[:40]!r}, which @classLabel does not name ({', '.join(head.labels)})"
    if not channels:
        return "has no values before its label"
    if dimensions and len(channels) != dimensions:
        return f"has {len(channels)} channels, the first line has {dimensions}"
    odd = [cell for channel in channels for cell in channel.split(",") if not is_value(cell)]
    if odd:
        return f"has {odd[0].strip()[:40]!r}, which is not a number"
    lengths = [len(channel.split(",")) for channel in channels]
    if len(set(lengths)) > 1:
        return f"has channels of {min(lengths)} to {max(lengths)} values; all must be equally long"
    return ""


def is_value(cell: str) -> bool:
    try:
        return cell.strip().lower() in MISSING or math.isfinite(float(cell))
    except ValueError:
        return False


def value(cell: str) -> float:
    return math.nan if cell.strip().lower() in MISSING else float(cell)


def series_of(channels: Sequence[str], name: str) -> Series:
    values_NC = np.array([[value(cell) for cell in channel.split(",")] for channel in channels]).T
    names = tuple(f"channel {number}" for number in range(1, len(channels) + 1)) if len(channels) > 1 else ("value",)
    return Series(values_NC, names, origin=name)
