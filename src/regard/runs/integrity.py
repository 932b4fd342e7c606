"""Keeps a run trustworthy: the splits that it set aside, and hashes of its files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor

from regard.core.errors import RunError
from regard.core.files import parse_json, read_object, sha256_of, unreadable, write_json, write_text
from regard.data.corpus import Corpus
from regard.data.examples import Recordable
from regard.data.modalities.text.vocabularies import JOINT, SOURCE, TARGET
from regard.runs.folder import RunFolder
from regard.training import checkpoints

FILES = "files"  # in summary.json: the hashes of the files beside it


def save_held_out(folder: RunFolder, corpus: Corpus[Any]) -> None:
    """Writes the splits that were set aside; a resumed run must have drawn the same ones again."""
    for split in corpus.set_aside:
        file = folder.split(split)
        if not file.exists():
            lines = (json.dumps(one.record(), ensure_ascii=False) + "\n" for one in corpus.splits[split])
            write_text(file, "".join(lines))
        elif not matches_saved(file, corpus.splits[split]):
            raise RunError(
                f"the training files are not those with which {folder.path} was begun: the {split} split drawn from "
                f"them is another than {file.name}. Put the files back as they were, or begin a new run"
            )


def scored_corpus(folder: RunFolder, corpus: Corpus[Any]) -> Corpus[Any]:
    """All that may be scored: a split that was set aside is the one that the run kept.

    Drawn again from files that have grown, it would hold what the model has learned by heart.
    """
    scored = corpus.without_training()
    kept = {
        split: saved_examples(folder.split(split), type(corpus.splits[split][0]))
        for split in corpus.set_aside
        if folder.split(split).exists() and not matches_saved(folder.split(split), corpus.splits[split])
    }
    return replace(scored, splits={**scored.splits, **kept})


def matches_saved(file: Path, drawn: Iterable[Recordable]) -> bool:
    """Whatever the files are called now."""
    again = [json.loads(json.dumps(one.record())) for one in drawn]
    return [without_origin(one) for one in kept_examples(file)] == [without_origin(one) for one in again]


def kept_examples(file: Path) -> list[dict[str, Any]]:
    try:
        lines = file.read_text(encoding="utf-8").split("\n")  # a text may hold other ends of lines
        held = [parse_json(line) for line in lines if line]
    except OSError as error:
        raise unreadable(file, error) from error
    except ValueError:  # no JSON, or no UTF-8
        held = [None]
    if not all(isinstance(one, dict) for one in held):
        raise RunError(
            f"{file} was changed after the run wrote it: it holds lines that are not JSON objects; put the "
            "run's own file back, or train again"
        )
    return held


def saved_examples(file: Path, kind: type[Recordable]) -> tuple[Recordable, ...]:
    """The examples that were set aside, of the kind that the run's data has."""
    try:
        return tuple(kind.from_record(one) for one in kept_examples(file))
    except (KeyError, TypeError) as error:
        raise RunError(
            f"{file} holds something other than examples of kind {kind.__name__} ({error}); put the run's "
            "own file back"
        ) from error


def without_origin(example: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in example.items() if name != "origin"}


def write_summary(folder: RunFolder, summary: dict[str, Any]) -> None:
    """What came of training, and the hashes of the files beside it; that of the weights is in it already."""
    hashes = {name: sha256_of(folder.path / name) for name in hashed_files(folder)}
    write_json(folder.summary, {**summary, FILES: hashes})


def read_summary(folder: RunFolder) -> dict[str, Any]:
    return {name: value for name, value in read_object(folder.summary).items() if name != FILES}


def check_hashes(folder: RunFolder, weights: Mapping[str, Tensor]) -> None:
    """A file of another run may have the right shape; its hash is another. ``weights`` are those of the folder."""
    if not folder.summary.exists():
        return
    summary = read_object(folder.summary)
    foreign = [
        name
        for name, expected in summary.get(FILES, {}).items()
        if not (folder.path / name).is_file() or sha256_of(folder.path / name) != expected
    ]
    expected = summary.get("weights_sha256")
    if expected is not None and checkpoints.weights_hash(weights) != expected:
        foreign.append(folder.weights.name)
    if foreign:
        raise RunError(
            f"{folder.path}: modified since training, by the hashes in {folder.summary.name}: {', '.join(foreign)}; "
            f"put the run's own back, or remove {folder.summary.name} to accept the files as they are"
        )


def hashed_files(folder: RunFolder) -> list[str]:
    splits = (folder.split(split).name for split in ("validation", "test"))
    return [name for name in (JOINT, SOURCE, TARGET, *splits) if (folder.path / name).is_file()]
