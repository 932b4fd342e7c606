"""From attention to word alignment: pieces become words, weights become links, gold scores the links."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from regard.core.errors import DataError

if TYPE_CHECKING:
    from regard.data.corpus import GoldAlignment

Link = tuple[int, int]  # source word, target word, counted from 0
Head = tuple[int, int]  # layer, head
Span = tuple[int, int]  # first character, one past the last

OUTSIDE = -1  # the group of what belongs to no word: <sos>, <eos>, a lone space


@dataclass(frozen=True, slots=True)
class AlignmentScore:
    """How predicted links agree with gold ones over a corpus, each figure from 0 to 1."""

    error_rate: float
    precision: float
    recall: float


def score_alignments(predicted: Sequence[Collection[Link]], gold: Sequence[GoldAlignment]) -> AlignmentScore:
    """Precision, recall and alignment error rate, counted over the whole corpus.

    Och & Ney (2003), "A Systematic Comparison of Various Statistical Alignment Models", evaluation
    methodology: with predicted links A, sure links S and possible links P ⊇ S,

        precision = |A ∩ P| / |A|,   recall = |A ∩ S| / |S|,   AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|).

    Sure links count as possible, whether or not the gold repeats them there.
    """
    if len(predicted) != len(gold):
        raise DataError(f"{len(predicted)} sentences with predicted links against {len(gold)} with gold ones")
    made = sure = made_and_sure = made_and_possible = 0
    for links, truth in zip(predicted, gold):
        chosen, certain = set(links), set(truth.sure)
        made += len(chosen)
        sure += len(certain)
        made_and_sure += len(chosen & certain)
        made_and_possible += len(chosen & (certain | set(truth.possible)))
    if made + sure == 0:
        raise DataError("neither a predicted nor a sure link in the whole corpus: there is nothing to score")
    return AlignmentScore(
        error_rate=1 - (made_and_sure + made_and_possible) / (made + sure),
        precision=made_and_possible / made if made else 0.0,
        recall=made_and_sure / sure if sure else 0.0,
    )


def alignment_error_rate(predicted: Sequence[Collection[Link]], gold: Sequence[GoldAlignment]) -> float:
    return score_alignments(predicted, gold).error_rate


def word_spans(text: str, words: Sequence[str]) -> list[Span]:
    """Where the words stand in the text, found from left to right; what lies between them is passed over."""
    spans: list[Span] = []
    position = 0
    for number, word in enumerate(words, start=1):
        start = text.find(word, position)
        if start < 0 or not word:
            raise DataError(
                f"word {number} of {len(words)}, {word!r}, is not in the text after character {position}: "
                f"found {text[position:position + 40]!r} in {text!r}; "
                "the words must be those of the text itself, in its order and spelling"
            )
        position = start + len(word)
        spans.append((start, position))
    return spans


def groups(piece_offsets: Sequence[Span], spans: Sequence[Span]) -> list[int]:
    """The word of every piece: the one it overlaps most (the earlier of equals), or −1 if it overlaps none.

    So a piece that starts with a space goes to its word, and a special symbol, which covers no text, to none.
    """
    return [_most_overlapped(piece, spans) for piece in piece_offsets]


def _most_overlapped(piece: Span, spans: Sequence[Span]) -> int:
    best, most = OUTSIDE, 0
    for index, (start, end) in enumerate(spans):
        overlap = min(piece[1], end) - max(piece[0], start)
        if overlap > most:
            best, most = index, overlap
    return best


def words_from_pieces(
    weights_TS: np.ndarray, source_groups: Sequence[int], target_groups: Sequence[int]
) -> np.ndarray:
    """Attention between pieces as attention between words: source pieces are summed, target pieces averaged.

    Row t of ``weights_TS`` is the one that predicts target piece t. Groups are word indices; −1 leaves a
    piece out (``<eos>``), and what it received is not shared out again, so a row may sum to less than 1. The
    result reaches to the last word that has a piece; a word without one has only zeros.
    """
    assert weights_TS.shape == (len(target_groups), len(source_groups)), (
        f"weights {weights_TS.shape} for {len(target_groups)} target and {len(source_groups)} source pieces"
    )
    target_words, source_words = _membership(target_groups), _membership(source_groups)
    summed = target_words @ np.asarray(weights_TS, dtype=np.float64) @ source_words.T
    pieces_of_word = target_words.sum(axis=1, keepdims=True)
    return summed / np.maximum(pieces_of_word, 1)


def _membership(piece_groups: Sequence[int]) -> np.ndarray:
    """One row a word, one column a piece: 1 where the piece belongs to the word."""
    group_of = np.asarray(piece_groups, dtype=np.int64)
    words = np.arange(max(group_of.max(initial=OUTSIDE) + 1, 0))
    return (words[:, None] == group_of[None, :]).astype(np.float64)


def links_from_weights(word_weights_TS: np.ndarray) -> set[Link]:
    """Every target word to the source word it looks at most (the first of equals); all-zero rows to none."""
    if word_weights_TS.size == 0:
        return set()
    best_T, looks_T = word_weights_TS.argmax(axis=1), word_weights_TS.max(axis=1) > 0
    return {(int(best), target) for target, best in enumerate(best_T) if looks_T[target]}


def links_above(word_weights_TS: np.ndarray, threshold: float) -> set[Link]:
    """Every pair with at least this weight: a target word may have several source words, or none."""
    return {(int(source), int(target)) for target, source in np.argwhere(word_weights_TS >= threshold)}


def links_in_both_directions(forward_TS: np.ndarray, backward_ST: np.ndarray) -> set[Link]:
    """The links on which a model of each direction agrees; the second one's weights are source by target."""
    turned = {(source, target) for target, source in links_from_weights(backward_ST)}
    return links_from_weights(forward_TS) & turned


def links_by_mutual_choice(word_weights_TS: np.ndarray) -> set[Link]:
    """Pairs that are each other's best in one matrix: the largest of its row and of its column."""
    return links_in_both_directions(word_weights_TS, word_weights_TS.T)


def head_error_rates(
    links_by_head: Mapping[Head, Sequence[Collection[Link]]], gold: Sequence[GoldAlignment]
) -> dict[Head, float]:
    return {head: alignment_error_rate(links, gold) for head, links in links_by_head.items()}


def choose_head(
    links_by_head: Mapping[Head, Sequence[Collection[Link]]], gold: Sequence[GoldAlignment]
) -> Head:
    """The (layer, head) that aligns best, the first of equals.

    Law: call it with validation data; on test data use only the head that it chose.
    """
    rates = head_error_rates(links_by_head, gold)
    if not rates:
        raise DataError("no head to choose from: the model recorded no attention between target and source")
    return min(rates, key=lambda head: (rates[head], head))
