"""Heads of tasks as Hugging Face writes them: a class for each, its last matrix, its labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from regard.core.errors import RunError
from regard.interop.huggingface.families.family import Family
from regard.interop.huggingface.tensors import Pairing, both

LONGEST_TEXT, LONGEST_WINDOW = 512, 384
"""Tokens that are read at once, where the body reads as many: of a text, and of a question with its context."""
SINGLE = "single_label_classification"
DROPOUTS = ("classifier_dropout", "seq_classif_dropout", "hidden_dropout_prob", "dropout")
"""What falls on the states before the last matrix: the first of these that is said."""
BODY = "body."
READ_AT_ONCE = "model_max_length"
"""In tokenizer_config.json: how many tokens a text may have."""
Tensors = Callable[[Mapping[str, Any]], Iterator[Pairing]]


def on_body(pairings: Iterator[Pairing]) -> Iterator[Pairing]:
    """The tensors of a body under the head of a task."""
    for pairing in pairings:
        yield pairing.inside(BODY, "")


def head(body: Tensors, matrix: str) -> Tensors:
    """A body's tensors, and the matrix that a task puts on its states."""

    def tensors(table: Mapping[str, Any]) -> Iterator[Pairing]:
        yield from on_body(body(table))
        yield from both("head.classes", matrix)

    return tensors


# -- labels -----------------------------------------------------------------------------------------------------


def read_labels(config: Mapping[str, Any], notes: list[str]) -> list[str]:
    """In the order of their numbers; of names that are there twice, the later ones get their number."""
    named = config.get("id2label")
    if not isinstance(named, Mapping) or not named:
        count = config.get("num_labels", config.get("_num_labels", 2))
        named = {place: f"LABEL_{place}" for place in range(count)}
    places = sorted(int(place) for place in named)
    if places != list(range(len(places))):
        raise RunError(f"id2label in config.json should number its labels 0, 1, 2 …; found {places[:20]}")
    labels = [str(named.get(str(place), named.get(place))) for place in places]
    counts = Counter(labels)
    twice = [label for label, count in counts.items() if count > 1]
    if twice:
        notes.append(f"labels that are there twice are followed by their number: {', '.join(twice[:10])}")
        first = {label: labels.index(label) for label in twice}
        labels = [
            f"{label} ({place})" if first.get(label, place) != place else label for place, label in enumerate(labels)
        ]
    return labels


def write_labels(labels: list[str] | tuple[str, ...]) -> dict[str, Any]:
    return {
        "id2label": {str(place): label for place, label in enumerate(labels)},
        "label2id": {label: place for place, label in enumerate(labels)},
    }


def read_dropout(config: Mapping[str, Any]) -> float:
    return next((config[name] for name in DROPOUTS if config.get(name) is not None), 0.1)


def longest(config: Mapping[str, Any], table: Mapping[str, Any], usual: int) -> int:
    """What the body has positions for and, where it says so, the tokenizer reads; ``read_texts`` puts the latter into
    the settings."""
    return min(table["position"]["max_length"], config.get(READ_AT_ONCE, usual), usual)


# -- tasks ------------------------------------------------------------------------------------------------------


def read_classes(pooling: str) -> Callable[[Mapping[str, Any], Mapping[str, Any], list[str]], dict[str, Any]]:
    """``[task]`` of a classification, for which the states of a text become one in this way."""

    def read(config: Mapping[str, Any], table: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
        problem = config.get("problem_type") or SINGLE
        labels = read_labels(config, notes)
        if problem != SINGLE or len(labels) < 2:
            found = f"problem_type = {problem!r}, {len(labels)} labels"
            raise RunError(f"config.json: {found}; what is read are heads that choose one of several labels ({SINGLE})")
        length = longest(config, table, LONGEST_TEXT)
        return {"labels": labels, "pooling": pooling, "max_length": length, "dropout": read_dropout(config)}

    return read


def write_classes(pooling: str, dropout: str) -> Callable[[Mapping[str, Any], list[str]], dict[str, Any]]:
    def write(task: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
        check_pooling(task, pooling, problems)
        return {**write_labels(task["labels"]), "problem_type": SINGLE, dropout: task["dropout"]}

    return write


def check_pooling(task: Mapping[str, Any], pooling: str, problems: list[str]) -> None:
    if task["pooling"] != pooling:
        only = f"they have {pooling!r} only, which is chosen before training"
        problems.append(f"task.pooling = {task['pooling']!r}; {only}")


def read_tags(config: Mapping[str, Any], table: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    return {
        "labels": read_labels(config, notes), "max_length": longest(config, table, LONGEST_TEXT),
        "dropout": read_dropout(config),
    }  # fmt: skip


def write_tags(dropout: str) -> Callable[[Mapping[str, Any], list[str]], dict[str, Any]]:
    """``dropout`` is what theirs is called, empty where the head has none of its own."""

    def write(task: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
        return {**write_labels(task["labels"]), **({dropout: task["dropout"]} if dropout else {})}

    return write


def read_questions(config: Mapping[str, Any], table: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    """Nothing there says whether a question may have no answer."""
    notes.append('the run always answers; if the model knows questions without an answer: task.unanswerable = "yes"')
    return {"max_length": longest(config, table, LONGEST_WINDOW), "unanswerable": "no", "dropout": 0.0}


def span_logits(output: Any) -> Tensor:
    """logits_BS2: how much each token is a start, and how much an end."""
    return torch.stack((output.start_logits, output.end_logits), dim=-1)


# -- families ---------------------------------------------------------------------------------------------------


def headed(family: Family, suffix: str, task: str, tensors: Tensors, **more: Any) -> Family:
    """The class of the same family that has this head."""
    name = next(one for one in family.also if one.endswith("Model")).removesuffix("Model")
    fresh = {"also": (), "copies": (), "head": "", "headed": True}
    return replace(family, architecture=f"{name}{suffix}", task=task, tensors=tensors, **{**fresh, **more})


def tagger(family: Family, body: Tensors, dropout: str, **more: Any) -> Family:
    tensors = head(body, "classifier")
    how = {"read_task": read_tags, "write_task": write_tags(dropout)}
    return headed(family, "ForTokenClassification", "tagging", tensors, **how, **more)


def answerer(family: Family, body: Tensors, **more: Any) -> Family:
    tensors = head(body, "qa_outputs")
    how = {"read_task": read_questions, "logits": span_logits}
    return headed(family, "ForQuestionAnswering", "question-answering", tensors, **how, **more)


def classifier(family: Family, tensors: Tensors, dropout: str, **more: Any) -> Family:
    """One of several labels by what the pooler makes of the opening symbol's state."""
    how = {"read_task": read_classes("pooler"), "write_task": write_classes("pooler", dropout)}
    return headed(family, "ForSequenceClassification", "classification", tensors, **how, **more)
