"""Questions about texts, with answers that stand in them: SQuAD's files, tables of your own, the small world."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from regard.core.config import Config
from regard.core.errors import DataError
from regard.core.files import parse_json
from regard.data.corpus import Corpus
from regard.data.examples import QuestionExample, Reference
from regard.data.ledger import Ledger
from regard.data.readers import read_lines
from regard.data.sources.entries import ExampleEntry, chosen
from regard.data.sources.example_files import ExampleFiles
from regard.data.sources.files import Found
from regard.data.sources.world import WORLD, WorldData
from regard.data.tables import TABLE_SUFFIXES, as_text, column_names, read_table, suffix

ANYWHERE = -1
"""The place of an answer that nobody has named."""
NOWHERE = "an answer is not in its context"


class QuestionColumns(Config):
    """Which columns of a table hold what. ``start`` may be absent: then an answer is looked for."""

    question: str = Field(default="question", min_length=1)
    context: str = Field(default="context", min_length=1)
    answer: str = Field(default="answer", min_length=1)
    start: str = "answer_start"


class QuestionEntry(QuestionColumns, ExampleEntry):
    """Files of questions, with columns of their own if need be."""


class QuestionFiles(QuestionColumns, ExampleFiles[QuestionEntry, QuestionExample]):
    """SQuAD's JSON (1.1 or 2.0), or .csv, .tsv, .jsonl with a question, a context and an answer in each row.

    ``start`` names the column of an answer's place; where there is none, the answer is looked for. An empty answer says
    that the context has none. In .jsonl there may be several: a list, or a table of ``text`` and ``answer_start``.
    """

    suffixes: ClassVar[tuple[str, ...]] = TABLE_SUFFIXES
    example: ClassVar[str] = "path/to/questions.json"

    kind: str = "questions"

    def read(self, found: Found[QuestionEntry], split: str, ledger: Ledger) -> list[QuestionExample]:
        path = found.paths[0]
        held = squad(path)
        columns = chosen(QuestionColumns, self, found.entry)
        rows = list(table_rows(path, columns) if held is None else squad_rows(held, path))
        kept = [placed for row in rows if (placed := corrected(row, split, ledger)) is not None]
        ledger.record(split, str(path), read=len(rows), kept=len(kept))
        return kept


def table_rows(path: Path, columns: QuestionColumns) -> Iterator[QuestionExample]:
    """The records of a table as they are there."""
    names = [columns.question, columns.context, columns.answer]
    is_named = columns.start != QuestionColumns().start  # the usual one may be absent, one that was named may not
    if columns.start and (is_named or columns.start in column_names(path)):
        names.append(columns.start)
    for line, (question, context, answer, *start) in read_table(path, names):
        answers = references(answer, start[0] if start else None)
        yield QuestionExample(as_text(question), whole_text(context), answers, line, str(path))


def references(answer: Any, start: Any) -> tuple[Reference, ...]:
    """The answers in a cell, or in a list of them, with their places; empty ones are none."""
    if isinstance(answer, Mapping):
        answer, start = answer.get("text", []), answer.get("answer_start")
    texts = answer if isinstance(answer, list) else [answer]
    starts = start if isinstance(start, list) else [start]
    places = [place_of(one) for one in starts] + [ANYWHERE] * (len(texts) - len(starts))
    return tuple(Reference(whole_text(text), place) for text, place in zip(texts, places) if whole_text(text).strip())


def place_of(cell: Any) -> int:
    """A number, however it is written; anything else names no place."""
    written = as_text(cell)
    return int(written) if written.isdecimal() else ANYWHERE


def whole_text(cell: Any) -> str:
    """A cell as text with the spaces around it, since places are counted from its first sign."""
    return cell.encode("utf-8", "replace").decode("utf-8") if isinstance(cell, str) else as_text(cell)


# -- SQuAD ------------------------------------------------------------------------------------------------------


def squad(path: Path) -> dict[str, Any] | None:
    """The whole of a file that is one JSON object with ``data`` in it, as SQuAD is; None: it is something else."""
    if suffix(path) != ".json":
        return None
    try:
        held = parse_json("\n".join(read_lines(path)))
    except json.JSONDecodeError:
        return None  # perhaps one object a line, and if not, that reader says so
    return held if isinstance(held, dict) and "data" in held else None


def squad_rows(held: Mapping[str, Any], path: Path) -> Iterator[QuestionExample]:
    """Every question with its paragraph; as it has no line of its own, it is numbered."""
    number = 0
    try:
        for article in held["data"]:
            for paragraph in article["paragraphs"]:
                for one in paragraph["qas"]:
                    number += 1
                    given = [] if one.get("is_impossible") else one.get("answers", [])
                    answers = tuple(Reference(answer["text"], int(answer["answer_start"])) for answer in given)
                    yield QuestionExample(one["question"].strip(), paragraph["context"], answers, number, str(path))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise DataError(
            f"{path}: near question {number} it is not as SQuAD's files are ({type(error).__name__}: {error}); there "
            'must be data → paragraphs → "context" and "qas" → "question" and "answers" → "text" and "answer_start"'
        ) from error


# -- answers and their places -----------------------------------------------------------------------------------


def corrected(one: QuestionExample, split: str, ledger: Ledger) -> QuestionExample | None:
    """With every answer where it stands in the context; what had to be moved, left out or skipped is listed."""
    if not one.question or not one.context.strip():
        ledger.skip(split, one.origin, one.line, "no question" if one.context.strip() else "no context")
        return None
    kept = []
    for answer in one.answers:
        placed, reason = place(one.context, answer)
        if placed is not None:
            kept.append(placed)
            if reason:
                detail = f"{placed.text!r}: {answer.start} → {placed.start}" if answer.start >= 0 else repr(placed.text)
                ledger.correct(split, one.origin, one.line, reason, detail)
        elif len(one.answers) > 1:
            ledger.correct(split, one.origin, one.line, f"{NOWHERE} and was left out", repr(answer.text))
    if one.answers and not kept:
        ledger.skip(split, one.origin, one.line, NOWHERE, " | ".join(repr(answer.text) for answer in one.answers))
        return None
    return QuestionExample(one.question, one.context, tuple(kept), one.line, one.origin)


def place(context: str, answer: Reference) -> tuple[Reference | None, str]:
    """The answer without spaces around it where it stands in the context, and what had to be decided for it."""
    text = answer.text.strip()
    start = answer.start + answer.text.index(text) if answer.start >= 0 else ANYWHERE
    if not text:
        return None, ""
    if start >= 0 and context.startswith(text, start):
        return Reference(text, start), ""
    found = occurrences(context, text)
    if not found:
        return None, ""
    if start >= 0:
        nearest = min(found, key=lambda other: abs(other - start))
        return Reference(text, nearest), "an answer is not at the given position and was moved to where it is"
    several = "an answer without a position is in its context more than once; the first is used"
    return Reference(text, found[0]), several if len(found) > 1 else ""


def occurrences(context: str, text: str) -> list[int]:
    found, start = [], context.find(text)
    while start >= 0:
        found.append(start)
        start = context.find(text, start + 1)
    return found


# -- the small world --------------------------------------------------------------------------------------------


class WorldQuestions(WorldData):
    """English sentences of the small world and everything that can be asked about them."""

    files_kind: ClassVar[str] = "questions"

    kind: str = "world-questions"

    def load(self, seed: int, ledger: Ledger) -> Corpus[QuestionExample]:
        return self.gather(about, seed, ledger)


def about(pair: Any, line: int) -> list[QuestionExample]:
    """The questions of one sentence; the place of a word in it becomes that of a character."""
    answers = [Reference(one.answer, place_of_word(pair.source_words, one.start)) for one in pair.questions]
    return [
        QuestionExample(one.text, pair.source, (answer,), line, WORLD)
        for one, answer in zip(pair.questions, answers, strict=True)
    ]


def place_of_word(words: Sequence[str], number: int) -> int:
    return sum(len(word) + 1 for word in words[:number])
