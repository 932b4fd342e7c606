"""Tests whether the difference between two runs on the same inputs is more than chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from regard.core.errors import OptionError
from regard.core.seams.capabilities import Compares
from regard.data.ledger import Ledger
from regard.data.readers import read_parallel
from regard.decoding.options import Strategy
from regard.runs.evaluate import scored_splits
from regard.runs.integrity import scored_corpus
from regard.runs.load import Run
from regard.runs.train import load_corpus
from regard.runs.user_files import GIVEN, user_corpus


def significance(
    run: Run,
    other: Run,
    source: str | Path = "",
    reference: str | Path = "",
    options: Strategy | None = None,
    data: Sequence[str | Path] = (),
    settings: Sequence[str] = (),
) -> dict[str, Any]:
    """Paired bootstrap resampling between two runs, each with its own (or the given) decoding.

    The first run's task says what is compared. The difference is the first run's score less the other's.
    """
    check_comparable(run, other)
    if source:
        pairs: list[Any] = list(read_parallel(Path(source), Path(reference), GIVEN, Ledger()))
    elif data:
        pairs = list(user_corpus(run.recipe, data, settings).splits[GIVEN])
    else:
        splits = scored_corpus(run.folder, load_corpus(run.recipe)).splits
        pairs = list(splits[scored_splits(splits)[0]])
    sources = [pair.source for pair in pairs]
    answers = other.predict(sources, options), run.predict(sources, options)
    assert isinstance(run.task, Compares)
    found = run.task.compare(pairs, *answers)
    names = str(other.folder.path), str(run.folder.path)
    return {**asdict(found), "run": names[0], "sentence": found.outcome(*names)}


def check_comparable(run: Run, other: Run) -> None:
    kinds = run.recipe.task.kind, other.recipe.task.kind
    if kinds[0] != kinds[1]:
        raise OptionError(f"one run is for {kinds[0]}, the other for {kinds[1]}; compare runs of one task")
    if not isinstance(run.task, Compares):
        raise OptionError(
            f"runs for {kinds[0]} have no paired test; evaluate each of them, and compare their scores and intervals"
        )
