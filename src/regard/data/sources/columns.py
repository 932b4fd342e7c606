"""Which columns of a table hold what, by name or by number, and how its cells are told apart."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from pydantic import field_validator

from regard.core.config import Config
from regard.core.errors import DataError
from regard.data.tables import JSON_SUFFIXES, Layout, suffix

AUTO: Final = "auto"
FORMAT_KEYS = ("separator", "quotes", "rows")


class TableFormat(Config):
    """How a table's cells are told apart, where the ending of its name does not say so; and which rows are read."""

    separator: str = AUTO  # one character between cells; auto: a comma in .csv, a tab in .tsv
    quotes: Literal["auto", "enclose", "plain"] = AUTO  # whether quotation marks hold a cell together or are text
    rows: str = ""  # only those with a value in a column, as in "split=train"; "": all

    @field_validator("separator")
    @classmethod
    def _is_one_character(cls, separator: str) -> str:
        if separator != AUTO and (len(separator) != 1 or separator in '"\r\n'):
            raise ValueError(
                f"separator = {separator!r} is not one character; give one, as in \";\" or \"\\t\""
            )
        return separator

    @field_validator("rows")
    @classmethod
    def _names_a_column(cls, rows: str) -> str:
        if rows and not all(rows.partition("=")):
            raise ValueError(f'rows = {rows!r} is no choice; name a column and a value in it, as in "split=train"')
        return rows

    def layout(self, path: Path, usual: Layout) -> Layout:
        """How this table is written, ``usual`` being so where nothing else is said."""
        if suffix(path) in JSON_SUFFIXES and (self.separator, self.quotes) != (AUTO, AUTO):
            raise DataError(
                f"{path}: its lines are JSON objects, so data.separator and data.quotes have no effect; leave them out"
            )
        separator = usual.separator if self.separator == AUTO else self.separator
        column, _, value = self.rows.partition("=")
        return usual._replace(
            separator=separator, quotes=usual.quotes if self.quotes == AUTO else self.quotes == "enclose",
            only=(column, value) if self.rows else None,
        )


def columns_problem(columns: Mapping[str, int | str]) -> str:
    """Why columns, given by key, do not go together; nothing where they do."""
    told = " and ".join(f"{key} = {column!r}" for key, column in columns.items())
    keys = " and ".join(columns)
    numbers = [column for column in columns.values() if isinstance(column, int)]
    if numbers and len(numbers) < len(columns):
        return f"{told}: give names, or numbers for a table without a line of names"
    if numbers and min(numbers) < 1:
        return f"{keys} are counted from 1"
    if "" in columns.values():
        return f"{keys} must not be empty"
    chosen = [column for column in columns.values() if column != AUTO]
    double = next((column for column in chosen if chosen.count(column) > 1), "")
    same = " and ".join(key for key, column in columns.items() if column == double)
    return f"{same} are the same, {double!r}; they must differ" if double else ""


def check_named(path: Path, columns: Mapping[str, int | str]) -> None:
    """Lines of JSON have keys and no order."""
    if suffix(path) in JSON_SUFFIXES and any(isinstance(column, int) for column in columns.values()):
        raise DataError(
            f"{path}: its lines are JSON objects, which have keys and no order; name the keys with "
            f"{' and '.join(columns)}"
        )
