"""Segment recurrence: layers that read, beside their own segment, what they were given of the one before."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.attention.formulas import join_heads, split_heads
from regard.attention.heads import HeadShape, xavier
from regard.attention.masks import Mask
from regard.attention.places import Ages, advanced, joined, reordered
from regard.attention.softmax import ScaledDot
from regard.layers.blocks import PreNorm
from regard.layers.positions import sinusoids


@dataclass(slots=True)
class SegmentMemory:
    """What each layer was given at the last positions: the newest at the right end, of each row so many as it has.

    Every layer remembers equally many; what stands left of a row's own positions is 0, and nobody looks there.
    """

    inputs_LBMD: Tensor
    held: Ages = 0

    def mask(self, size: int, count: int) -> Mask:
        """Who sees whom among these and ``count`` new positions: a position itself and ``size`` before it."""
        remembered = self.inputs_LBMD.shape[2]
        seen = Mask(causal=True, window=size + 1).at(remembered)
        hidden = remembered - self.held
        if isinstance(hidden, Tensor) or hidden:
            columns_S = torch.arange(remembered + count, device=self.inputs_LBMD.device)
            first = hidden[:, None] if isinstance(hidden, Tensor) else hidden
            shown_BS = (columns_S >= first).view(-1, len(columns_S))
            seen = seen & Mask(dense_BHTS=shown_BS[:, None, None]).at(remembered)
        return seen

    def after(self, given_LBTD: Tensor, size: int, lengths_B: Tensor | None) -> SegmentMemory:
        """What is remembered once new positions were read, of each row the first so many."""
        whole_LBSD = torch.cat((self.inputs_LBMD, given_LBTD), dim=2)
        held = advanced(self.held, given_LBTD.shape[2], lengths_B)
        room = min(size, int(held.max()) if isinstance(held, Tensor) else held)
        if lengths_B is None:
            kept_LBMD = whole_LBSD[:, :, whole_LBSD.shape[2] - room :]
        else:
            ends_B1 = (self.inputs_LBMD.shape[2] + lengths_B)[:, None]
            columns_BM = ends_B1 - room + torch.arange(room, device=ends_B1.device)
            rows_B1 = torch.arange(len(ends_B1), device=ends_B1.device)[:, None]
            kept_LBMD = whole_LBSD[:, rows_B1, columns_BM.clamp(min=0)]
            kept_LBMD = kept_LBMD * (columns_BM >= 0)[..., None]
        limited = held.clamp(max=size) if isinstance(held, Tensor) else min(held, size)
        return SegmentMemory(kept_LBMD, limited)

    def reorder(self, rows: Tensor) -> SegmentMemory:
        return SegmentMemory(self.inputs_LBMD.index_select(1, rows), reordered(self.held, rows))

    def join(self, other: SegmentMemory) -> SegmentMemory:
        room = max(self.inputs_LBMD.shape[2], other.inputs_LBMD.shape[2])
        both = [functional.pad(one.inputs_LBMD, (0, 0, room - one.inputs_LBMD.shape[2], 0)) for one in (self, other)]
        rows = [one.inputs_LBMD.shape[1] for one in (self, other)]
        held = joined(self.held, rows[0], other.held, rows[1], self.inputs_LBMD.device)
        return SegmentMemory(torch.cat(both, dim=1), held)


class DistanceAttention(nn.Module):
    """softmax(((q + u) kᵀ + (q + v) rᵀ) / √d_k) V, where r is a projected sinusoid of the distance to each key.

    Dai et al. 2019, section 3.3: u asks what a key says wherever it stands, v where it stands whatever it says. Keys
    and values are made of what is remembered and of what is new.
    """

    def __init__(self, shape: HeadShape) -> None:
        super().__init__()
        self.shape = shape.filled()
        queries, keys, values = self.shape.splits
        self.project = nn.Linear(shape.width, queries, bias=False)
        self.project_memory = nn.Linear(shape.width, keys + values, bias=False)
        self.project_distance = nn.Linear(shape.width, keys, bias=False)
        self.content_HK = nn.Parameter(torch.zeros(shape.heads, self.shape.key_width))
        self.distance_HK = nn.Parameter(torch.zeros(shape.heads, self.shape.key_width))
        self.mechanism = ScaledDot()
        self.output = nn.Linear(values, shape.width, bias=False)
        xavier((self.project.weight, *self.project_memory.weight.split((keys, values)), self.output.weight), self)

    def forward(self, x_BTD: Tensor, whole_BSD: Tensor, mask: Mask) -> Tensor:
        """``whole_BSD`` is what is remembered, then x itself."""
        heads, keys = self.shape.heads, whole_BSD.shape[1]
        q_BHTK = split_heads(self.project(x_BTD), heads)
        k_BSJ, v_BSJ = self.project_memory(whole_BSD).split(self.shape.splits[1:], dim=-1)
        k_BHSK, v_BHSV = split_heads(k_BSJ, heads), split_heads(v_BSJ, heads)
        bias = self._bias(q_BHTK + self.distance_HK[:, None], keys)
        return self.output(join_heads(self.mechanism(q_BHTK + self.content_HK[:, None], k_BHSK, v_BHSV, mask, bias)))

    def _bias(self, q_BHTK: Tensor, keys: int) -> Tensor:
        """(q + v) rᵀ / √d_k for every key; a product for each distance, then every query's own row of them."""
        queries = q_BHTK.shape[-2]
        places_S = torch.arange(keys, device=q_BHTK.device)
        table_SD = sinusoids(places_S, self.shape.width).to(q_BHTK.dtype)
        r_HDK = split_heads(self.project_distance(table_SD)[None], self.shape.heads)[0]
        products_BHTD = q_BHTK @ r_HDK.mT * self.shape.key_width**-0.5
        distances_TS = (places_S[keys - queries :, None] - places_S).clamp(min=0)
        return products_BHTD.gather(-1, distances_TS.expand(*q_BHTK.shape[:2], -1, -1))

    def residual_outputs(self) -> tuple[nn.Linear, ...]:
        return (self.output,)

    def stacked_matrices(self) -> dict[Tensor, tuple[int, ...]]:
        return {self.project_memory.weight: self.shape.splits[1:]}


class RecurrentLayer(nn.Module):
    """Attention over what is remembered and what is new, then a network, each after a norm and in a residual."""

    def __init__(
        self, attention: DistanceAttention, feed_forward: nn.Module, residual: PreNorm, other: PreNorm
    ) -> None:
        super().__init__()
        self.attention, self.feed_forward = attention, feed_forward
        self.attention_residual, self.feed_forward_residual = residual, other

    def forward(self, x_BTD: Tensor, remembered_BMD: Tensor, mask: Mask) -> Tensor:
        before_BMD = self.attention_residual.norm(remembered_BMD)

        def attended(y_BTD: Tensor) -> Tensor:
            return self.attention(y_BTD, torch.cat((before_BMD, y_BTD), dim=1), mask)

        return self.feed_forward_residual(self.attention_residual(x_BTD, attended), self.feed_forward)
