"""Sentences whose every word has a tag: CoNLL columns, lists in tables, and the parts of speech of the small world."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pydantic import Field

from regard.core.config import Config
from regard.core.errors import DataError
from regard.data.corpus import Corpus
from regard.data.examples import Tagged, unfit
from regard.data.ledger import Ledger
from regard.data.readers import read_lines, summarise
from regard.data.sources.entries import ExampleEntry, chosen
from regard.data.sources.example_files import ExampleFiles
from regard.data.sources.files import Found
from regard.data.sources.world import WORLD, WorldData
from regard.data.tables import JSON_SUFFIXES, as_text, read_table, suffix

DOCUMENT = "-DOCSTART-"
COMMENT = "# "
TABLES = (".csv", *JSON_SUFFIXES)
LAST = 0


class TaggedColumns(Config):
    """Where words and tags are: in CoNLL columns by number, counted from 1, 0 for the last; in tables by name."""

    word: int = Field(default=1, ge=0)
    tag: int = Field(default=LAST, ge=0)
    words: str = Field(default="words", min_length=1)
    tags: str = Field(default="tags", min_length=1)


class TaggedEntry(TaggedColumns, ExampleEntry):
    """Files of tagged sentences, with columns of their own if need be."""

    def unused(self) -> dict[str, str]:
        return unused_columns([self.file])


class TaggedFiles(TaggedColumns, ExampleFiles[TaggedEntry, Tagged]):
    """Tagged sentences: .jsonl or .csv with all words and all tags of a sentence in a row, else CoNLL columns.

    Columns, one word a line and an empty line after a sentence, are counted from 1; 0 is the last one.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".conll", ".conllu", ".bio", ".iob", ".tsv", *TABLES)
    example: ClassVar[str] = "path/to/sentences.conll"

    kind: str = "tagged"

    def unused(self) -> dict[str, str]:
        return {**super().unused(), **unused_columns(self.names())}

    def read(self, found: Found[TaggedEntry], split: str, ledger: Ledger) -> list[Tagged]:
        columns, path = chosen(TaggedColumns, self, found.entry), found.paths[0]
        if suffix(path) in TABLES:
            return read_lists(path, split, ledger, columns.words, columns.tags)
        return read_columns(path, split, ledger, columns.word, columns.tag)


def unused_columns(names: Sequence[str]) -> dict[str, str]:
    """Columns that no file has, as far as names of files tell: tables have names, CoNLL columns have numbers."""
    endings = {suffix(Path(name)) for name in names}
    if not endings or "" in endings:
        return {}  # a folder, or a pattern for all files
    if endings <= set(TABLES):
        return dict.fromkeys(("word", "tag"), "tables name their columns with data.words and data.tags")
    if not endings & set(TABLES):
        return dict.fromkeys(("words", "tags"), "CoNLL columns are counted, with data.word and data.tag")
    return {}


class WorldTags(WorldData):
    """English sentences of the small world and the parts of speech of their words."""

    files_kind: ClassVar[str] = "tagged"

    kind: str = "world-tags"

    def load(self, seed: int, ledger: Ledger) -> Corpus[Tagged]:
        return self.gather(
            lambda pair, line: [Tagged(pair.source_words, pair.source_tags, line, WORLD)], seed, ledger
        )


# -- lists ----------------------------------------------------------------------------------------------------


def read_lists(path: Path, split: str, ledger: Ledger, words: str, tags: str) -> list[Tagged]:
    """A row holds two lists, or two texts that are split at spaces; rows without a word are skipped and listed."""
    rows = read_table(path, (words, tags))
    kept, wrong = [], []
    for line, cells in rows:
        one = Tagged(listed(cells[0]), listed(cells[1]), line, str(path))
        problem = unfit(one)
        if problem:
            wrong.append(f"line {line} has {problem}")
        elif one.words:
            kept.append(one)
        else:
            ledger.skip(split, str(path), line, f"no {words}")
    if wrong:
        raise DataError(
            f"{path}: every word needs a tag, but {summarise(wrong)}. Correct these lines, or name other keys with "
            "data.words and data.tags"
        )
    ledger.record(split, str(path), read=len(rows), kept=len(kept))
    return kept


def listed(cell: Any) -> tuple[str, ...]:
    """The items of a cell. A word that is nothing but space, as "\\u00a0" is, stays a word."""
    items = cell.split() if isinstance(cell, str) else cell if isinstance(cell, list) else [cell]
    return tuple(as_text(item) or (item if isinstance(item, str) else "") for item in items)


# -- columns --------------------------------------------------------------------------------------------------


class Cells(NamedTuple):
    """The columns of one line; none: a sentence ends here."""

    line: int
    cells: Sequence[str]


def read_columns(path: Path, split: str, ledger: Ledger, word: int = 1, tag: int = LAST) -> list[Tagged]:
    """Columns stand apart by tabs, or in a line without one by spaces. Comments are counted in the ledger's notes."""
    lines, comments = without_comments(path)
    check_columns(path, lines, word, tag)
    if comments:
        ledger.notes.append(f"{split}, {path}: lines that are comments or marks of documents: {comments:,}")
    found = []
    for rows in sentences(lines):
        words, tags = ([row.cells[column - 1] for row in rows] for column in (word, tag))
        found.append(Tagged(tuple(words), tuple(tags), rows[0].line, str(path)))
    ledger.record(split, str(path), read=len(found), kept=len(found))
    return found


def without_comments(path: Path) -> tuple[list[Cells], int]:
    """Lines with their cells, and how many were none: marks of documents, and "# …" where no sentence has begun."""
    found, comments, inside = [], 0, False
    joined = re.compile(r"\d+[-.]\d+\t") if suffix(path) == ".conllu" else None  # words of other lines, or of none
    for number, line in enumerate(read_lines(path), start=1):
        mark = line.startswith(DOCUMENT)
        if mark or (line.startswith(COMMENT) and not inside) or (joined and joined.match(line)):
            comments += 1
            if not mark:
                continue
        cells = line.split("\t") if "\t" in line else re.split(" +", line.strip(" "))
        inside = any(cells) and not mark
        found.append(Cells(number, cells if inside else ()))
    return found, comments


def check_columns(path: Path, lines: Sequence[Cells], word: int, tag: int) -> None:
    """Rows that lack the word or the tag are named together. The last column must be the same in all of them."""
    counts = Counter(len(row.cells) for row in lines if row.cells)
    usual = counts.most_common(1)[0][0] if counts else 0
    if counts and (word or usual) == (tag or usual):
        raise DataError(
            f"{path}: word and tag are both in column {word or usual}, and its lines have {usual}; name the columns "
            "with data.word and data.tag, which count from 1 (0: the last)"
        )
    wrong = []
    for row in lines:
        size = len(row.cells)
        short = size < max(word, tag) or (LAST in (word, tag) and size != usual)
        if size and short:
            wrong.append(f"line {row.line} has {size}")
        elif size:
            empty = [name for name, column in (("word", word), ("tag", tag)) if not row.cells[column - 1]]
            wrong += [f"line {row.line} has an empty {' and an empty '.join(empty)}"] if empty else []
    if wrong:
        needed = f"{usual} columns as in most lines" if LAST in (word, tag) else f"at least {max(word, tag)} columns"
        raise DataError(
            f"{path}: every line needs {needed}, a word and its tag among them, but {summarise(wrong)}. Correct these "
            "lines, or name the columns with data.word and data.tag"
        )


def sentences(lines: Sequence[Cells]) -> Iterator[list[Cells]]:
    rows: list[Cells] = []
    for row in (*lines, Cells(0, ())):
        if row.cells:
            rows.append(row)
        elif rows:
            yield rows
            rows = []
