"""Scores: a task's sums over a whole split; text against untouched references, tokens under teacher forcing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch

from regard.core.batch import Examples
from regard.core.seams.task import Session, Task
from regard.data.batching import in_length_order, with_progress
from regard.tasks.metrics.bleu import bleu, chrf
from regard.tasks.metrics.text import character_error_rate, exact_match, word_error_rate

BATCH_TOKENS = 4096


WHOLE_TEXTS = ("bleu", "chrf")
SHORT_TEXTS = ("exact_match", "character_error_rate")
SYMBOLS = ("exact_match", "word_error_rate")
LONGEST_NGRAM = 4
"""Words of the longest n-grams that BLEU counts: where most references have fewer, it is 0 whatever was answered."""
LONGEST_SYMBOL = 4
"""Characters of what is spelled between spaces in place of words: letters, phonemes (AH0), digits."""
ALMOST_ALL = 0.99
OWN_WORDS = ("char", "zh", "ja-mecab", "ko-mecab")
"""Tokenisations of BLEU that find words which no spaces part."""


def leading_scores(references: Sequence[str], tokenize: str) -> tuple[str, ...]:
    """The scores that fit texts such as the references: BLEU counts up to four words in a row, so it says little of
    names or labels, and symbols with spaces between them (phonemes) are counted one by one."""
    if tokenize in OWN_WORDS:
        return WHOLE_TEXTS
    words = [text.split() for text in references]
    if np.median([len(own) for own in words]) < LONGEST_NGRAM:
        return SHORT_TEXTS
    symbols = [len(word) <= LONGEST_SYMBOL for own in words for word in own]
    return SYMBOLS if np.mean(symbols) >= ALMOST_ALL else WHOLE_TEXTS


def text_scores(hypotheses: Sequence[str], references: Sequence[str], tokenize: str = "13a") -> dict[str, Any]:
    """BLEU and chrF with signature and interval, exact match, word and character error rate; ``leading`` are those that
    fit the references best."""
    by_words = bleu(hypotheses, references, tokenize=tokenize)
    by_characters = chrf(hypotheses, references)
    same = exact_match(hypotheses, references)
    return {
        **by_words.figures("bleu"),
        **by_characters.figures("chrf"),
        "exact_match": same.rate,
        "exact_match_low": same.low,
        "exact_match_high": same.high,
        "word_error_rate": word_error_rate(hypotheses, references).rate,
        "character_error_rate": character_error_rate(hypotheses, references).rate,
        "bleu_signature": by_words.signature,
        "chrf_signature": by_characters.signature,
        "leading": list(leading_scores(references, tokenize)),
        "sentences": len(hypotheses),
    }


def text_figures(hypotheses: Sequence[str], references: Sequence[str], tokenize: str = "13a") -> dict[str, float]:
    """The same scores without their intervals, which take most of the time."""
    return {
        "bleu": bleu(hypotheses, references, tokenize=tokenize, confidence=False).score,
        "chrf": chrf(hypotheses, references, confidence=False).score,
        "exact_match": exact_match(hypotheses, references).rate,
        "word_error_rate": word_error_rate(hypotheses, references).rate,
        "character_error_rate": character_error_rate(hypotheses, references).rate,
    }


@torch.inference_mode()
def sum_over(
    task: Task, session: Session, examples: Examples, batches: Iterable[np.ndarray]
) -> tuple[dict[str, float], int]:
    """Every named sum of a task over all batches, and how many terms its loss has."""
    model = session.model.eval()
    totals: dict[str, float] = {}
    count = 0
    for indices in with_progress(batches, len(examples), session.progress):
        sums = task.sums(model, session.move(task.collate(examples.at(indices))))
        count += sums.counts["loss"]
        for name, value in sums.sums.items():
            totals[name] = totals.get(name, 0.0) + float(value)
    return totals, count


def teacher_forced(task: Task, session: Session, examples: Examples) -> dict[str, float]:
    """Token accuracy and the loss per token when every earlier token is the reference's."""
    silent = session.with_progress(None)
    totals, count = sum_over(task, silent, examples, in_length_order(examples.lengths_NA, BATCH_TOKENS))
    return {name: totals.get(name, 0.0) / max(count, 1) for name in ("loss", "token_accuracy")}
