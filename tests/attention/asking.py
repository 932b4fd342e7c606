"""Queries, keys and values to ask mechanisms with, and laws that several of them are held to."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.attention import MECHANISMS, AttentionContext
from regard.attention.masks import CAUSAL, EVERYTHING, Mask, inside_segments
from regard.core.config import parse

BATCH, HEADS, KEY_WIDTH, VALUE_WIDTH = 2, 3, 7, 11


def made(table: dict[str, Any], context: AttentionContext) -> Any:
    return parse(MECHANISMS.resolve(table["kind"]), table).build(context)


def asked(length: int, seed: int = 5) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    widths = (KEY_WIDTH, KEY_WIDTH, VALUE_WIDTH)
    q, k, v = (torch.randn(BATCH, HEADS, length, width, generator=generator, requires_grad=True) for width in widths)
    return q, k, v


def masks(lengths: tuple[int, int], length: int, segment: int, given: Tensor) -> dict[str, Mask]:
    """Every rule that a mask may hold: padding up to ``lengths``, segments of ``segment`` positions, a given matrix."""
    padding = Mask(lengths_B=torch.tensor(lengths))
    segments = inside_segments(torch.arange(length).expand(BATCH, -1) // segment)
    return {
        "everything": EVERYTHING,
        "causal": CAUSAL,
        "padding": padding,
        "causal and padding": CAUSAL & padding,
        "an empty text": Mask(lengths_B=torch.tensor([0, lengths[0] // 2])),
        "segments": CAUSAL & segments,
        "segments both ways": segments,
        "given": Mask(dense_BHTS=given),
        "a window besides": Mask(window=3),
    }


def check_is_its_matrix(mechanism: Any, asked: tuple[Tensor, Tensor, Tensor], mask: Mask) -> None:
    """Answers and gradients are those of the matrix, in which nothing is that may not be seen."""
    q, k, v = asked
    weights_BHTS = mechanism.weights(q, k, mask)
    found, expected = mechanism(q, k, v, mask), weights_BHTS @ v
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
    may_look = mask.dense(q.shape[2], k.shape[2])
    if may_look is not None:
        assert not weights_BHTS.masked_select(~may_look).any()
    pull = torch.randn_like(found)
    for one, other in zip(torch.autograd.grad(found, (q, k, v), pull), torch.autograd.grad(expected, (q, k, v), pull)):
        assert bool(one.isfinite().all())
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-3)


@torch.no_grad()
def check_step_by_step(mechanism: Any, asked: tuple[Tensor, Tensor, Tensor], chunks: tuple[int, ...]) -> Any:
    """Read in chunks, with a cache, a text has the answers of one pass; gives the cache."""
    full, cache = mechanism(*asked, CAUSAL), mechanism.new_cache(BATCH, HEADS, KEY_WIDTH, VALUE_WIDTH, asked[0])
    parts = zip(*(x.split(chunks, dim=2) for x in asked))
    steps = [mechanism(*part, CAUSAL, None, cache) for part in parts]
    torch.testing.assert_close(torch.cat(steps, dim=2), full, atol=1e-5, rtol=1e-4)
    return cache


def check_hidden(mechanism: Any, asked: tuple[Tensor, Tensor, Tensor], mask: Mask, seen: Tensor, size: float) -> Tensor:
    """What a query may not see, however loud, changes nothing; gives the answers."""
    q, k, v = asked
    before = mechanism(q, k, v, mask)
    for s in range(k.shape[2]):
        loud_k, loud_v = k.detach().clone(), v.detach().clone()
        loud_k[:, :, s] += size
        loud_v[:, :, s] -= size
        blind = ~seen[..., s]
        assert torch.equal(mechanism(q, loud_k, loud_v, mask)[blind], before[blind])
    return before
