"""Series from files of your own: tables with times, divided by time for forecasts, and labelled series in .ts files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from regard.core.config import Config
from regard.core.errors import DataError
from regard.data.corpus import Corpus
from regard.data.ledger import Ledger
from regard.data.modalities.series.series import LabelledSeries, SeriesSplit
from regard.data.modalities.series.tables import ReadSeries, SeriesColumns, read_series
from regard.data.modalities.series.ts_files import read_ts
from regard.data.sources.entries import Entry, ExampleEntry
from regard.data.sources.example_files import ExampleFiles
from regard.data.sources.files import FileData, Found

TABLES = (".csv", ".tsv")


class SeriesTables(Config):
    """Which columns of a table hold what."""

    time: str | tuple[str, ...] = ""  # or several that make one time, as ["year", "month", "day"]; "": looked for
    values: tuple[str, ...] = ()  # (): all other columns of numbers
    time_format: str = ""  # as strptime has it, such as "%d/%m/%Y %H:%M"; "": looked for

    def columns(self) -> SeriesColumns:
        time = (self.time,) if isinstance(self.time, str) else self.time
        return SeriesColumns(tuple(filter(None, time)), self.values, self.time_format)


class SeriesFiles(SeriesTables, FileData[Entry]):
    """Tables of values over time, a series each. Where no files are named for validation or test, the end of every
    series is: validation before the test, and both after all that is learned from."""

    suffixes: ClassVar[tuple[str, ...]] = TABLES
    example: ClassVar[str] = "path/to/table.csv"
    dividing: ClassVar[tuple[str, ...]] = ("validation_share", "test_share")

    kind: str = "series"
    validation_share: float = Field(default=0.1, ge=0, lt=1)  # of the steps of every series
    test_share: float = Field(default=0.1, ge=0, lt=1)

    def unused(self) -> dict[str, str]:
        unused = super().unused()
        for split in ("validation", "test"):
            if split in self.named():
                unused[f"{split}_share"] = f"it says how much of the time is set aside, and data.{split} names files"
        return unused

    def load(self, seed: int, ledger: Ledger) -> Corpus[SeriesSplit]:
        found = self.found()
        shares = {split: share for split, share in (("validation", self.validation_share), ("test", self.test_share))
                  if split not in found and share}  # fmt: skip
        if sum(shares.values()) >= 1:
            raise DataError(
                f"data.validation_share and data.test_share set {sum(shares.values()):.0%} of the time aside, which "
                "leaves nothing to learn from; let them be less than 1 together"
            )
        splits: dict[str, list[SeriesSplit]] = {}
        for split, files in found.items():
            for one in files:
                read = read_series(one.paths[0], split, ledger, self.columns())
                for name, part in divided(read, split, shares if split == "train" else {}, ledger):
                    splits.setdefault(name, []).append(part)
        ledger.check()
        return Corpus({split: tuple(own) for split, own in splits.items()}, ledger)

    def load_test(self, split: str, ledger: Ledger) -> Corpus[SeriesSplit]:
        read = [read_series(one.paths[0], split, ledger, self.columns()) for one in self.files()["test"]]
        parts = tuple(part for one in read for _, part in divided(one, split, {}, ledger))
        ledger.check()
        return Corpus({split: parts}, ledger)


def divided(
    read: ReadSeries, split: str, shares: dict[str, float], ledger: Ledger
) -> list[tuple[str, SeriesSplit]]:
    """A series by time: what is set aside lies at its end, the test last. The ledger counts the rows of each part."""
    series, steps = read.series, len(read.series)
    names = [split, *shares]
    edges = [0, *(steps - round(steps * sum([*shares.values()][place:])) for place in range(len(shares))), steps]
    parts = []
    for name, first, last in zip(names, edges, edges[1:]):
        rows = int(read.there_N[first:last].sum())
        if name != split:
            ledger.record(split, series.origin, read=-rows, kept=-rows)
            ledger.record(name, series.origin, read=rows, kept=rows)
            told = f"{series.clock.time_of(first)} to {series.clock.time_of(last - 1)}" if last > first else "nothing"
            ledger.notes.append(f"{series.origin}: set aside for {name}, since no {name} files are named: {told}")
        ledger.splits[name] = ledger.splits.get(name, 0) + rows
        if last > first:
            parts.append((name, SeriesSplit(series, first, last, origin=series.origin)))
    return parts


class LabelledSeriesFiles(ExampleFiles[ExampleEntry, LabelledSeries]):
    """Files that end in .ts, as aeon and sktime keep labelled series: channels with a colon between them, then the
    class."""

    suffixes: ClassVar[tuple[str, ...]] = (".ts",)
    example: ClassVar[str] = "path/to/NAME_TRAIN.ts"

    kind: str = "labelled-series"

    def read(self, found: Found[ExampleEntry], split: str, ledger: Ledger) -> Sequence[LabelledSeries]:
        return read_ts(found.paths[0], split, ledger)
