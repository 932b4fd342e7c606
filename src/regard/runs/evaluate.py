"""A run is scored: on its own test split, or on files that the user names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from regard.core.capabilities import Continues, ScoresPairs
from regard.core.errors import DataError, OptionError
from regard.core.files import read_object, write_json
from regard.core.task import Progress
from regard.data.ledger import Ledger
from regard.data.readers import read_parallel
from regard.decoding.options import Strategy
from regard.runs.kept import held_out
from regard.runs.load import Run
from regard.runs.train import build_task, load_corpus


def evaluate(
    run: Run,
    *,
    source: str | Path = "",
    reference: str | Path = "",
    options: Strategy | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Scores by name; those of the run's own test split are also kept in ``scores.json``.

    Splits beside ``test`` (the small world's compositional one) come with their name before the score's. What another
    engine than the model itself has answered is scored, named, and not kept.
    """
    session = run.session(options, progress)
    if run.other is not None and isinstance(run.task, Continues):
        raise OptionError(
            f"{run.folder.path}: a text is scored by the model itself, and {run.other.name} finds answers only; "
            "leave out --engine"
        )
    named = {} if run.other is None else {"engine": run.other.name}
    if source or reference:
        if not isinstance(run.task, ScoresPairs):
            raise OptionError(
                f"{run.folder.path} ({run.recipe.task.kind}) answers no sources with references; leave out "
                "--source and --reference, and its own test split is scored"
            )
        ledger = Ledger()
        pairs = read_parallel(Path(source), Path(reference), "given", ledger)
        given = run.task.score_pairs(session, pairs)
        return {**given, **named, "skipped": [asdict(one) for one in ledger.exceptions]}
    corpus = held_out(run.folder, load_corpus(run.recipe))
    task = build_task(run.recipe, corpus, run.modalities)
    splits = scored_splits(corpus.splits)
    scores: dict[str, Any] = {"split": splits[0], "splits": splits, **named}
    for split in splits:
        found = task.score(session, split)
        prefix = "" if split == splits[0] else f"{split}_"
        scores |= {f"{prefix}{name}": value for name, value in found.items()}
    if named:
        return scores
    before = read_object(run.folder.scores) if run.folder.scores.exists() else {}
    write_json(run.folder.scores, {**before, **scores})
    return scores


def scored_splits(splits: Iterable[str]) -> list[str]:
    """Those whose scores count, the first before all: what was looked at in training only where nothing else is."""
    names = sorted(splits, key=lambda split: split != "test")  # what is called so is meant; the others as they come
    chosen = [split for split in names if split != "validation"] or names
    if not chosen:
        raise DataError("the recipe keeps no sentences for scores; name some with --source and --reference")
    return chosen
