"""Attention along the edges of graphs: a list of who sees whom, instead of a matrix over all nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

PLAIN_FROM_SHARE = 1 / 32
"""Of all pairs in a batch, the share that are joined from which the whole matrix costs less than a list."""


@dataclass(frozen=True, eq=False)
class Edges:
    """Who sees whom among the ``nodes`` of each of ``rows`` graphs: ``list_M3`` holds (row, query, key), each once.

    ``masked`` says of each head whether it keeps to them (none: all heads do); the others see everything.
    """

    list_M3: Tensor
    rows: int
    nodes: int
    masked: tuple[bool, ...] = ()

    def dense(self) -> Tensor:
        """may_look_BHTS; one head where all are alike."""
        near_BTS = torch.zeros(self.rows, self.nodes, self.nodes, dtype=torch.bool, device=self.list_M3.device)
        near_BTS[self.list_M3.unbind(1)] = True
        if all(self.masked):
            return near_BTS[:, None]
        free_H = torch.tensor([not one for one in self.masked], device=near_BTS.device)
        return near_BTS[:, None] | free_H[:, None, None]

    def of_heads(self, heads: Sequence[int]) -> Edges:
        return replace(self, masked=tuple(self.masked[head] for head in heads)) if self.masked else self

    @property
    def pays(self) -> bool:
        """Whether the list is cheaper than the matrix."""
        return len(self.list_M3) < PLAIN_FROM_SHARE * self.rows * self.nodes * self.nodes


def edge_attention(
    q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, list_M3: Tensor, bias: Tensor | None = None
) -> Tensor:
    """softmax(QKᵀ/√d_k) V over listed pairs alone: time and memory grow with edges, not with pairs of nodes.

    A query without a listed key reads 0.
    """
    (batch, heads, queries, width), keys = q_BHTK.shape, k_BHSK.shape[-2]
    row_M, query_M, key_M = list_M3.unbind(1)
    from_M, to_M = row_M * queries + query_M, row_M * keys + key_M
    q_NHK, k_NHK, v_NHV = (one.transpose(1, 2).flatten(0, 1) for one in (q_BHTK, k_BHSK, v_BHSV))
    scores_MH = (q_NHK.index_select(0, from_M) * k_NHK.index_select(0, to_M)).sum(-1) * width**-0.5
    if bias is not None:
        bias_BHTS = bias.view((1,) * (4 - bias.dim()) + bias.shape).expand(batch, heads, queries, keys)
        scores_MH = scores_MH + bias_BHTS[row_M, :, query_M, key_M]
    most_NH = torch.full((batch * queries, heads), -torch.inf, dtype=scores_MH.dtype, device=scores_MH.device)
    index_MH = from_M[:, None].expand(-1, heads)
    most_NH = most_NH.scatter_reduce(0, index_MH, scores_MH.detach(), "amax")
    shares_MH = torch.exp(scores_MH - most_NH.index_select(0, from_M))
    total_NH = torch.zeros_like(most_NH).index_add(0, from_M, shares_MH)
    read_MHV = shares_MH[..., None] * v_NHV.index_select(0, to_M)
    sums_NHV = v_NHV.new_zeros(batch * queries, *v_NHV.shape[1:]).index_add(0, from_M, read_MHV.to(v_NHV.dtype))
    out_NHV = sums_NHV / total_NH.clamp(min=torch.finfo(total_NH.dtype).tiny)[..., None].to(sums_NHV.dtype)
    return out_NHV.unflatten(0, (batch, queries)).transpose(1, 2)
