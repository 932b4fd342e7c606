"""A run that teaches another: its chances beside the right answers, and its own answers in their place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Self

import torch
from pydantic import Field, model_validator

from regard.core.config import Config, drop_overridden, parse
from regard.core.errors import RecipeError
from regard.core.files import read_object, write_json
from regard.core.ports import Tokens
from regard.core.seams import Observer
from regard.core.seams.capabilities import Distils, Translates
from regard.core.seams.task import Task
from regard.data.corpus import Corpus
from regard.data.modalities.both import Modalities
from regard.layers.losses.distillation import Softening
from regard.runs.folder import RunFolder
from regard.runs.starting import Origin
from regard.training import checkpoints
from regard.training.learner import Teacher

ANSWERS = "teacher_answers.json"


class TeacherConfig(Config):
    """Which run a smaller one learns from, and what."""

    run: str = ""  # a run folder of the same task, whose tokenizer replaces the recipe's
    weight: float = Field(0.5, ge=0, le=1)  # of its chances in the loss; the rest is that of the given answers
    temperature: float = Field(2.0, gt=0)  # above 1, what it holds for unlikely counts more
    answers: Literal["given", "own"] = "given"  # own: it answers the training inputs itself, and that is learned

    @model_validator(mode="after")
    def _teaches(self) -> Self:
        if self.run and not self.weight and self.answers == "given":
            raise ValueError(
                'weight = 0 and answers = "given" leave a teacher nothing to say; set a weight, or answers = "own"'
            )
        return self

    def unused(self) -> dict[str, str]:
        if not self.run:
            return dict.fromkeys(("weight", "temperature", "answers"), "teacher.run names no run to learn from")
        return {} if self.weight else {"temperature": "teacher.weight is 0, so its chances are not asked for"}


def taught_by(recipe: Any) -> Any:
    """The recipe with the tokenizer of the run that teaches."""
    if not recipe.teacher.run:
        return recipe
    origin = Origin.at(recipe.teacher.run)
    if origin.recipe.task.kind != recipe.task.kind:
        raise RecipeError(
            f"teacher.run = {recipe.teacher.run!r} answers task.kind = {origin.recipe.task.kind!r}, and this recipe "
            f"learns {recipe.task.kind!r}; name a run of the same task"
        )
    if recipe.start.run:
        return recipe
    tree = recipe.model_dump()
    tree["input"] = recipe.input.continued(origin.recipe.input).model_dump()
    if origin.recipe.input.is_text or origin.recipe.answers_in_text:
        tree["tokenizer"] = origin.recipe.tokenizer.model_dump()
    if "dropout" in tree["tokenizer"]:
        tree["tokenizer"]["dropout"] = recipe.tokenizer.pair_dropout
    where = f"the recipe taught by {recipe.teacher.run}"
    return parse(type(recipe), tree, where, drop_overridden([], whole=True))


def teacher_of(recipe: Any, task: Task, modalities: Modalities, device: torch.device) -> Teacher | None:
    """The model that teaches, where its chances are asked for; refused where it has others than the student."""
    if not recipe.teacher.run or not recipe.teacher.weight:
        return None
    from regard.runs.load import load  # which needs what trains

    if not isinstance(task, Distils):
        raise RecipeError(
            f"task.kind = {recipe.task.kind!r} cannot learn from a teacher's chances; set teacher.weight = 0, or leave "
            "out teacher.run"
        )
    run = load(recipe.teacher.run, str(device))
    problem = difference(run.task, task, run.modalities, modalities)
    if problem:
        raise RecipeError(f"{recipe.teacher.run} cannot teach this run: {problem}")
    task.check_taught(run.task)
    return Teacher(run.model.requires_grad_(False), Softening(recipe.teacher.weight, recipe.teacher.temperature))


def difference(theirs: Task, ours: Task, their_modalities: Modalities, our_modalities: Modalities) -> str:
    """Why a teacher's chances are not about the same things, or nothing."""
    if theirs.ports() != ours.ports():
        return "its inputs or outputs are others; leave out start.run, so that its tokenizer is taken"
    if any(isinstance(port, Tokens) for port in ours.ports().values()):
        pairs = [(own.vocabularies.source, own.vocabularies.target) for own in (their_modalities, our_modalities)]
        if any(one.raw.to_str() != other.raw.to_str() for one, other in zip(*pairs, strict=True)):
            return "its tokenizer has other pieces; leave out start.run, so that its tokenizer is taken"
    return ""


def with_teachers_answers(recipe: Any, corpus: Corpus[Any], folder: RunFolder, told: Observer) -> Corpus[Any]:
    """The corpus whose training targets are the teacher's answers (Kim & Rush 2016, section 3.2), which the folder
    keeps."""
    if not recipe.teacher.run or recipe.teacher.answers == "given":
        return corpus
    pairs = corpus.splits["train"]
    answers = _answers(recipe, [pair.source for pair in pairs], folder, told)
    taught = tuple(replace(pair, target=answer or pair.target) for pair, answer in zip(pairs, answers, strict=True))
    return replace(corpus, splits={**corpus.splits, "train": taught})


def _answers(recipe: Any, sources: list[str], folder: RunFolder, told: Observer) -> list[str]:
    from regard.runs.load import load  # which needs what trains

    run = load(recipe.teacher.run, recipe.device)
    if not isinstance(run.task, Translates):
        raise RecipeError(
            f'teacher.answers = "own" is for tasks whose answers are texts of their own, as translation; '
            f'task.kind = {recipe.task.kind!r} is none; set teacher.answers = "given"'
        )
    weights = checkpoints.weights_hash(checkpoints.weights_of(run.model))
    path = folder.path / ANSWERS
    if path.exists():
        held = read_object(path)
        if held.get("weights") == weights and len(held.get("answers", ())) == len(sources):
            return held["answers"]
    told.on_phase(f"{recipe.teacher.run} answers {len(sources):,} training inputs")
    answers = run.predict(sources)
    write_json(path, {"weights": weights, "answers": answers})
    return answers
