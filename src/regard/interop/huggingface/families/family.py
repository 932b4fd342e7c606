"""A family of models as others write it: its names, its settings, its tensors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from torch import Tensor

from regard.core.config import nearest
from regard.core.errors import OptionError, RunError, enumerate_problems
from regard.interop.huggingface.files import Stored
from regard.interop.huggingface.settings import Settings, overlay
from regard.interop.huggingface.tensors import Pairing


def _nothing_more(given: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    return {}


def as_declared(
    table: dict[str, Any], stored: Mapping[str, Stored], where: str
) -> tuple[dict[str, Any], Mapping[str, Stored]]:
    return table, stored


def _no_task(config: Mapping[str, Any], table: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    return {}


def _no_constants(table: Mapping[str, Any]) -> dict[str, Tensor]:
    return {}


def _the_same(name: str) -> str:
    return name


def _any_model(table: Mapping[str, Any]) -> bool:
    return True


HEAD = "lm_head.weight"
"""Words out; where it is tied to words in, files may contain it or not."""


def _their_logits(output: Any) -> Tensor:
    return output.logits


class Purpose(NamedTuple):
    """The class of transformers that opens a folder, and of which kind the data of our run would be."""

    loader: str
    data: str


PURPOSES = {
    ("text", "language-model"): Purpose("AutoModelForCausalLM", "text"),
    ("text", "translation"): Purpose("AutoModelForSeq2SeqLM", "pairs"),
    ("text", "masked-language-model"): Purpose("AutoModelForMaskedLM", "text"),
    ("text", "classification"): Purpose("AutoModelForSequenceClassification", "labelled"),
    ("text", "tagging"): Purpose("AutoModelForTokenClassification", "tagged"),
    ("text", "question-answering"): Purpose("AutoModelForQuestionAnswering", "questions"),
    ("pictures", "classification"): Purpose("AutoModelForImageClassification", "pictures"),
}
"""By what is read, and the task."""


@dataclass(frozen=True)
class Family:
    """One architecture of Hugging Face and the kind of model that computes the same here.

    ``vocabulary`` is what their config.json means where it says nothing about symbols.
    ``tensors`` pairs all weights of a model of ours (given its table) with theirs. ``prefix`` begins the names
    inside their model and is missing in files that were saved without the head. ``unneeded`` are tensors that they
    save and nobody needs; ``copies`` ones that may be there or not where they are the first of ``tensors``.
    ``read_more`` and ``write_more`` know settings that are tables themselves; ``settle`` what only the tensors tell:
    it completes our table and leaves out tensors that say nothing. ``constants`` are tensors that they save although
    nobody learned them. ``task`` is what the model is for. ``also`` are architectures with the same tensors, more or
    fewer; names that begin with ``head`` may be missing altogether: then ours is new. ``renamed`` turns old names into
    today's. ``suits`` tells families of one kind apart, and
    ``suits_task`` those that differ in the head alone.

    ``headed``: the head of a task stands on the body; then ``read_task`` makes our ``[task]`` table of their settings
    (labels), and ``write_task`` theirs of ours. ``logits`` takes them out of what their model answers.
    """

    architecture: str
    model_type: str
    kind: str
    settings: Settings
    vocabulary: Mapping[str, int]
    tensors: Callable[[Mapping[str, Any]], Iterable[Pairing]]
    prefix: str
    unneeded: tuple[re.Pattern[str], ...]
    task: str = "language-model"
    reads: Literal["text", "pictures"] = "text"
    copies: tuple[str, ...] = (HEAD,)
    more: frozenset[str] = frozenset()
    read_more: Callable[[Mapping[str, Any], list[str]], dict[str, Any]] = _nothing_more
    write_more: Callable[[Mapping[str, Any], list[str]], dict[str, Any]] = _nothing_more
    settle: Callable[
        [dict[str, Any], Mapping[str, Stored], str], tuple[dict[str, Any], Mapping[str, Stored]]
    ] = as_declared
    constants: Callable[[Mapping[str, Any]], dict[str, Tensor]] = _no_constants
    also: tuple[str, ...] = ()
    head: str = ""
    renamed: Callable[[str], str] = _the_same
    suits: Callable[[Mapping[str, Any]], bool] = _any_model
    suits_task: Callable[[Mapping[str, Any]], bool] = _any_model
    headed: bool = False
    read_task: Callable[[Mapping[str, Any], Mapping[str, Any], list[str]], dict[str, Any]] = _no_task
    write_task: Callable[[Mapping[str, Any], list[str]], dict[str, Any]] = _nothing_more
    logits: Callable[[Any], Tensor] = _their_logits

    @property
    def loader(self) -> str:
        return PURPOSES[self.reads, self.task].loader

    @property
    def data(self) -> str:
        return PURPOSES[self.reads, self.task].data

    @property
    def encloses(self) -> bool:
        """Whether it reads texts between symbols, from both sides."""
        return self.reads == "text" and (self.headed or self.task == "masked-language-model")

    def table(self, config: Mapping[str, Any], where: str, ignored: Iterable[str] = ()) -> dict[str, Any]:
        """Our ``[model]`` table for their config.json."""
        problems: list[str] = []
        ignored = [*ignored]
        unknown = self.settings.unknown(config, self.more)
        idle = [f"{name}{nearest(name, unknown)}" for name in ignored if name not in unknown]
        if idle:
            raise OptionError(f"{where} has nothing to ignore under the name {', '.join(idle)}; leave out --ignore")
        table = self.settings.read(config, {*self.more, *ignored}, problems)
        table = overlay(table, self.read_more(config, problems))
        if problems:
            raise RunError(enumerate_problems(f"{where} cannot be followed", problems))
        return table

    def config(
        self, table: Mapping[str, Any], task: Mapping[str, Any], where: str, known: Iterable[str] = ()
    ) -> dict[str, Any]:
        """Their config.json for our ``[model]`` and ``[task]`` tables, apart from what the vocabulary says.

        ``known`` are problems that were found before.
        """
        problems = list(known)
        config = self.settings.write(table, problems) | self.write_more(table, problems)
        config |= self.write_task(task, problems)
        if problems:
            title = f"{where} cannot be written as {self.architecture}"
            raise OptionError(enumerate_problems(title, problems))
        return {"architectures": [self.architecture], "model_type": self.model_type, **config}

    def needs(self, name: str) -> bool:
        return not any(pattern.fullmatch(name) for pattern in self.unneeded)

    def full_names(self, names: Iterable[str]) -> dict[str, str]:
        """Each tensor's name inside the whole model, with the name under which it was saved."""
        names = list(names)
        whole = any(name.startswith(self.prefix) for name in names)
        return {self.renamed(name if whole or name == HEAD else f"{self.prefix}{name}"): name for name in names}

    def lacks_head(self, full_names: Iterable[str]) -> bool:
        """Whether only the body was saved, of a family whose head may be missing."""
        return bool(self.head) and not any(name.startswith(self.head) for name in full_names)
