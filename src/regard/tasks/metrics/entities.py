"""How well words are tagged: by word, and for BIO tags by entity, the spans counted as conlleval counts them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from regard.data.examples import Tagged
from regard.tasks.metrics.classes import class_scores
from regard.tasks.metrics.resampling import interval

OUTSIDE = "O"
BEGIN, INSIDE = "B-", "I-"
ERRORS_LISTED = 50


class Span(NamedTuple):
    """Words ``start`` to ``stop`` (one past the last) that are one entity."""

    label: str
    start: int
    stop: int


def is_bio(tags: Sequence[str]) -> bool:
    """Whether tags are O, or begin with B- or I-; O alone is no scheme."""
    return not invalid_tags(tags) and any(tag != OUTSIDE for tag in tags)


def invalid_tags(tags: Sequence[str]) -> list[str]:
    """Tags that mean nothing in BIO."""
    return [tag for tag in tags if tag != OUTSIDE and not tag.startswith((BEGIN, INSIDE))]


def spans(tags: Sequence[str]) -> list[Span]:
    """Entities in order. An I- after O or after another label begins one: Tjong Kim Sang & De Meulder (2003)."""
    found: list[Span] = []
    for place, tag in enumerate(tags):
        if tag == OUTSIDE:
            continue
        label = tag[len(BEGIN) :]
        if tag.startswith(INSIDE) and found and (found[-1].label, found[-1].stop) == (label, place):
            found[-1] = found[-1]._replace(stop=place + 1)
        else:
            found.append(Span(label, place, place + 1))
    return found


def entity_scores(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Precision, recall and F1 over all entities and by label: only the exact span with its label is a hit.

    The interval is what sentences drawn anew give in 95 of 100 cases.
    """
    both = [(set(spans(there)), set(spans(found))) for there, found in zip(gold, predicted, strict=True)]
    labels = sorted({one.label for pair in both for own in pair for one in own})
    counts_NL3 = np.zeros((len(both), len(labels), 3), np.int64)  # hits, found, there
    for row_L3, (there, found) in zip(counts_NL3, both, strict=True):
        for column, own in enumerate((there & found, found, there)):
            for one in own:
                row_L3[labels.index(one.label), column] += 1
    precision, recall, f1 = rates(counts_NL3.sum(axis=(0, 1)))
    counts_N3 = counts_NL3.sum(axis=1)
    low, high = interval(lambda chosen_N: rates(counts_N3[chosen_N].sum(axis=0))[2], len(counts_N3))
    by_label = {label: rates(own_3) for label, own_3 in zip(labels, counts_NL3.sum(axis=0), strict=True)}
    return {
        "entity_f1": f1,
        "entity_f1_low": low,
        "entity_f1_high": high,
        "entity_precision": precision,
        "entity_recall": recall,
        "entities": int(counts_NL3[:, :, 2].sum()),
        "entity_types": {
            label: {"precision": own[0], "recall": own[1], "f1": own[2], "entities": int(there)}
            for (label, own), there in zip(by_label.items(), counts_NL3[:, :, 2].sum(axis=0), strict=True)
        },
    }


def rates(counts_3: np.ndarray) -> tuple[float, float, float]:
    """Precision, recall and F1 of hits, found and there; 0 where nothing was found or nothing is there."""
    hits, found, there = (int(count) for count in counts_3)
    return hits / max(found, 1), hits / max(there, 1), 2 * hits / max(found + there, 1)


def tag_scores(
    examples: Sequence[Tagged], probabilities: Sequence[np.ndarray], labels: Sequence[str], *, bio: bool
) -> dict[str, Any]:
    """All figures of tagged sentences, given probabilities_NC of the words of each."""
    places = {label: place for place, label in enumerate(labels)}
    gold_N = np.array([places[tag] for one in examples for tag in one.tags])
    predicted = [[labels[place] for place in own_NC.argmax(axis=1)] for own_NC in probabilities]
    scores = class_scores(np.concatenate(probabilities), gold_N, labels)
    scores |= {"words": scores.pop("examples"), "sentences": len(examples)}
    if bio:
        scores |= {**entity_scores([one.tags for one in examples], predicted), "leading": ["entity_f1"]}
    return {**scores, "errors": mistakes(examples, probabilities, predicted)}


def mistakes(
    examples: Sequence[Tagged], probabilities: Sequence[np.ndarray], predicted: Sequence[Sequence[str]]
) -> list[dict[str, Any]]:
    """Words with a wrong tag, each with its sentence, the most confident first."""
    found: list[dict[str, Any]] = [
        {
            "word": one.words[place],
            "tag": one.tags[place],
            "predicted": said[place],
            "probability": float(own_NC[place].max()),
            "text": one.source,
            "line": one.line,
            "file": one.origin,
        }
        for one, own_NC, said in zip(examples, probabilities, predicted, strict=True)
        for place in range(len(one.words))
        if said[place] != one.tags[place]
    ]
    return sorted(found, key=lambda error: -error["probability"])[:ERRORS_LISTED]
