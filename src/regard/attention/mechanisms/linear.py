"""Linear attention: a feature map in place of the softmax, so that sums over keys can be taken before a query comes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Protocol

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from regard.attention import AttentionContext, MechanismPart
from regard.attention.kernels import by_hand
from regard.attention.masks import Mask
from regard.attention.mechanisms.sparse_pattern import for_heads
from regard.attention.places import Ages, advanced, joined, reordered
from regard.attention.prefix_sums import (
    causal_linear_attention,
    divided,
    divisor,
    linear_attention,
    sums_of,
)
from regard.core.errors import OptionError
from regard.core.seams import Mechanism

FeatureName = Literal["elu", "relu", "softmax"]


class Features(Protocol):
    """A feature map f with f ≥ 0; an ``nn.Module``. weight(q, k) = f(q)·f(k)."""

    def queries(self, q_BHTK: Tensor) -> Tensor: ...

    def keys(self, k_BHSK: Tensor) -> Tensor: ...


class Pointwise(nn.Module):
    """One map for queries and keys, number by number or over a head's width."""

    def __init__(self, name: FeatureName) -> None:
        super().__init__()
        self.name = name

    def queries(self, q_BHTK: Tensor) -> Tensor:
        if self.name == "elu":
            return functional.elu(q_BHTK) + 1
        return functional.relu(q_BHTK) if self.name == "relu" else torch.softmax(q_BHTK, dim=-1)

    def keys(self, k_BHSK: Tensor) -> Tensor:
        return self.queries(k_BHSK)


@dataclass(slots=True)
class SumsCache:
    """Σ f(k) [v, 1]ᵀ over everything so far, a matrix for each head of keys, however long a text grows."""

    sums_BGRV: Tensor | None = None
    rows: int = 0
    ages: Ages = 0

    def extend(self, k_BGTK: Tensor, v_BGTV: Tensor, lengths_B: Tensor | None = None) -> tuple[Tensor, Tensor]:
        raise AssertionError("it keeps no keys")

    def add(self, sums_BGRV: Tensor, count: int, lengths_B: Tensor | None) -> None:
        self.sums_BGRV = sums_BGRV if self.sums_BGRV is None else self.sums_BGRV + sums_BGRV
        self.ages = advanced(self.ages, count, lengths_B)

    def reorder(self, rows: Tensor) -> SumsCache:
        moved = None if self.sums_BGRV is None else self.sums_BGRV.index_select(0, rows)
        return SumsCache(moved, len(rows), reordered(self.ages, rows))

    def join(self, other: SumsCache) -> SumsCache:
        held = [own.sums_BGRV for own in (self, other)]
        like = next((one for one in held if one is not None), None)
        both = None
        if like is not None:
            filled = [
                like.new_zeros(own.rows, *like.shape[1:]) if one is None else one
                for own, one in zip((self, other), held, strict=True)
            ]
            both = torch.cat(filled)
        device = torch.device("cpu") if like is None else like.device
        ages = joined(self.ages, self.rows, other.ages, other.rows, device)
        return SumsCache(both, self.rows + other.rows, ages)


class LinearAttention(nn.Module):
    """out_t = f(q_t)ᵀ Σ f(k_s) v_sᵀ / f(q_t)ᵀ Σ f(k_s), over all keys that the query may look at.

    Katharopoulos et al. 2020, equations 4 to 6; causal by chunks as in section 3.3, in products instead of a loop over
    positions; step by step with the state of section 3.4. It is causal by its mask. Triangles and padding are what
    sums can express; other rules (segments, given ones, queries that come later) take the matrix, exactly, at n².
    """

    causal = False
    cacheable = True
    has_matrix = True
    keeps_keys = False

    def __init__(self, features: Features) -> None:
        super().__init__()
        self.features = features

    def forward(
        self, q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, mask: Mask, bias: Tensor | None = None,
        cache: SumsCache | None = None,
    ) -> Tensor:  # fmt: skip
        check_no_bias(bias)
        with torch.autocast(q_BHTK.device.type, enabled=False):
            fq, fk, v = self.features.queries(q_BHTK.float()), self._keys(k_BHSK, mask), v_BHSV.float()
            return self._read(fq, fk, v, mask, cache).to(v_BHSV.dtype)

    def weights(self, q_BHTK: Tensor, k_BHSK: Tensor, mask: Mask, bias: Tensor | None = None) -> Tensor:
        check_no_bias(bias)
        return feature_weights(self.features.queries(q_BHTK), self.features.keys(k_BHSK), mask)

    def new_cache(
        self, rows: int, heads: int, key_width: int, value_width: int, like: Tensor, room: int = 0
    ) -> SumsCache:
        return SumsCache(rows=rows)

    def _keys(self, k_BHSK: Tensor, mask: Mask) -> Tensor:
        """Features of the keys; where there is only padding, 0."""
        fk_BHSR = self.features.keys(k_BHSK.float())
        if mask.lengths_B is None:
            return fk_BHSR
        real_BS = torch.arange(k_BHSK.shape[-2], device=k_BHSK.device) < mask.lengths_B[:, None]
        return fk_BHSR * real_BS[:, None, :, None]

    def _read(self, fq: Tensor, fk: Tensor, v: Tensor, mask: Mask, cache: SumsCache | None) -> Tensor:
        if cache is not None:
            return _continued(fq, fk, v, mask, cache)
        beside = replace(mask, causal=False, lengths_B=None)
        if not mask.causal and beside.is_everything:
            return linear_attention(fq, fk, v)
        from_the_first = mask.offset == 0 and mask.places_BT is None and fq.shape[-2] == fk.shape[-2]
        if beside.is_everything and from_the_first and by_hand(None):
            return causal_linear_attention(fq, fk, v)
        return feature_weights(fq, fk, mask) @ v


def _continued(fq_BHTR: Tensor, fk_BGTR: Tensor, v_BGTV: Tensor, mask: Mask, cache: SumsCache) -> Tensor:
    """New positions of a text after what was summed so far, which they join."""
    heads, before = fq_BHTR.shape[1], cache.sums_BGRV
    cache.add(sums_of(fk_BGTR, v_BGTV), fk_BGTR.shape[-2], mask.lengths_B)
    if fq_BHTR.shape[-2] == 1:
        assert cache.sums_BGRV is not None
        return divided(fq_BHTR @ for_heads(cache.sums_BGRV, heads))
    fk_BHTR, v_BHTV = for_heads(fk_BGTR, heads), for_heads(v_BGTV, heads)
    return causal_linear_attention(fq_BHTR, fk_BHTR, v_BHTV, None if before is None else for_heads(before, heads))


def feature_weights(fq_BHTR: Tensor, fk_BHSR: Tensor, mask: Mask) -> Tensor:
    """f(q)·f(k), divided by its sum over the keys that the query may look at."""
    weights_BHTS = fq_BHTR @ fk_BHSR.mT
    may_look = mask.dense(fq_BHTR.shape[-2], fk_BHSR.shape[-2], weights_BHTS.device)
    if may_look is not None:
        weights_BHTS = weights_BHTS.masked_fill(~may_look, 0.0)
    return weights_BHTS / divisor(weights_BHTS.sum(-1, keepdim=True))


def check_no_bias(bias: Tensor | None) -> None:
    if bias is not None:
        raise OptionError(
            "linear attention has no scores to which a bias could be added: sums over keys are taken before a query "
            "comes; choose positions that act on embeddings, queries or keys (model.position.kind = \"learned\", "
            '"sinusoidal" or "rotary")'
        )


class LinearConfig(MechanismPart):
    """Which feature map takes the softmax's place.

    ``elu``: 1 + elu(x) (Katharopoulos et al. 2020, equation 7). ``relu``: max(x, 0), by which a query may read nothing.
    ``softmax``: over a head's width (Shen et al. 2021, section 3.2, which takes the keys' over positions instead; that
    would let the future in).
    """

    kind: str = "linear"
    features: FeatureName = Field("elu")

    def build(self, context: AttentionContext) -> Mechanism:
        return LinearAttention(Pointwise(self.features))
