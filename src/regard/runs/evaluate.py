"""Scores a run on its own test split or on files of the user, with simple methods beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from regard.core.errors import DataError, OptionError, RunError
from regard.core.files import read_object, write_json
from regard.core.seams.capabilities import Continues, HasYardsticks, ScoresPairs
from regard.core.seams.task import Progress, Session, Task
from regard.core.yardsticks import verdict
from regard.data.corpus import Corpus
from regard.data.ledger import Ledger
from regard.data.readers import read_parallel
from regard.decoding.options import Strategy
from regard.runs.integrity import scored_corpus
from regard.runs.load import Run
from regard.runs.train import build_task, load_corpus
from regard.runs.user_files import GIVEN, user_corpus

TRAINING = "train"
VERDICT = "verdict"


def evaluate(
    run: Run,
    *,
    source: str | Path = "",
    reference: str | Path = "",
    data: Sequence[str | Path] = (),
    settings: Sequence[str] = (),
    options: Strategy | None = None,
    progress: Progress | None = None,
    yardsticks: bool = True,
) -> dict[str, Any]:
    """Scores by name; those of the run's own test split are also kept in ``scores.json``.

    ``source`` and ``reference`` are files whose lines belong together; ``data`` are files such as the run's own, read
    with its columns, or with others by ``settings`` ("data.label=mood"). Splits beside ``test`` (the small world's
    compositional one) come with their name before the score's. What another engine than the model itself has answered
    is scored, named, and not kept. ``yardsticks`` are simple methods, fitted on the run's training split.
    """
    session = run.session(options, progress)
    if run.other is not None and isinstance(run.task, Continues):
        raise OptionError(
            f"{run.folder.path}: a text is scored by the model itself, and {run.other.name} cannot score given text; "
            "leave out --engine"
        )
    named = {} if run.other is None else {"engine": run.other.name}
    if source or reference:
        return {**named, **score_lines(run, session, Path(source), Path(reference))}
    if data:
        return {**named, **score_files(run, session, data, settings, yardsticks=yardsticks)}
    whole = load_corpus(run.recipe)
    corpus = scored_corpus(run.folder, whole)
    splits = scored_splits(corpus.splits)
    scores: dict[str, Any] = {"split": splits[0], "splits": splits, **named}
    scores |= score_splits(run, session, corpus, splits, with_training(corpus, whole) if yardsticks else None)
    return scores if named else write_scores(run, scores)


def score_lines(run: Run, session: Session, source: Path, reference: Path) -> dict[str, Any]:
    """Inputs and references, line by line."""
    if not isinstance(run.task, ScoresPairs):
        raise OptionError(
            f"{run.folder.path} ({run.recipe.task.kind}) cannot be scored on sources with references; leave out "
            "--source and --reference, and its own test split is scored, or name files such as its own with --data"
        )
    ledger = Ledger()
    pairs = read_parallel(source, reference, GIVEN, ledger)
    return {**run.task.score_pairs(session, pairs), "skipped": [asdict(one) for one in ledger.exceptions]}


def score_files(
    run: Run, session: Session, files: Sequence[str | Path], settings: Sequence[str], *, yardsticks: bool
) -> dict[str, Any]:
    """Files such as the run's own. Where these are gone, so that no simple method can be fitted, that is said."""
    corpus = user_corpus(run.recipe, files, settings)
    skipped = [asdict(one) for one in corpus.ledger.exceptions if one.what == "skipped"]
    beside: dict[str, Any] = {"split": GIVEN, "splits": [GIVEN], "skipped": skipped}
    fitted = None
    if yardsticks:
        try:
            fitted = with_training(corpus, load_corpus(run.recipe))
        except DataError as error:
            beside["without_yardsticks"] = str(error)
    return {**beside, **score_splits(run, session, corpus, [GIVEN], fitted)}


def score_splits(
    run: Run, session: Session, corpus: Corpus[Any], splits: Iterable[str], fitted: Corpus[Any] | None
) -> dict[str, Any]:
    """The scores of each split, those of all but the first under its name; yardsticks where there is a corpus with
    something to fit them on."""
    task = build_task(run.recipe, corpus, run.modalities)
    scores: dict[str, Any] = {}
    for number, split in enumerate(splits):
        found = task.score(session, split)
        if fitted is not None:
            found |= yardstick_scores(task, fitted, split, found)
        scores |= {f"{split}_{name}" if number else name: value for name, value in found.items()}
    return scores


def yardstick_scores(task: Task, corpus: Corpus[Any], split: str, scores: Mapping[str, Any]) -> dict[str, Any]:
    """What simple methods reach on the split, and where the model does not, that it does not."""
    if not isinstance(task, HasYardsticks) or not corpus.splits.get(TRAINING):
        return {}
    found = task.yardsticks(corpus, split)
    return {"yardsticks": {name: one.as_dict() for name, one in found.items()}, VERDICT: verdict(scores, found)}


def with_training(corpus: Corpus[Any], whole: Corpus[Any]) -> Corpus[Any]:
    """The scored splits beside the training examples, without those of a split that was set aside and is kept."""
    training = whole.splits.get(TRAINING, ())
    kept = [split for split in corpus.set_aside if corpus.splits.get(split) is not whole.splits.get(split)]
    if kept:
        held = {one.key() for split in kept for one in corpus.splits.get(split, ())}
        training = [one for one in training if one.key() not in held]
    return replace(corpus, splits={**corpus.splits, TRAINING: training}, weights=())


def write_scores(run: Run, scores: dict[str, Any]) -> dict[str, Any]:
    """Writes ``scores.json``, beside what it held under other names. Where that cannot be done, the scores say so: an
    hour of scoring is not lost to a folder that cannot be written."""
    try:
        before = read_object(run.folder.scores) if run.folder.scores.exists() else {}
        others = {name: value for name, value in before.items() if not name.endswith(VERDICT)}  # of other scores
        write_json(run.folder.scores, {**others, **scores})
    except RunError as error:
        cause = error.__cause__
        why = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(error)
        return {**scores, "not_kept": f"{run.folder.scores} could not be written: {why}"}
    return scores


def scored_splits(splits: Iterable[str]) -> list[str]:
    """Those whose scores count, the first before all: what was looked at in training only where nothing else is."""
    names = sorted(splits, key=lambda split: split != "test")  # what is called so is meant; the others as they come
    chosen = [split for split in names if split != "validation"] or names
    if not chosen:
        raise DataError("the run has no test split; name files with --source and --reference")
    return chosen
