"""Word alignment read off a model's attention over the source, under teacher forcing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from regard.core.errors import OptionError
from regard.core.seams.anatomy import anatomy_of
from regard.core.seams.task import Session
from regard.core.taps import record
from regard.data.batching import in_length_order
from regard.data.corpus import GoldAlignment, Pair
from regard.tasks.metrics.alignment import (
    Head,
    Link,
    alignment_error_rate,
    choose_head,
    groups,
    links_from_weights,
    word_spans,
    words_from_pieces,
)

if TYPE_CHECKING:
    from regard.tasks.pairs.encoded_pairs import EncodedPair
    from regard.tasks.translation import Translation

BATCH_TOKENS = 4096
CHOSEN_ON = 500  # validation sentences that are enough to tell heads apart

Words = tuple[Sequence[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class WordWeights:
    """For one pair: its words and, for each head, how much target word t reads source word s (weights_TS)."""

    source_words: Sequence[str]
    target_words: Sequence[str]
    by_head: dict[Head, np.ndarray]


def word_weights(
    task: Translation, session: Session, pairs: Sequence[Pair], words: Sequence[Words]
) -> list[WordWeights]:
    """Attention over the source between words, for every pair in its order.

    Pieces become words by summing over source pieces and averaging over target pieces; the closing symbols
    are left out; row t is the one that predicts the t-th target piece.
    """
    model = session.model.eval()
    pattern = anatomy_of(model).source_attention
    if not pattern:
        raise OptionError("this model has no attention over its source, so there is no alignment to read")
    examples = task.pairs.gathered(task.encode_pairs(pairs))
    found: list[WordWeights | None] = [None] * len(pairs)
    for indices in in_length_order(examples.lengths_NA, BATCH_TOKENS):
        batch = session.move(task.collate(examples.at(indices)))
        with torch.inference_mode(), record(model, pattern) as seen:
            model(batch.source_BS, batch.source_lengths_B, batch.target_in_BT)
            weights_LBHTS = [attention.weights.float().cpu().numpy() for attention in seen.values()]
        for row, index in enumerate(indices):
            weights_LHTS = [weights_BHTS[row] for weights_BHTS in weights_LBHTS]
            found[index] = _one(task, pairs[index], words[index], examples[index], weights_LHTS)
    return [weights for weights in found if weights is not None]


def _one(
    task: Translation, pair: Pair, words: Words, encoded: EncodedPair, weights_LHTS: Sequence[np.ndarray]
) -> WordWeights:
    source_words, target_words = words
    source_groups = _groups(task.vocabularies.source.pieces(pair.source), pair.source, source_words)
    target_groups = _groups(task.vocabularies.target.pieces(pair.target), pair.target, target_words)
    rows, columns = len(encoded.target), len(encoded.source)
    by_head = {
        (layer, head): words_from_pieces(weights_TS[:rows, :columns], source_groups, target_groups)
        for layer, weights_HTS in enumerate(weights_LHTS)
        for head, weights_TS in enumerate(weights_HTS)
    }
    return WordWeights(source_words, target_words, by_head)


def _groups(pieces: Sequence[tuple[str, int, int]], text: str, words: Sequence[str]) -> list[int]:
    return groups([(start, stop) for _, start, stop in pieces], word_spans(text, words))


def links_by_head(found: Sequence[WordWeights]) -> dict[Head, list[set[Link]]]:
    heads = found[0].by_head if found else {}
    return {head: [links_from_weights(weights.by_head[head]) for weights in found] for head in heads}


def best_head(
    task: Translation, session: Session, pairs: Sequence[Pair], gold: Sequence[GoldAlignment]
) -> Head:
    """The head whose links agree best with gold, to be chosen on validation data."""
    pairs, gold = pairs[:CHOSEN_ON], gold[:CHOSEN_ON]
    return choose_head(links_by_head(word_weights(task, session, pairs, gold_words(gold))), gold)


def error_rate(
    task: Translation, session: Session, head: Head, pairs: Sequence[Pair], gold: Sequence[GoldAlignment]
) -> float:
    found = word_weights(task, session, pairs, gold_words(gold))
    return alignment_error_rate([links_from_weights(weights.by_head[head]) for weights in found], gold)


def gold_words(gold: Sequence[GoldAlignment]) -> list[Words]:
    return [(one.source_words, one.target_words) for one in gold]
