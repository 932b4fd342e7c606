"""Tables: rows whose columns are texts, labels, words and tags, questions, or paths of pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from regard.core.errors import DataError
from regard.data.discovery.discoverer import Discoverer
from regard.data.discovery.files import picture_facts, sound_facts
from regard.data.discovery.found import Discovery, Hints, numbered
from regard.data.discovery.given import GivenFiles, SplitFiles, ending, listed
from regard.data.discovery.tables.choosing import TABLE_TASKS, Chooser
from regard.data.discovery.tables.columns import PICTURE_ENDINGS, columns_of, mostly
from regard.data.discovery.tables.opening import Dialect, Table, cell_text, is_table, read_table_of
from regard.data.discovery.tables.rows import reader_of
from regard.data.discovery.tables.split_columns import ANY_FORM, division
from regard.data.discovery.tables.structured import REGRESSION, Choice
from regard.data.discovery.tally import Findings, Measure, Tally, given_text
from regard.data.readers import summarise
from regard.data.tables import JSON_SUFFIXES, SEPARATORS

SEPARATOR_NAMES = {"\t": "tabs", ",": "commas", ";": "semicolons"}
PATHS: Mapping[str, tuple[Callable[..., list[str]], Measure]] = {
    "pictures": (picture_facts.go_by, picture_facts.measure_pictures),
    "sounds": (sound_facts.go_by, sound_facts.measure_sounds),
}
"""Kinds of data whose tables have paths: how their files are counted, and measured."""


class Tables(Discoverer):
    """A table, or one for each split."""

    what = "a table of rows and columns"
    tasks = TABLE_TASKS
    columns: tuple[str, ...] = tuple(one.name for one in fields(Hints) if one.name != "task")

    def recognises(self, given: GivenFiles, hints: Hints) -> bool:
        files = [path for path in given.files if ending(path) not in PICTURE_ENDINGS]
        tables = table_files(files)
        most = given.folder is not None and 2 * len(tables) >= len(files)
        return bool(tables) and (most or len(tables) == len(files))

    def discover(self, given: GivenFiles, hints: Hints) -> Discovery:
        tables = table_files(given.files)
        files = SplitFiles.of(given, tables)
        first = read_table_of(files.train[0], [*hints.columns().values()])
        if not first.rows:
            raise DataError(f"{first.path} has no rows; name a table with something to learn from")
        choice = Chooser(first.path.name, columns_of(first), hints, partial(alike, first)).choose()
        check_form(first, choice)
        read, files, warnings = others(first, choice, files)
        by_column = division(first, choice, files)
        tallies = {split: Tally() for split in [*read, *by_column.values]}
        for split, own in read.items():
            for table in own:
                tally_of = {value: tallies[role] for role, value in by_column.values.items()}
                warnings += go_by(table, choice, tallies[split], by_column.column, tally_of)
        aside = tuple(path for path in given.files if path not in set(tables) and ending(path) not in PICTURE_ENDINGS)
        keys = {key: first.key(name) for key, name in choice.columns.items()}
        data = {"kind": choice.kind, **keys, **form(first)}
        entries: dict[str, list[Any]] = {split: [str(table.path) for table in own] for split, own in read.items()}
        for role, value in by_column.values.items():
            entries[role] = [{"file": str(first.path), "rows": f"{by_column.column}={value}"}]
        given_name, answer_name = names_of(choice, first)
        measure = PATHS[choice.kind][1] if choice.kind in PATHS else given_text
        found = Findings(choice.task, data, files, entries, tallies, given_name, answer_name, "row", measure)
        found.observations += [f"{table.path.name}: {seen(table)}" for own in read.values() for table in own]
        found.observations += [*unused(first, [*choice.columns.values(), by_column.column]), *given.ignored_files()]
        found.observations += [f"ignored, since they are not tables: {listed(aside)}"] if aside else []
        found.reasons += [*choice.reasons, *reasons_of_form(first), *by_column.reasons]
        found.warnings += [*warnings, *by_column.warnings]
        return found.discovery()


def table_files(files: Sequence[Path]) -> list[Path]:
    """Those that are tables by their endings; where none is, those that look like tables inside."""
    by_name = [path for path in files if ending(path) in SEPARATORS or ending(path) in JSON_SUFFIXES]
    return by_name or [path for path in files if is_table(path)]


def others(first: Table, choice: Choice, files: SplitFiles) -> tuple[dict[str, list[Table]], SplitFiles, list[str]]:
    """The tables of all splits. One that was named must have the columns; one that was found beside it is left out."""
    read: dict[str, list[Table]] = {}
    dropped, warnings = [], []
    wanted = list(choice.columns.values())
    for split, paths in files.by_name().items():
        for path in paths:
            table = first if path == first.path else read_table_of(path, wanted)
            problem = differs(table, first, wanted)
            if problem and path in files.beside:
                dropped.append(path)
                warnings.append(f"{path.name} is beside {first.path.name}, but is not used: {problem}")
            elif problem:
                raise DataError(f"{path} does not go with {first.path}: {problem}. Name it alone, or make them alike")
            else:
                read.setdefault(split, []).append(table)
    return read, files.without(dropped) if dropped else files, warnings


def alike(table: Table, first: str, second: str) -> bool:
    """Whether nearly all rows have as many words in one column as in the other, and some more than one."""
    lengths = [[len(cell_text(cell).split()) for cell in table.cells(name)] for name in (first, second)]
    rows = [*zip(*lengths)]
    return mostly(rows, lambda row: row[0] == row[1]) and any(row[0] > 1 for row in rows)


def differs(table: Table, first: Table, wanted: Sequence[str]) -> str:
    """Why a table cannot be read as the first one is; nothing where it can."""
    missing = [name for name in wanted if name not in table.names]
    if missing:
        return f"it has no column {' and no column '.join(map(repr, missing))} (but {', '.join(table.names)})"
    if table.header != first.header:
        return "its first line names columns" if table.header else "its first line names no columns"
    if table.dialect.separator != first.dialect.separator:
        return f"its cells are separated by {table.dialect.separator!r}, the others by {first.dialect.separator!r}"
    both = {table.dialect.quotes, first.dialect.quotes}
    return "quotation marks enclose cells in only one of them" if both == {True, False} else ""


# -- how the table is written -----------------------------------------------------------------------------------


def form(table: Table) -> dict[str, Any]:
    """The keys of [data] that say what stands between cells, where the file's ending does not."""
    separator, quotes = table.dialect
    keys: dict[str, Any] = {}
    if separator and separator != SEPARATORS.get(ending(table.path)):
        keys["separator"] = separator
    if quotes is not None:
        keys["quotes"] = "enclose" if quotes else "plain"
    return keys


def check_form(table: Table, choice: Choice) -> None:
    """Kinds of data that read only tables of the usual form say so before training does."""
    if choice.kind in ANY_FORM:
        return
    usual = Dialect(SEPARATORS.get(ending(table.path), ""), table.dialect.quotes)
    problem = "" if table.header else "its first line names no columns"
    if ending(table.path) not in (".csv", *JSON_SUFFIXES) and choice.kind == "tagged":
        problem = "lists of words and tags are read from .csv and .jsonl"
    elif table.dialect != usual or table.dialect.quotes is False:
        problem = "it is not written as its ending says: commas in .csv, tabs in .tsv, and quotation marks around cells"
    if problem:
        raise DataError(
            f"{table.path} seems good for {choice.task}, but {problem}. Write it as CSV with a line of names, or as "
            "JSON lines"
        )


def reasons_of_form(table: Table) -> list[str]:
    if not table.dialect.separator:
        return []
    if table.header:
        reasons = [f"the first line names the columns ({table.header_reason})"]
    else:
        reasons = [f"no line of names ({table.header_reason}); columns have numbers: {', '.join(table.names)}"]
    if "separator" in form(table):
        separator = table.dialect.separator
        reasons.append(f"{SEPARATOR_NAMES.get(separator, separator)} between cells")
    if table.dialect.quotes is False:
        reasons.append("quotation marks are ordinary characters and do not enclose cells")
    return reasons


def seen(table: Table) -> str:
    names = ", ".join(table.names)
    columns = f"columns {names}" if table.header else numbered(len(table.names), "column")
    return f"{numbered(table.rows, 'row')}, {columns}"


def unused(table: Table, used: Sequence[str]) -> list[str]:
    names = [name for name in table.names if name not in used]
    return [f"not used: {', '.join(names)}"] if names else []


# -- rows -------------------------------------------------------------------------------------------------------


def names_of(choice: Choice, table: Table) -> tuple[str, str]:
    """What inputs are called, and answers where they are texts."""
    columns = {key: name if table.header else f"column {name}" for key, name in choice.columns.items()}
    if choice.kind == "pairs":
        return columns["source_column"], columns["target_column"]
    if choice.kind == "questions":
        return f"{columns['question']} and {columns['context']}", columns["answer"]
    if "second" in columns:
        return f"{columns['text']} and {columns['second']}", ""
    return next(iter(columns.values())), ""


def go_by(table: Table, choice: Choice, whole: Tally, column: str, tally_of: Mapping[str, Tally]) -> list[str]:
    """Counts all rows of a table; those that its reader would refuse are named together. What is to be warned of.

    Each is counted with those that have the same value in ``column``, where splits are told so.
    """
    wrong = []
    shown: list[tuple[str, Path]] = []
    names, read = list(choice.columns.values()), reader_of(choice)
    for line, all_cells in table.columns([*names, column] if tally_of else names):
        cells = all_cells[: len(names)]
        tally = tally_of[cell_text(all_cells[-1])] if tally_of else whole
        try:
            found = read(cells)
        except ValueError as error:
            wrong.append(f"line {line:,} has {error}")
            continue
        if found is None:
            empty = [name for name, cell in zip(names, cells) if not cell_text(cell)]
            tally.skipped[f"no {' and no '.join(empty)}"] += 1
        elif choice.kind in PATHS:
            shown.append((found.answer, table.path.parent / Path(found.given).expanduser()))
        else:
            tally.add(found)
    if wrong:
        raise DataError(f"{table.path}: {summarise(wrong)}. Correct these lines, or take them out")
    return PATHS[choice.kind][0](shown, whole, labelled=choice.task != REGRESSION) if shown else []
