"""What is proposed for each question about each kind of input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from regard.core.errors import DataError
from regard.data.discovery.found import Discovery, GraphFacts, PictureFacts, SeriesFacts, SoundFacts, TextFacts
from regard.runs.automatic import arrays, texts
from regard.runs.automatic.proposal import Proposal

PROPOSERS: Mapping[tuple[str, type], Callable[[Discovery], Proposal]] = {
    ("translation", TextFacts): texts.translation,
    ("classification", TextFacts): texts.classification,
    ("regression", TextFacts): texts.regression,
    ("tagging", TextFacts): texts.tagging,
    ("language-model", TextFacts): texts.language_model,
    ("embedding", TextFacts): texts.embedding,
    ("question-answering", TextFacts): texts.question_answering,
    ("parsing", TextFacts): texts.parsing,
    ("classification", PictureFacts): arrays.pictures,
    ("regression", PictureFacts): arrays.pictures,
    ("classification", SoundFacts): arrays.sounds,
    ("regression", SoundFacts): arrays.sounds,
    ("classification", SeriesFacts): arrays.series,
    ("forecasting", SeriesFacts): arrays.forecasting,
    ("classification", GraphFacts): arrays.graphs,
    ("regression", GraphFacts): arrays.graphs,
}
"""What can be proposed, by the task and by what was measured of its inputs."""


def propose(found: Discovery, name: str = "recipe") -> Proposal:
    """What is proposed for files, before anything is measured; ``name`` is the recipe's."""
    proposer = PROPOSERS.get((found.task, type(found.inputs)))
    if proposer is None:
        tasks = ", ".join(dict.fromkeys(task for task, _ in PROPOSERS))
        raise DataError(
            f"no recipe is proposed for task.kind = {found.task!r} on such files; those with proposals: {tasks}. "
            "Start from a shipped recipe instead (regard recipes list), with this [data] table"
        )
    return replace(proposer(found), name=name, notes=(*found.observations, *found.reasons))
