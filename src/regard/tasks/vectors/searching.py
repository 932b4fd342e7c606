"""Semantic search: the vectors of the lines of a file, and those nearest to a query."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from regard.core.errors import DataError
from regard.core.files import read_json, write_atomically, write_json
from regard.core.seams.task import Progress
from regard.data.readers import read_lines
from regard.tasks.vectors.sentence_vectors import Vectors

Embed = Callable[[Sequence[str], Progress | None], Vectors]
"""Texts become vectors of length 1."""


class Hit(NamedTuple):
    """A line that was found: rank from 1, cosine, line number from 1, and the line itself."""

    rank: int
    score: float
    line: int
    text: str


@dataclass(frozen=True)
class Index:
    """The lines of a file that hold something, and their vectors in a file beside it, mapped into memory."""

    texts: tuple[str, ...]
    lines: tuple[int, ...]
    vectors_ND: np.ndarray
    cut: int  # lines that were longer than the model's window; only their beginnings have vectors
    made_now: bool

    @classmethod
    def of(cls, file: Path, embed: Embed, model: str, progress: Progress | None = None) -> Index:
        """Made on first use. It is kept beside the file under ``model``, which names whoever embeds and how, and made
        anew when the lines are not those that it was made from."""
        everything = read_lines(file)
        lines = tuple(number for number, text in enumerate(everything, start=1) if text.strip())
        texts = tuple(everything[number - 1] for number in lines)
        if not texts:
            raise DataError(f"{file} has no line with a text on it; there is nothing to search in")
        vectors, facts = places_beside(file, model)
        key = {"texts": digest(texts), "model": model, "lines": len(texts)}
        held = kept(vectors, facts, key)
        if held is not None:
            return cls(texts, lines, np.load(vectors, mmap_mode="r"), held["cut"], made_now=False)
        made = embed(texts, progress)
        facts.unlink(missing_ok=True)  # whatever happens from here on, no facts tell of other vectors
        write_atomically(vectors, lambda part: save(part, made.vectors_ND))
        write_json(facts, {**key, "cut": made.cut})
        return cls(texts, lines, np.load(vectors, mmap_mode="r"), made.cut, made_now=True)

    def search(self, query_D: np.ndarray, k: int = 10) -> list[Hit]:
        """The k nearest lines, best first; equally near ones in the order of the file."""
        scores_N = self.vectors_ND @ query_D
        k = min(k, len(scores_N))
        least = np.partition(scores_N, -k)[-k]
        near_N = np.flatnonzero(scores_N >= least)
        best = near_N[np.argsort(-scores_N[near_N], kind="stable")][:k]
        return [Hit(rank, float(scores_N[at]), self.lines[at], self.texts[at]) for rank, at in enumerate(best, start=1)]


def places_beside(file: Path, model: str) -> tuple[Path, Path]:
    """The vectors and what is known about them."""
    stem = f"{file.name}.{hashlib.sha256(model.encode()).hexdigest()[:12]}"
    return file.with_name(f"{stem}.npy"), file.with_name(f"{stem}.json")


def kept(vectors: Path, facts: Path, key: dict[str, Any]) -> dict[str, Any] | None:
    """What is known about vectors that are still those of the texts."""
    if not (vectors.is_file() and facts.is_file()):
        return None
    held = read_json(facts)
    return held if all(held.get(name) == value for name, value in key.items()) else None


def digest(texts: Sequence[str]) -> str:
    """Of all texts; each ends with what no line holds, so that it matters where one ends."""
    found = hashlib.sha256()
    for text in texts:
        found.update(text.encode("utf-8") + b"\n")
    return found.hexdigest()


def save(path: Path, vectors_ND: np.ndarray) -> None:
    with path.open("wb") as handle:
        np.save(handle, vectors_ND)
