"""Sampling: every token is drawn from the model's probabilities, with random numbers of its own per sentence."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from regard.core.seams import Decodable, Hypothesis
from regard.decoding.filters import apply_temperature, keep_min_p, keep_top_k, keep_top_p
from regard.decoding.options import Sampling
from regard.decoding.sentences import STANDARD, Sentences, Symbols
from regard.decoding.top import IMPOSSIBLE
from regard.decoding.walk import Watch, walk


def search(
    model: Decodable, sentences: Sentences, options: Sampling, symbols: Symbols = STANDARD, watch: Watch | None = None
) -> list[list[Hypothesis]]:
    """``n_best`` independent samples of each sentence, the most probable first; two may be the same."""
    chance_ANT = random_numbers(sentences, options).to(sentences.first_BT.device)
    said = UsedTokens(sentences, options) if options.repetition_penalty != 1.0 else None

    def choose(logits_RW: Tensor, scores_RW: Tensor, chosen_B: Tensor, running_B: Tensor) -> Tensor:
        chance_BN = chance_ANT[running_B, :, chosen_B.clamp(min=1) - 1]
        if said is not None:
            allowed_RW = scores_RW > IMPOSSIBLE
            scores_RW = said.penalise_repetition(logits_RW.float(), running_B).masked_fill(~allowed_RW, IMPOSSIBLE)
        tokens_BN = draw(filtered(scores_RW, options), chance_BN.view(len(scores_RW), -1)).view_as(chance_BN)
        if said is not None:
            said.add(running_B, tokens_BN, chosen_B)
        return tokens_BN

    return walk(model, sentences, symbols, options.rows, choose, watch)


class UsedTokens:
    """Which tokens stand in each way's text so far, its opening included."""

    def __init__(self, sentences: Sentences, options: Sampling) -> None:
        self.penalty = options.repetition_penalty
        self.ways = options.n_best
        self.openings = [
            [*first, *rest]
            for first, rest in zip(sentences.first_BT.tolist(), sentences.rest or [()] * len(sentences.limits))
        ]
        self.said_ANW = torch.zeros(0)

    def penalise_repetition(self, logits_RW: Tensor, running_B: Tensor) -> Tensor:
        """What was said is divided by the penalty where its logit is positive, else multiplied (Keskar et al. 2019)."""
        if not len(self.said_ANW):
            shape = (len(self.openings), self.ways, logits_RW.shape[1])
            self.said_ANW = torch.zeros(shape, dtype=torch.bool, device=logits_RW.device)
            for own_NW, opening in zip(self.said_ANW, self.openings):
                own_NW[:, opening] = True
        rows = len(logits_RW) // len(running_B)
        said_RW = self.said_ANW[running_B, :rows].flatten(0, 1)
        lowered_RW = torch.where(logits_RW > 0, logits_RW / self.penalty, logits_RW * self.penalty)
        return torch.where(said_RW, lowered_RW, logits_RW)

    def add(self, running_B: Tensor, tokens_BN: Tensor, chosen_B: Tensor) -> None:
        heard_B = chosen_B >= 1
        way_N = torch.arange(self.ways, device=tokens_BN.device)
        self.said_ANW[running_B[heard_B, None], way_N, tokens_BN[heard_B]] = True


def filtered(logits_RW: Tensor, options: Sampling) -> Tensor:
    """What is left to draw from; each rule sees what the one before it has left."""
    logits_RW = keep_top_k(apply_temperature(logits_RW, options.temperature), options.top_k)
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
