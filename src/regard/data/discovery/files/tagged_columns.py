"""Tagged words in columns: a word and its tag in every line, and an empty line after each sentence."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

from regard.core.errors import DataError
from regard.data.discovery.discoverer import Discoverer
from regard.data.discovery.encodings import check_text
from regard.data.discovery.found import Discovery, Hints, numbered
from regard.data.discovery.given import GivenFiles, SplitFiles, ending
from regard.data.discovery.tables.opening import MOSTLY
from regard.data.discovery.tally import Findings, Seen, Tally
from regard.data.ledger import Ledger
from regard.data.readers import stream_lines
from regard.data.sources.tagged import COMMENT, DOCUMENT, LAST, read_columns

ENDINGS = (".conll", ".conllu", ".bio", ".iob", ".iob2", ".conll2003")
POSSIBLE = (*ENDINGS, ".txt", ".tsv", "")
HEAD = 3000  # lines
MOST_TAGS = 0.2  # different ones, of all words
FEW_TAGS = 10  # are few in any case
UNIVERSAL = (2, 4)
"""The columns of words and universal parts of speech in CoNLL-U."""


class TaggedColumns(Discoverer):
    """CoNLL's columns."""

    what = "sentences in columns, a word and its tag in each line"
    tasks: tuple[str, ...] = ("tagging",)

    def recognises(self, given: GivenFiles, hints: Hints) -> bool:
        named = [path for path in given.files if ending(path) in ENDINGS]
        return bool(named) or (bool(given.files) and all(looks_tagged(path) for path in given.files[:10]))

    def discover(self, given: GivenFiles, hints: Hints) -> Discovery:
        paths = [path for path in given.files if ending(path) in ENDINGS] or list(given.files)
        files = SplitFiles.of(given, paths)
        word, tag, why = columns_of(files.train[0])
        tallies: dict[str, Tally] = {split: Tally() for split in files.by_name()}
        observations = []
        for split, own in files.by_name().items():
            for path in own:
                check_text(path)
                found = read_columns(path, split, Ledger(), word, tag)
                for one in found:
                    tallies[split].add(Seen(one.source, one.target, one.tags))
                words = sum(len(one.words) for one in found)
                observations.append(f"{path.name}: {numbered(len(found), 'sentence')}, {numbered(words, 'word')}")
        entries = {split: [str(path) for path in own] for split, own in files.by_name().items()}
        columns = {"word": word} if word != 1 else {}
        columns |= {"tag": tag} if tag else {}
        data: dict[str, Any] = {"kind": "tagged", **columns}
        findings = Findings(
            "tagging", data, files, entries, tallies, files.train[0].name, "", "sentence",
            observations=[*observations, *given.ignored_files()], reasons=[why],
        )  # fmt: skip
        return findings.discovery()


def head_of(path: Path) -> list[list[str]]:
    """The first sentences as cells, [] where one ends; comments are left out."""
    rows = []
    for line in islice(stream_lines(path), HEAD):
        if not line.startswith((COMMENT, DOCUMENT)):
            rows.append(line.split("\t") if "\t" in line else re.split(" +", line.strip(" ")) if line.strip() else [])
    return rows


def looks_tagged(path: Path) -> bool:
    """By the beginning: lines of one number of columns, two or more, empty ones among them, and few different tags."""
    if ending(path) not in POSSIBLE:
        return False
    try:
        rows = head_of(path)
    except DataError:
        return False
    filled = [row for row in rows if row]
    widths = Counter(map(len, filled)).most_common(1)
    if not widths or widths[0][0] < 2 or widths[0][1] < MOSTLY * len(filled):
        return False
    breaks = sum(not row for row in rows[:-1])
    phrases = sum(" " in row[0] or " " in row[-1] for row in filled)
    tags = len({row[-1] for row in filled})
    few = max(MOST_TAGS * len(filled), min(FEW_TAGS, len(filled) / 2))
    return 0 < breaks < len(filled) and 1 < tags <= few and phrases <= (1 - MOSTLY) * len(filled)


def columns_of(path: Path) -> tuple[int, int, str]:
    """The columns of words and tags, counted from 1 (0: the last), and why."""
    rows = [row for row in head_of(path) if row]
    if not rows:
        raise DataError(f"{path} has no words; name a file with a word and its tag in each line")
    if ending(path) == ".conllu":
        return *UNIVERSAL, f"{path.name} ends as CoNLL-U does: words in column 2, universal parts of speech in column 4"
    width = Counter(map(len, rows)).most_common(1)[0][0]
    counted = width > 2 and sum(row[0].isdecimal() for row in rows) >= MOSTLY * len(rows)
    word = 2 if counted else 1
    others = f"; the recipe's data.tag names another of its {width} columns" if width - word > 1 else ""
    return word, LAST, f"{path.name} has a word (column {word}) and its tag (the last column) in each line{others}"
