"""The scores of a translation run: text against untouched references, tokens under teacher forcing, alignment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from regard.data.batching import in_length_order
from regard.tasks.metrics.bleu import bleu, chrf
from regard.tasks.metrics.text import character_error_rate, exact_match, word_error_rate

if TYPE_CHECKING:
    from regard.tasks.translation import EncodedPair, Translation

BATCH_TOKENS = 4096


def text_scores(hypotheses: Sequence[str], references: Sequence[str], tokenize: str = "13a") -> dict[str, Any]:
    """BLEU and chrF with signature and interval, exact match, word and character error rate."""
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
        "sentences": len(hypotheses),
    }


@torch.inference_mode()
def teacher_forced(
    task: Translation, model: nn.Module, examples: Sequence[EncodedPair], device: torch.device
) -> dict[str, float]:
    """Token accuracy and the loss per token when every earlier token is the reference's."""
    model.eval()
    totals = {"loss": 0.0, "token_accuracy": 0.0}
    count = 0
    for indices in in_length_order(task.lengths(examples), BATCH_TOKENS):
        sums = task.sums(model, task.collate([examples[index] for index in indices], device))
        count += sums.counts["loss"]
        for name in totals:
            totals[name] += float(sums.sums[name])
    return {name: total / max(count, 1) for name, total in totals.items()}
