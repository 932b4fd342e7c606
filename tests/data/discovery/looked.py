"""Files are written, looked at, and read by the recipe's table that comes of it: what was said must be what is read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from regard.core.config import parse
from regard.core.errors import DataError
from regard.data import DATA
from regard.data.corpus import Corpus
from regard.data.discovery.found import Discovery, Hints
from regard.data.discovery.looking import discover
from regard.data.ledger import Ledger
from regard.data.modalities.series.series import SeriesSplit
from regard.data.texts import Text


def write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def look(folder: Path, *names: str, **hints: str) -> Discovery:
    """What is found in files of a folder; it must be read as it was told."""
    found = discover([folder / name for name in names or ("",)], Hints(**hints))
    corpus = load(found)
    corpus.ledger.check()
    if isinstance(corpus.splits["train"][0], SeriesSplit):  # rows are counted, and a series is one part of a split
        assert corpus.ledger.splits == found.examples
    elif not isinstance(corpus.splits["train"][0], Text):
        assert {split: len(own) for split, own in corpus.splits.items()} == found.examples
        assert corpus.ledger.total("skipped") == found.skipped
        assert corpus.ledger.total("duplicated") == found.duplicates
    assert set(corpus.splits) == {split for split, count in found.examples.items() if count}
    return found


def load(found: Discovery) -> Corpus[Any]:
    part = parse(DATA.resolve(found.data["kind"]), dict(found.data))
    return part.load(1, Ledger())  # type: ignore[attr-defined]


def refusal(folder: Path, *names: str, **hints: str) -> str:
    with pytest.raises(DataError) as caught:
        discover([folder / name for name in names or ("",)], Hints(**hints))
    return str(caught.value)


def told(found: Discovery) -> str:
    """Everything that is said, a sentence a line."""
    return "\n".join((*found.observations, *found.reasons, *found.warnings))


def row(**cells: Any) -> str:
    return json.dumps(cells, ensure_ascii=False) + "\n"


WORDS = (
    "amber", "birch", "cedar", "dune", "elm", "fern", "grove", "heath", "iris", "jade", "kelp", "larch", "moss",
    "nettle", "oak", "pine", "quartz", "reed", "sedge", "thyme", "umber", "vine", "willow", "yew",
)  # fmt: skip


def sentence(number: int) -> str:
    """Another one for every number."""
    return " ".join(WORDS[(number // 24**place + place * number) % 24] for place in range(3)) + f" runs {number} steps"


def table(rows: int, *, header: str = "text,label", labels: tuple[str, ...] = ("ham", "spam")) -> str:
    lines = [f"{sentence(number)},{labels[number % len(labels)]}" for number in range(rows)]
    return "\n".join([*([header] if header else []), *lines, ""])
