"""Pairs of texts from files: two parallel files, or tables with a column for the source and one for the target."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Self

from pydantic import model_validator

from regard.core.errors import DataError
from regard.data.corpus import Pair
from regard.data.ledger import Ledger
from regard.data.readers import COMPRESSIONS, find_file, keep_pairs, read_parallel
from regard.data.sources.columns import AUTO, FORMAT_KEYS, TableFormat, check_named, columns_problem
from regard.data.sources.entries import ExampleEntry, chosen, is_pattern
from regard.data.sources.example_files import ExampleFiles
from regard.data.sources.files import Found
from regard.data.tables import JSON_SUFFIXES, TABLE_SUFFIXES, Layout, column_names, read_table, suffix

NAMES = ("source", "target")
COLUMN_KEYS = ("source_column", "target_column")


class PairColumns(TableFormat):
    """Which columns of a table are source and target: by name, which the first line gives; or by number, counted from
    1, in a table whose first line is a pair already.

    ``auto``: the names "source" and "target" where the table has them, else columns 1 and 2 of exactly two.
    """

    source_column: int | str = AUTO
    target_column: int | str = AUTO

    def problem(self) -> str:
        """Why the two do not go together; nothing where they do."""
        return columns_problem(self.both())

    def both(self) -> dict[str, int | str]:
        return dict(zip(COLUMN_KEYS, (self.source_column, self.target_column)))

    def of(self, path: Path, separator: str = "") -> tuple[int | str, ...]:
        """The columns of this table."""
        both = self.both()
        check_named(path, both)
        unnamed = suffix(path) not in JSON_SUFFIXES and set(both.values()) == {AUTO}
        if unnamed and not set(NAMES) <= set(column_names(path, separator)):
            return 1, 2
        return tuple(name if one == AUTO else one for one, name in zip(both.values(), NAMES))


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
        unused = [key for key in (*COLUMN_KEYS, *FORMAT_KEYS) if key in self.model_fields_set and not self.file]
        if unused:
            raise ValueError(f"{' and '.join(unused)} have no effect on parallel files; leave them out")

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
            unused |= dict.fromkeys((*COLUMN_KEYS, *FORMAT_KEYS), reason)
        return unused

    def files_of(self, entry: PairEntry, key: str) -> Iterator[Found[PairEntry]]:
        if entry.file:
            for found in super().files_of(entry, key):
                check_table(found.paths[0], key, chosen(PairColumns, self, entry))
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
    usual = Layout(quotes=suffix(path) != ".tsv", blank_lines=True, only_text=True)
    layout = columns.layout(path, usual)
    of_file = columns.of(path, layout.separator)
    layout = layout._replace(width=2 if set(columns.both().values()) == {AUTO} else 0)
    rows = ((line, *cells) for line, cells in read_table(path, of_file, layout))
    return keep_pairs(rows, str(path), split, ledger)


def check_table(path: Path, key: str, written: TableFormat) -> None:
    if suffix(path) not in TABLE_SUFFIXES and written.separator == AUTO:
        raise DataError(
            f"{key} names {path}: a file of both sides must end in {', '.join(TABLE_SUFFIXES)} "
            f"({', '.join(COMPRESSIONS)} may follow), or data.separator must name what separates its cells; two "
            "parallel files are named as "
            f'{{source = "train.en", target = "train.de"}}'
        )
