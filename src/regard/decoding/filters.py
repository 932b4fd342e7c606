"""Filters of sampling: temperature, top-k, top-p and min-p, each by its definition."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from regard.decoding.top import IMPOSSIBLE, top_tokens

USUALLY_ENOUGH = 256
"""Tokens that nearly always reach p together; only where they do not are whole rows sorted."""


def apply_temperature(logits_RW: Tensor, temperature: float) -> Tensor:
    """Logits divided by the temperature: below 1 the probable becomes more probable, above 1 less."""
    # The best logit is moved to 0 first: a tiny temperature then overflows to -inf, never to infinity.
    return (logits_RW - logits_RW.amax(dim=-1, keepdim=True)) / temperature


def keep_top_k(logits_RW: Tensor, k: int) -> Tensor:
    """The k most probable tokens (Fan et al. 2018); of equals the lower tokens. 0 keeps all."""
    if k == 0 or k >= logits_RW.shape[1]:
        return logits_RW
    values_RK, tokens_RK = top_tokens(logits_RW, k)
    return torch.full_like(logits_RW, IMPOSSIBLE).scatter(1, tokens_RK, values_RK)


def keep_top_p(logits_RW: Tensor, p: float) -> Tensor:
    """The smallest set of most probable tokens that has at least probability p (Holtzman et al. 2020)."""
    if p >= 1.0:
        return logits_RW
    probability_RW = logits_RW.softmax(dim=1)
    best_RK, tokens_RK = top_tokens(probability_RW, USUALLY_ENOUGH)
    if (best_RK.cumsum(dim=1)[:, -1] < p).any():
        best_RK, tokens_RK = probability_RW.sort(dim=1, descending=True, stable=True)
    # A token is needed as long as those before it do not reach p; so the first one always is.
    before_RK = best_RK.cumsum(dim=1) - best_RK
    kept_RK = logits_RW.gather(1, tokens_RK).masked_fill(before_RK >= p, IMPOSSIBLE)
    return torch.full_like(logits_RW, IMPOSSIBLE).scatter(1, tokens_RK, kept_RK)


def keep_min_p(logits_RW: Tensor, share: float) -> Tensor:
    """Tokens at least ``share`` times as probable as the most probable one (Nguyen et al. 2024)."""
    if share == 0.0:
        return logits_RW
    least_R1 = logits_RW.amax(dim=1, keepdim=True) + math.log(share)
    return logits_RW.masked_fill(logits_RW < least_R1, IMPOSSIBLE)
