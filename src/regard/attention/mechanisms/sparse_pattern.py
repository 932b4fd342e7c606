"""Softmax attention over a fixed pattern of places: windows, strides, global positions, any blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor, nn

from regard.attention.cache import AttentionCache, Cache
from regard.attention.kernels import by_hand
from regard.attention.masks import EVERYTHING, Mask
from regard.attention.rolling import Remembers, RollingCache
from regard.attention.softmax import scaled_dot_attention, scaled_dot_weights
from regard.attention.sparse import Block, Plan, combined, sparse_attention

DENSE_UP_TO = 64  # positions; shorter sequences are one block
READ_AT_ONCE = 512  # new positions that a rolling cache compares with what it holds in one matrix


class Pattern(Protocol):
    """Which places look at which; a function of the two places alone.

    Law: neither the length of a sequence nor what else is in a batch changes it, so that padding stays invisible.
    """

    @property
    def remembers(self) -> Remembers | None:
        """What later queries can still see; None: everything."""
        ...

    @property
    def sees_what_it_remembers(self) -> bool:
        """Whether the newest place sees all that is remembered."""
        ...

    def sees(self, rows: Tensor, keys: Tensor) -> Tensor:
        """Whether queries at these places may look at keys at those; the two broadcast."""
        ...

    def sees_all(self, length: int) -> bool:
        """Whether sequences as long as this are seen whole."""
        ...

    def blocks(self, length: int, causal: bool) -> Sequence[Block]:
        """Blocks of all queries of a sequence, with what any of them may see."""
        ...


class SparseAttention(nn.Module):
    """softmax(QKᵀ/√d_k) V over the keys that a pattern shows; causal by its mask.

    Long sequences are read block by block, and what no query of a block may see is never computed. While a text
    grows, what the pattern will not show again is forgotten.
    """

    causal = False
    cacheable = True
    has_matrix = True
    reads_products = True

    def __init__(self, pattern: Pattern) -> None:
        super().__init__()
        self.pattern = pattern
        self.keeps_keys = pattern.remembers is None

    def forward(
        self, q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, mask: Mask, bias: Tensor | None = None,
        cache: RollingCache | None = None,
    ) -> Tensor:  # fmt: skip
        if cache is not None:
            return self._continued(q_BHTK, k_BHSK, v_BHSV, mask, bias, cache)
        queries, keys = q_BHTK.shape[-2], k_BHSK.shape[-2]
        whole = queries == keys and mask.offset == 0 and mask.places_BT is None and by_hand(bias)
        if whole and queries > DENSE_UP_TO and not self.pattern.sees_all(queries):
            plan = Plan(self.pattern.blocks(queries, mask.causal), self.pattern.sees, mask.with_dense_edges(), bias)
            return sparse_attention(q_BHTK, k_BHSK, v_BHSV, plan)
        return scaled_dot_attention(q_BHTK, k_BHSK, v_BHSV, self.limited(mask, queries, keys, q_BHTK.device), bias)

    def limited(self, mask: Mask, queries: int, keys: int, device: torch.device | None = None) -> Mask:
        """The mask, and what the pattern hides besides."""
        if torch.compiler.is_compiling() or not self.pattern.sees_all(keys):
            return combined(mask, self.pattern.sees, queries, keys, device)
        return mask

    def weights(self, q_BHTK: Tensor, k_BHSK: Tensor, mask: Mask, bias: Tensor | None = None) -> Tensor:
        limited = self.limited(mask, q_BHTK.shape[-2], k_BHSK.shape[-2], q_BHTK.device)
        return scaled_dot_weights(q_BHTK, k_BHSK, limited, bias)

    def new_cache(
        self, rows: int, heads: int, key_width: int, value_width: int, like: Tensor, room: int = 0
    ) -> AttentionCache:
        if self.pattern.remembers is None:
            return Cache.empty(rows, heads, key_width, value_width, like, room)
        return RollingCache.empty(self.pattern.remembers, rows, heads, key_width, value_width, like)

    def _continued(
        self,
        q_BHTK: Tensor,
        k_BGTK: Tensor,
        v_BGTV: Tensor,
        mask: Mask,
        bias: Tensor | None,
        cache: RollingCache,
    ) -> Tensor:
        """New positions of a text, of each row the first ``mask.lengths_B``, after all that the cache holds."""
        heads, count = q_BHTK.shape[1], q_BHTK.shape[2]
        nothing_yet = not isinstance(cache.ages, Tensor) and cache.ages == 0
        if nothing_yet and count > 1:
            out_BHTV = self(q_BHTK, for_heads(k_BGTK, heads), for_heads(v_BGTV, heads), mask, bias)
            cache.extend(k_BGTK, v_BGTV, mask.lengths_B)
            return out_BHTV
        one_each = count == 1 and mask.lengths_B is None and not isinstance(cache.ages, Tensor)
        if one_each and bias is None and self.pattern.sees_what_it_remembers:
            cache.extend(k_BGTK, v_BGTV)
            k_BGSK, v_BGSV = cache.everything()
            return scaled_dot_attention(q_BHTK, for_heads(k_BGSK, heads), for_heads(v_BGSV, heads), EVERYTHING)
        parts = []
        for start in range(0, count, READ_AT_ONCE):
            part = slice(start, min(start + READ_AT_ONCE, count))
            lengths_B = None if mask.lengths_B is None else (mask.lengths_B - start).clamp(0, part.stop - start)
            beside = None if bias is None else bias[..., part, :]
            keys = k_BGTK[:, :, part], v_BGTV[:, :, part]
            parts.append(self._compared(q_BHTK[:, :, part], *keys, lengths_B, beside, cache))
            cache.extend(*keys, lengths_B)
        return torch.cat(parts, dim=2)

    def _compared(
        self,
        q_BHTK: Tensor,
        k_BGTK: Tensor,
        v_BGTV: Tensor,
        lengths_B: Tensor | None,
        bias: Tensor | None,
        cache: RollingCache,
    ) -> Tensor:
        """A few new positions, compared with all that is held, by their places."""
        heads, count = q_BHTK.shape[1], q_BHTK.shape[2]
        k_BGSK, v_BGSV, places_BS = cache.seen_with(k_BGTK, v_BGTV, lengths_B)
        ages_B1 = cache.ages[:, None] if isinstance(cache.ages, Tensor) else cache.ages
        rows_BT = (ages_B1 + torch.arange(count, device=q_BHTK.device)).expand(len(places_BS), -1)
        rows_BT1, keys_B1S = rows_BT[:, :, None], places_BS[:, None]
        may_look = self.pattern.sees(rows_BT1, keys_B1S) & (keys_B1S >= 0) & (keys_B1S <= rows_BT1)
        if bias is not None:
            bias = _at_places(bias, places_BS)
        dense = Mask(dense_BHTS=may_look[:, None])
        return scaled_dot_attention(q_BHTK, for_heads(k_BGSK, heads), for_heads(v_BGSV, heads), dense, bias)


def for_heads(x_BGSK: Tensor, heads: int) -> Tensor:
    """Grouped keys or values, shown to each head of their group."""
    repeats = heads // x_BGSK.shape[1]
    return x_BGSK if repeats == 1 else x_BGSK.repeat_interleave(repeats, dim=1)


def _at_places(bias: Tensor, places_BS: Tensor) -> Tensor:
    """The columns of a bias over all positions that belong to these places."""
    columns_BS = places_BS.clamp(min=0)
    if len(columns_BS) == 1:
        return bias[..., columns_BS[0]]
    bias_BHTS = bias.view((1,) * (4 - bias.dim()) + bias.shape).expand(len(columns_BS), -1, -1, -1)
    wanted = columns_BS[:, None, None].expand(-1, bias_BHTS.shape[1], bias_BHTS.shape[2], -1)
    return bias_BHTS.gather(-1, wanted)
