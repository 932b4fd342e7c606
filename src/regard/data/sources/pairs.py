"""Pairs of texts from files: two parallel files, or tables with a column for the source and one for the target."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Self

from pydantic import model_validator

from regard.core.config import Config
from regard.core.errors import DataError
from regard.data.corpus import Pair
from regard.data.ledger import Ledger
from regard.data.readers import COMPRESSIONS, find_file, keep_pairs, read_parallel
from regard.data.sources.entries import ExampleEntry, chosen, is_pattern
from regard.data.sources.example_files import ExampleFiles
from regard.data.sources.files import Found
from regard.data.tables import JSON_SUFFIXES, TABLE_SUFFIXES, Layout, column_names, read_table, suffix

AUTO = "auto"
NAMES = ("source", "target")


class PairColumns(Config):
    """Which columns of a table are source and target: by name, which the first line gives; or by number, counted from
    1, in a table whose first line is a pair already.

    ``auto``: the names "source" and "target" where the table has them, else columns 1 and 2 of exactly two.
    """

    source_column: int | str = AUTO
    target_column: int | str = AUTO

    def problem(self) -> str:
        """Why the two do not go together; nothing where they do."""
        both = (self.source_column, self.target_column)
        numbers = [one for one in both if isinstance(one, int)]
        if len(numbers) == 1:
            return (
                f"source_column = {both[0]!r} and target_column = {both[1]!r}: give two names, or two numbers for a "
                "table without a line of names"
            )
        if numbers and min(numbers) < 1:
            return "source_column and target_column are counted from 1"
        if both[0] == both[1] != AUTO:
            return f"source_column and target_column are both {both[0]!r}; they must differ"
        return "source_column and target_column must not be empty" if "" in both else ""

    def of(self, path: Path) -> tuple[int | str, ...]:
        """The columns of this table."""
        both = (self.source_column, self.target_column)
        if suffix(path) in JSON_SUFFIXES:
            if any(isinstance(one, int) for one in both):
                raise DataError(
                    f"{path}: its lines are JSON objects, which have keys and no order; name the keys with "
                    "source_column and target_column"
                )
        elif both == (AUTO, AUTO) and not set(NAMES) <= set(column_names(path)):
            return 1, 2
        return tuple(name if one == AUTO else one for one, name in zip(both, NAMES))


USUAL = PairColumns()


class PairEntry(PairColumns, ExampleEntry):
    """Two parallel files, ``source`` and ``target``; or ``file``: tables, with columns of their own if need be."""

    source: str = ""
    target: str = ""

    def check_names(self) -> None:
        if self.file and (self.source or self.target):
            raise ValueError(
                "name either a file with both sides, or source and target as two files; the columns of a file are "
                "named with source_column and target_column"
            )
        if not self.file and not (self.source and self.target):
            raise ValueError("name a file with both sides, or both source and target as two files")
        if not self.file and {"source_column", "target_column"} & self.model_fields_set:
            raise ValueError("source_column and target_column have no effect on parallel files; leave them out")

    def names(self) -> dict[str, str]:
        return {"file": self.file} if self.file else {"source": self.source, "target": self.target}


class PairFiles(PairColumns, ExampleFiles[PairEntry, Pair]):
    """Pairs from files: ``{source = "train.en", target = "train.de"}``, .tsv, .csv or .jsonl, plain or compressed."""

    suffixes: ClassVar[tuple[str, ...]] = TABLE_SUFFIXES
    example: ClassVar[str] = "path/to/pairs.tsv"

    kind: str = "pairs"

    @model_validator(mode="after")
    def _columns_go_together(self) -> Self:
        tables = [entry for entries in self.named().values() for entry in entries if entry.file]
        columns = {"": self.problem(), **{f"{one.file}: ": chosen(PairColumns, self, one).problem() for one in tables}}
        for where, problem in columns.items():
            if problem:
                raise ValueError(f"{where}{problem}")
        return self

    def unused(self) -> dict[str, str]:
        unused = super().unused()
        named = [entry for entries in self.named().values() for entry in entries]
        if named and not any(entry.file for entry in named):
            reason = "all pairs are in parallel files, which have no columns"
            unused |= dict.fromkeys(("source_column", "target_column"), reason)
        return unused

    def files_of(self, entry: PairEntry, key: str) -> Iterator[Found[PairEntry]]:
        if entry.file:
            for found in super().files_of(entry, key):
                check_table(found.paths[0], key)
                yield found
        else:
            paths = [find_file(self.path(name)) for name in (entry.source, entry.target)]
            if any(is_pattern(Path(path.name)) and not path.is_file() for path in paths):
                raise DataError(
                    f"{key}: source and target name one file each, so {paths[0]} and {paths[1]} cannot be patterns; "
                    "list the files one by one, each source with its target"
                )
            yield Found(entry, (paths[0], paths[1]))

    def read(self, found: Found[PairEntry], split: str, ledger: Ledger) -> list[Pair]:
        if len(found.paths) == 2:
            return read_parallel(*found.paths, split, ledger)
        return read_pairs(found.paths[0], split, ledger, chosen(PairColumns, self, found.entry))


def read_pairs(path: Path, split: str, ledger: Ledger, columns: PairColumns = USUAL) -> list[Pair]:
    """The pairs of a table. In .tsv quotation marks mean nothing special; a line without text is counted as skipped."""
    of_file = columns.of(path)
    layout = Layout(
        quotes=suffix(path) != ".tsv", blank_lines=True, only_text=True, width=2 if columns == USUAL else 0
    )
    rows = ((line, *cells) for line, cells in read_table(path, of_file, layout))
    return keep_pairs(rows, str(path), split, ledger)


def check_table(path: Path, key: str) -> None:
    if suffix(path) not in TABLE_SUFFIXES:
        raise DataError(
            f"{key} names {path}: a file of both sides must end in {', '.join(TABLE_SUFFIXES)} "
            f"({', '.join(COMPRESSIONS)} may follow); two parallel files are named as "
            f'{{source = "train.en", target = "train.de"}}'
        )
