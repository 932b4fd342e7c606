"""Reformer: a query reads the places whose hash is its own, in chunks, several times over with other hashes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

import torch
from pydantic import Field, field_validator
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from regard.attention import AttentionContext, MechanismPart
from regard.attention.cache import Cache
from regard.attention.formulas import scaled_dot_scores
from regard.attention.hashing import buckets_of, cells_of, factors_of, sees
from regard.attention.masks import Mask
from regard.attention.softmax import softmax_weights
from regard.core.errors import OptionError
from regard.core.seams import Mechanism

ALONE = -1e5  # the score of a place with itself: it counts where nothing else can be seen
HIDDEN = -1e9
NOBODY = -9  # a cell that none sees


class Reformer(nn.Module):
    """softmax(QKᵀ/√d_k) V over the places that share a hash with the query in at least one round.

    Kitaev et al. 2020, section 2, with shared queries and keys: a place is hashed by its key, and reads itself only
    where nothing else can be seen. Departures: a bucket is cut into chunks from its own start, so that a place's chunk
    depends on what stands before it alone (with all buckets in one sorted row, as published, the future moves chunks of
    the past); without a triangle the chunk after is read too; rotations are drawn once and kept with the weights. A key
    that several rounds find counts once (their equation 4 and appendix A, by N). Padding at the end and triangles are
    what chunks can express; other rules take the matrix, exactly, at n².
    """

    causal = False
    cacheable = True
    has_matrix = True
    keeps_keys = False
    shares_keys = True

    def __init__(self, width: int, buckets: int, chunk: int, rounds: int) -> None:
        super().__init__()
        self.chunk, self.rounds = chunk, rounds
        for number, factor in enumerate(factors_of(buckets)):
            self.register_buffer(f"rotations_{number}_RKC", torch.randn(rounds, width, factor // 2))

    def forward(
        self, q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, mask: Mask, bias: Tensor | None = None,
        cache: Cache | None = None,
    ) -> Tensor:  # fmt: skip
        check_no_bias(bias)
        buckets_BHSR = self._buckets(k_BHSK)
        if cache is not None:
            return self._continued(q_BHTK, k_BHSK, v_BHSV, buckets_BHSR, mask, cache)
        beside = replace(mask, causal=False, lengths_B=None)
        from_the_first = mask.offset == 0 and mask.places_BT is None and q_BHTK.shape[-2] == k_BHSK.shape[-2]
        if not (beside.is_everything and from_the_first) or torch.compiler.is_compiling():
            return self._weights(q_BHTK, k_BHSK, buckets_BHSR, mask) @ v_BHSV
        with torch.autocast(q_BHTK.device.type, enabled=False):
            out = self._by_chunks(q_BHTK.float(), k_BHSK.float(), v_BHSV.float(), buckets_BHSR, mask)
        return out.to(v_BHSV.dtype)

    def weights(self, q_BHTK: Tensor, k_BHSK: Tensor, mask: Mask, bias: Tensor | None = None) -> Tensor:
        check_no_bias(bias)
        return self._weights(q_BHTK, k_BHSK, self._buckets(k_BHSK), mask)

    def new_cache(
        self, rows: int, heads: int, key_width: int, value_width: int, like: Tensor, room: int = 0
    ) -> Cache:
        """Keys, behind each its buckets in all rounds, and values: chunks that will be seen are anywhere in a text."""
        whole = like.new_empty(0, dtype=torch.float32)  # in which numbers of buckets are exact
        return Cache.empty(rows, heads, key_width + self.rounds, value_width, whole, room)

    @torch.no_grad()
    def _buckets(self, k_BHSK: Tensor) -> Tensor:
        with torch.autocast(k_BHSK.device.type, enabled=False):
            return buckets_of(k_BHSK, tuple(self.buffers()))

    def _weights(self, q_BHTK: Tensor, k_BHSK: Tensor, buckets_BHSR: Tensor, mask: Mask) -> Tensor:
        """The matrix, whoever asks: queries that come later than their keys stand where the mask says."""
        queries, keys = q_BHTK.shape[-2], k_BHSK.shape[-2]
        cells_BHSR = cells_of(buckets_BHSR, self.chunk)
        places = places_of(mask, queries, q_BHTK.device)
        at_BHTR = places.clamp(max=keys - 1)[..., None].expand(*q_BHTK.shape[:2], -1, self.rounds)
        own_BHTR = cells_BHSR.gather(2, at_BHTR)
        seen = sees(own_BHTR[:, :, :, None], cells_BHSR[:, :, None], ahead=not mask.causal).any(-1)
        itself = places[..., None] == torch.arange(keys, device=q_BHTK.device)
        scores_BHTS = scaled_dot_scores(q_BHTK, k_BHSK).masked_fill(itself, ALONE)
        allowed = seen if mask.dense_BHTS is None else seen & mask.dense_BHTS
        return softmax_weights(scores_BHTS, replace(mask, dense_BHTS=allowed), None)

    def _continued(
        self, q_BHTK: Tensor, k_BHTK: Tensor, v_BHTV: Tensor, buckets_BHTR: Tensor, mask: Mask, cache: Cache
    ) -> Tensor:
        """New positions of a text, of each row the first ``mask.lengths_B``, after all that the cache holds."""
        ages, count, width = cache.ages, q_BHTK.shape[-2], k_BHTK.shape[-1]
        nothing_yet = not isinstance(ages, Tensor) and ages == 0
        hashed = torch.cat((k_BHTK.float(), buckets_BHTR.float()), dim=-1)
        joint_BHSJ, v_BHSV = cache.extend(hashed, v_BHTV, mask.lengths_B)
        if nothing_yet and count > 1:
            return self(q_BHTK, k_BHTK, v_BHTV, mask)
        places = ages if not isinstance(ages, Tensor) else ages[:, None] + torch.arange(count, device=ages.device)
        own = Mask(causal=True).at(places)
        k_BHSK, buckets_BHSR = joint_BHSJ[..., :width], joint_BHSJ[..., width:].long()
        return (self._weights(q_BHTK.float(), k_BHSK, buckets_BHSR, own) @ v_BHSV).to(v_BHTV.dtype)

    # -- by chunks ------------------------------------------------------------------------------------------

    def _by_chunks(self, q: Tensor, k: Tensor, v: Tensor, buckets_BHSR: Tensor, mask: Mask) -> Tensor:
        """Every round by itself, then together by the sums of their weights; in the backward pass made again."""
        batch, heads, length, _ = q.shape
        q_NSK, k_NSK, v_NSV = (one.reshape(batch * heads, length, -1) for one in (q, k, v))
        cells_NSR = cells_of(buckets_BHSR, self.chunk).flatten(0, 1)
        buckets_NSR = buckets_BHSR.flatten(0, 1)
        limits_N = None if mask.lengths_B is None else mask.lengths_B.repeat_interleave(heads)
        outs, sums = [], []
        for number in range(self.rounds):
            grid = sorted_by_bucket(buckets_NSR[..., number], self.chunk)
            asked = (q_NSK, k_NSK, v_NSV, cells_NSR, number, grid, mask.causal, limits_N)
            out_NSV, sum_NS = checkpoint(one_round, *asked, use_reentrant=False)
            outs.append(out_NSV)
            sums.append(sum_NS)
        if self.rounds == 1:
            return outs[0].view(*q.shape[:-1], -1)
        shares_RNS = torch.stack(sums).softmax(0)
        out_NSV = (torch.stack(outs) * shares_RNS[..., None]).sum(0)
        return out_NSV.view(*q.shape[:-1], -1)


def sorted_by_bucket(buckets_NS: Tensor, block: int) -> tuple[Tensor, Tensor]:
    """The places, bucket after bucket, in blocks (−1: nobody), and where each place went: places_NCM, slots_NS.

    However buckets lie across blocks: a chunk and the one before it are at most two blocks away, so that no room is
    lost where a bucket holds little.
    """
    rows, length = buckets_NS.shape
    order_NS = buckets_NS.argsort(dim=-1, stable=True)
    counted_S = torch.arange(length, device=buckets_NS.device).expand(rows, -1)
    slots_NS = torch.empty_like(order_NS).scatter_(-1, order_NS, counted_S)
    return functional.pad(order_NS, (0, -length % block), value=-1).view(rows, -1, block), slots_NS


def one_round(
    q_NSK: Tensor, k_NSK: Tensor, v_NSV: Tensor, cells_NSR: Tensor, number: int, grid: tuple[Tensor, Tensor],
    causal: bool, limits_N: Tensor | None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """What every place reads in one round, and the logarithm of the sum of its weights."""
    places_NCM, slots_NS = grid
    rows, cells, chunk = places_NCM.shape
    flat_NX = places_NCM.clamp(min=0).flatten(1)

    def placed(x_NSC: Tensor) -> Tensor:
        wanted = flat_NX[..., None].expand(-1, -1, x_NSC.shape[-1])
        return x_NSC.gather(1, wanted).view(rows, cells, chunk, -1)

    def seen(x_NCM: Tensor, empty: int | float) -> Tensor:
        """Of every block the two before it, itself and, where one may look ahead, the two after."""
        edge = torch.full_like(x_NCM[:, :1], empty).expand(-1, 2, *x_NCM.shape[2:])
        around = torch.cat((edge, x_NCM) if causal else (edge, x_NCM, edge), 1)
        return torch.cat([around[:, shift : shift + cells] for shift in range(3 if causal else 5)], 2)

    keys_NCX = seen(places_NCM, -1)
    scores_NCMX = placed(q_NSK) @ seen(placed(k_NSK), 0.0).mT / math.sqrt(q_NSK.shape[-1])
    own_NCM = placed(cells_NSR)
    hidden = (keys_NCX[:, :, None] < 0) | ~sees_block(own_NCM[..., number], seen, causal)
    if causal:
        hidden = hidden | (keys_NCX[:, :, None] > places_NCM[..., None])
    if limits_N is not None:
        hidden = hidden | (keys_NCX >= limits_N[:, None, None])[:, :, None]
    scores_NCMX = scores_NCMX.masked_fill(keys_NCX[:, :, None] == places_NCM[..., None], ALONE)
    if cells_NSR.shape[-1] > 1:
        scores_NCMX = scores_NCMX - times_found(own_NCM, seen, causal).log()
    scores_NCMX = scores_NCMX.masked_fill(hidden, HIDDEN)
    most_NCM1 = scores_NCMX.detach().amax(-1, keepdim=True)
    weights_NCMX = (scores_NCMX - most_NCM1).exp().masked_fill(hidden, 0.0)
    total_NCM1 = weights_NCMX.sum(-1, keepdim=True).clamp(min=1.0)  # it is at least 1 where anything is seen
    out_NCMV = weights_NCMX @ seen(placed(v_NSV), 0.0) / total_NCM1
    sums_NCM = (most_NCM1 + total_NCM1.log())[..., 0]
    back = slots_NS[..., None].expand(-1, -1, v_NSV.shape[-1])
    return out_NCMV.flatten(1, 2).gather(1, back), sums_NCM.flatten(1).gather(1, slots_NS)


def sees_block(cells_NCM: Tensor, seen: Callable[[Tensor, int], Tensor], causal: bool) -> Tensor:
    """Whether a query's chunk sees a key's, for the keys around each block."""
    return sees(cells_NCM[..., None], seen(cells_NCM, NOBODY)[:, :, None], ahead=not causal)


def times_found(cells_NCMR: Tensor, seen: Callable[[Tensor, int], Tensor], causal: bool) -> Tensor:
    """In how many rounds a query sees a key, by which what it adds in each of them is divided."""
    rounds = [sees_block(cells_NCM, seen, causal) for cells_NCM in cells_NCMR.unbind(-1)]
    return torch.stack(rounds).sum(0).clamp(min=1).float()


def places_of(mask: Mask, queries: int, device: torch.device) -> Tensor:
    """places_BHT of the queries, broadcastable."""
    if mask.places_BT is None:
        return torch.arange(mask.offset, mask.offset + queries, device=device)[None, None]
    return mask.places_BT if mask.places_BT.dim() > 2 else mask.places_BT[:, None]


def check_no_bias(bias: Tensor | None) -> None:
    if bias is not None:
        raise OptionError(
            "hashed attention takes no bias on scores: it would need the matrix that hashing spares; choose positions "
            'that act on embeddings, queries or keys (model.position.kind = "learned", "sinusoidal" or "rotary")'
        )


class ReformerConfig(MechanismPart):
    """So many buckets, chunks of so many places, so many rounds of hashing; with shared heads.

    A query sees at most 2 · ``chunk`` places a round (3 · where it may look ahead). More rounds find more of the keys
    that fit, and cost as much again each.
    """

    self_only: ClassVar[bool] = True

    kind: str = "reformer"
    buckets: int = Field(64, ge=2)
    chunk: int = Field(64, ge=1)
    rounds: int = Field(4, ge=1)

    @field_validator("buckets")
    @classmethod
    def _divides(cls, buckets: int) -> int:
        """Half of the buckets are the directions opposite to the others, in each factor."""
        if buckets % 2:
            raise ValueError(f"{buckets} buckets do not divide into pairs of opposite directions; give an even number")
        if buckets > 64 and buckets % 4:
            raise ValueError(
                f"more than 64 buckets are hashed by two even factors, and {buckets} does not divide into such; give a "
                "multiple of 4"
            )
        return buckets

    def build(self, context: AttentionContext) -> Mechanism:
        return Reformer(context.key_width, self.buckets, self.chunk, self.rounds)
