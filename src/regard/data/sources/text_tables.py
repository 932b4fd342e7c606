"""Texts from tables of your own, one in each row: what a language model learns from, apart from running text."""

from __future__ import annotations

from typing import ClassVar

from regard.data.examples import Unlabelled
from regard.data.ledger import Ledger
from regard.data.sources.columns import TableFormat, check_named
from regard.data.sources.entries import ExampleEntry, chosen
from regard.data.sources.example_files import ExampleFiles
from regard.data.sources.files import Found
from regard.data.tables import TABLE_SUFFIXES, Layout, as_text, read_table


class TextColumn(TableFormat):
    """Which column of a table holds the texts: by name, or by number in a table without a line of names."""

    text: int | str = "text"


class TextTableEntry(TextColumn, ExampleEntry):
    """Tables of texts, with a column of their own if need be."""


class TextTables(TextColumn, ExampleFiles[TextTableEntry, Unlabelled]):
    """Texts from .csv, .tsv or .jsonl, each a document of its own; rows without a text are skipped and listed."""

    suffixes: ClassVar[tuple[str, ...]] = TABLE_SUFFIXES
    example: ClassVar[str] = "path/to/table.csv"

    kind: str = "text-table"

    def read(self, found: Found[TextTableEntry], split: str, ledger: Ledger) -> list[Unlabelled]:
        columns, path = chosen(TextColumn, self, found.entry), found.paths[0]
        check_named(path, {"text": columns.text})
        rows = read_table(path, [columns.text], columns.layout(path, Layout()))
        kept = []
        for line, cells in rows:
            text = as_text(cells[0])
            if text:
                kept.append(Unlabelled(text, line, str(path)))
            else:
                ledger.skip(split, str(path), line, f"no {columns.text}")
        ledger.record(split, str(path), read=len(rows), kept=len(kept))
        return kept
