"""How well questions are answered: exact match and shared words after SQuAD's rules, the best of several references."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.core.errors import DataError
from regard.tasks.metrics.resampling import mean_interval
from regard.tasks.metrics.text import wilson_interval

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_SIGNS = str.maketrans("", "", string.punctuation)


def normal(text: str) -> str:
    """What SQuAD compares (Rajpurkar et al. 2016, §6.1): lower case, no signs, no articles, single spaces."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_SIGNS)).split())


def word_f1(answer: str, reference: str) -> float:
    """The harmonic mean of precision and recall over words; where one says nothing, 1 if both do."""
    found, wanted = normal(answer).split(), normal(reference).split()
    if not found or not wanted:
        return float(found == wanted)
    shared = (Counter(found) & Counter(wanted)).total()
    return 2 * shared / (len(found) + len(wanted))


def nonempty_references(references: Sequence[str]) -> list[str]:
    """The references that say something; none: that there is no answer."""
    return [one for one in references if normal(one)] or [""]


def is_exact(answer: str, references: Sequence[str]) -> bool:
    return any(normal(answer) == normal(one) for one in nonempty_references(references))


def answer_scores(answers: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, Any]:
    """All figures of one set; ``references[i]`` are the right answers to question i, none where there is none."""
    if len(answers) != len(references):
        raise DataError(f"{len(answers)} answers against {len(references)} questions; give one for each, in order")
    if not answers:
        raise DataError("there is nothing to score: no question was asked")
    exact_N = np.array([is_exact(answer, own) for answer, own in zip(answers, references)])
    f1_N = np.array([
        max(word_f1(answer, one) for one in nonempty_references(own)) for answer, own in zip(answers, references)
    ])  # fmt: skip
    there_N = np.array([nonempty_references(own) != [""] for own in references])
    scores: dict[str, Any] = {**figures(exact_N, f1_N), "questions": len(answers)}
    if not there_N.all():
        hits, total = int(exact_N[~there_N].sum()), int((~there_N).sum())
        low, high = wilson_interval(hits, total)
        scores |= {
            "no_answer_accuracy": hits / total,
            "no_answer_accuracy_low": low,
            "no_answer_accuracy_high": high,
            "without_an_answer": total,
        }
        if there_N.any():
            scores["answerable"] = {**figures(exact_N[there_N], f1_N[there_N]), "questions": int(there_N.sum())}
    return scores


def figures(exact_N: np.ndarray, f1_N: np.ndarray) -> dict[str, float]:
    low, high = wilson_interval(int(exact_N.sum()), len(exact_N))
    f1_low, f1_high = mean_interval(f1_N)
    return {
        "exact_match": float(exact_N.mean()),
        "exact_match_low": low,
        "exact_match_high": high,
        "f1": float(f1_N.mean()),
        "f1_low": f1_low,
        "f1_high": f1_high,
    }
