"""Hashing by angles: which vectors point the same way, and which places of a bucket stand near one another."""

from __future__ import annotations

import torch
from torch import Tensor


def factors_of(buckets: int) -> tuple[int, ...]:
    """The even numbers whose product it is, as near to one another as can be; one where it is small."""
    if buckets <= 64:
        return (buckets,)
    halves = [one for one in range(2, buckets, 2) if buckets % one == 0 and (buckets // one) % 2 == 0]
    small = max((one for one in halves if one * one <= buckets), default=0)
    return (small, buckets // small) if small else (buckets,)


def buckets_of(x_BHSK: Tensor, rotations_RKC: tuple[Tensor, ...]) -> Tensor:
    """buckets_BHSR, one for each round: argmax of [xR, −xR] (Kitaev et al. 2020, section 2, after Andoni et al. 2015).

    Where several sets of rotations are given, each finds one digit, so that the work grows with the sum of the factors
    and not with their product.
    """
    found, place_value = None, 1
    for rotation_RKC in rotations_RKC:
        turned_BHRSC = x_BHSK.float()[:, :, None] @ rotation_RKC.float()
        digit_BHRS = torch.cat((turned_BHRSC, -turned_BHRSC), dim=-1).argmax(-1)
        found = digit_BHRS * place_value if found is None else found + digit_BHRS * place_value
        place_value *= 2 * rotation_RKC.shape[-1]
    assert found is not None
    return found.transpose(2, 3)


def ranks_of(buckets_NS: Tensor) -> tuple[Tensor, Tensor]:
    """How many earlier places are in the bucket of each, and all places in the order of buckets; ranks_NS, order_NS.

    A rank depends on what stands earlier alone: later places and padding cannot move it.
    """
    order_NS = buckets_NS.argsort(dim=-1, stable=True)
    sorted_NS = buckets_NS.gather(-1, order_NS)
    places_S = torch.arange(buckets_NS.shape[-1], device=buckets_NS.device)
    begins_NS = torch.ones_like(sorted_NS, dtype=torch.bool)
    begins_NS[:, 1:] = sorted_NS[:, 1:] != sorted_NS[:, :-1]
    first_NS = torch.where(begins_NS, places_S, 0).cummax(-1).values
    ranks_NS = torch.empty_like(order_NS).scatter_(-1, order_NS, places_S - first_NS)
    return ranks_NS, order_NS


def cells_of(buckets_BHSR: Tensor, chunk: int) -> Tensor:
    """cells_BHSR: a number for each bucket and chunk of it, counted from the bucket's own start.

    Neighbouring chunks of a bucket have neighbouring numbers, and no two chunks of different buckets have.
    """
    batch, heads, places, rounds = buckets_BHSR.shape
    ranks_NS, _ = ranks_of(buckets_BHSR.permute(0, 1, 3, 2).reshape(-1, places))
    ranks_BHSR = ranks_NS.view(batch, heads, rounds, places).transpose(2, 3)
    return buckets_BHSR * (places // chunk + 3) + ranks_BHSR // chunk


def sees(query_cells: Tensor, key_cells: Tensor, *, ahead: bool) -> Tensor:
    """Whether a query's chunk sees a key's: its own, the one before it, and where one may look ahead, the one after."""
    distance = query_cells - key_cells
    return (distance.abs() <= 1) if ahead else (distance == 0) | (distance == 1)
