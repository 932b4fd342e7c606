"""Sampling: each token by chance, as probable as the model says, with every sentence's own random numbers."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from regard.core.seams import Decodable, Hypothesis
from regard.decoding.filters import heat, keep_min_p, keep_top_k, keep_top_p
from regard.decoding.options import Sampling
from regard.decoding.sentences import STANDARD, Sentences, Symbols
from regard.decoding.walk import walk


def search(
    model: Decodable, sentences: Sentences, options: Sampling, symbols: Symbols = STANDARD
) -> list[list[Hypothesis]]:
    """``n_best`` independent samples of each sentence, the most probable first; two may be the same."""
    chance_ANT = random_numbers(sentences, options).to(sentences.first_BT.device)

    def choose(scores_RW: Tensor, position: int, running_B: Tensor) -> Tensor:
        chance_BN = chance_ANT[running_B, :, position - 1]
        return draw(filtered(scores_RW, options), chance_BN.view(len(scores_RW), -1)).view_as(chance_BN)

    return walk(model, sentences, symbols, options.rows, choose)


def filtered(logits_RW: Tensor, options: Sampling) -> Tensor:
    """What is left to draw from; each rule sees what the one before it has left."""
    logits_RW = keep_top_k(heat(logits_RW, options.temperature), options.top_k)
    return keep_min_p(keep_top_p(logits_RW, options.top_p), options.min_p)


def draw(logits_RW: Tensor, chance_RM: Tensor) -> Tensor:
    """tokens_RM: where the chances, uniform in [0, 1), fall in the cumulated probabilities of their row."""
    heights_RW = logits_RW.softmax(dim=1).cumsum(dim=1)
    total_R1 = heights_RW[:, -1:]
    # Rounding may lift a chance near 1 to the very top, where no token is.
    below_the_top_R1 = torch.nextafter(total_R1, torch.zeros_like(total_R1))
    # The first token whose height lies above the chance: one without probability adds no height, so never it.
    return torch.searchsorted(heights_RW, torch.minimum(chance_RM * total_R1, below_the_top_R1), right=True)


def random_numbers(sentences: Sentences, options: Sampling) -> Tensor:
    """chance_ANT: from one generator for each sentence, so that a batch does not change an answer."""
    chance_ANT = torch.zeros(len(sentences.limits), options.n_best, max(sentences.limits, default=0))
    for place, (limit, index) in enumerate(zip(sentences.limits, sentences.indices)):
        generator = np.random.default_rng((options.seed, index))
        numbers_NT = generator.random((options.n_best, limit), dtype=np.float32)
        chance_ANT[place, :, :limit] = torch.from_numpy(numbers_NT)
    return chance_ANT
