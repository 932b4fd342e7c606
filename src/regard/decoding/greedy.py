"""Greedy decoding: the most probable token at every step."""

from __future__ import annotations

from torch import Tensor

from regard.core.seams import Decodable, Hypothesis
from regard.decoding.options import Greedy
from regard.decoding.sentences import STANDARD, Sentences, Symbols
from regard.decoding.top import top_tokens
from regard.decoding.walk import Watch, walk


def search(
    model: Decodable, sentences: Sentences, options: Greedy, symbols: Symbols = STANDARD, watch: Watch | None = None
) -> list[list[Hypothesis]]:
    """One hypothesis for each sentence; of equally probable tokens the lower one is taken."""
    return walk(model, sentences, symbols, options.rows, _most_probable, watch)


def _most_probable(logits_RW: Tensor, scores_RW: Tensor, chosen_B: Tensor, running_B: Tensor) -> Tensor:
    return top_tokens(scores_RW, 1)[1]
