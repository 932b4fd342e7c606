"""Attention over blocks: queries in groups, each with the keys that any of them may see; the rest is never computed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.attention.kernels import (
    Kinds,
    additive_mask_of,
    attended,
    attended_weights,
    by_head,
    by_position,
    scaled_bmm,
    softmax_gradient,
)
from regard.attention.masks import Mask
from regard.core.precision import narrow_type

Positions = slice | Tensor
"""Neighbouring positions, every so many positions, or a list of them."""
Sees = Callable[[Tensor, Tensor], Tensor]
"""Whether a query at a place may look at a key at a place; the two broadcast."""


@dataclass(frozen=True, eq=False, slots=True)
class Block:
    """Some queries, and all keys that any of them may see. Every query is in exactly one block.

    Blocks that name the same ``alike`` follow one rule at the same relative places, which is then worked out once.
    """

    rows: Positions
    keys: Positions
    alike: Hashable = None


@dataclass(frozen=True, eq=False, slots=True)
class Plan:
    """The blocks of a sequence, the rule inside them, and what else a mask says."""

    blocks: Sequence[Block]
    sees: Sees
    mask: Mask
    bias: Tensor | None = None

    def rules(self, device: torch.device, kind: torch.dtype) -> Iterator[tuple[Tensor | None, Tensor | None]]:
        """For every block what is added to its scores, and who may look at whom where somebody may see nothing."""
        shared: dict[Hashable, tuple[Tensor, Tensor | None]] = {}
        own_rules = _own_rules(self.mask)
        for block in self.blocks:
            rule = None if block.alike is None or own_rules else shared.get(block.alike)
            if rule is None:
                rows_T, keys_S = (_places(part, device) for part in (block.rows, block.keys))
                may_look = self._structure(rows_T, keys_S)
                if own_rules:
                    may_look = _narrowed(may_look, self.mask, block, keys_S)
                blind = own_rules or not bool(may_look.any(-1).all())
                rule = additive_mask_of(may_look, kind), may_look if blind else None
                if block.alike is not None and not own_rules:
                    shared[block.alike] = rule
            added, some_see_nothing = rule
            yield added if self.bias is None else added + _cut(self.bias, block), some_see_nothing

    def _structure(self, rows_T: Tensor, keys_S: Tensor) -> Tensor:
        """What depends on the two places alone."""
        distance_TS = rows_T[:, None] - keys_S
        may_look = self.sees(rows_T[:, None], keys_S)
        if self.mask.causal:
            may_look = may_look & (distance_TS >= 0)
        if self.mask.window:
            may_look = may_look & (distance_TS.abs() < self.mask.window)
        return may_look


def _own_rules(mask: Mask) -> bool:
    """Whether rows of the batch differ in what may be seen, or rules were given one by one."""
    return any(part is not None for part in (mask.lengths_B, mask.query_segments_BT, mask.dense_BHTS))


def _places(part: Positions, device: torch.device) -> Tensor:
    if isinstance(part, slice):
        return torch.arange(part.start, part.stop, part.step or 1, device=device)
    return part.to(device)


def _narrowed(structure_TS: Tensor, mask: Mask, block: Block, keys_S: Tensor) -> Tensor:
    """The rule inside a block with padding, segments and given rules; may_look_BHTS."""
    may_look = structure_TS[None, None]
    if mask.lengths_B is not None:
        may_look = may_look & (keys_S < mask.lengths_B[:, None])[:, None, None]
    if mask.query_segments_BT is not None and mask.key_segments_BS is not None:
        rows_BT, keys_BS = mask.query_segments_BT[:, block.rows], mask.key_segments_BS[:, block.keys]
        may_look = may_look & (rows_BT[:, :, None] == keys_BS[:, None])[:, None]
    if mask.dense_BHTS is not None:
        may_look = may_look & _cut(mask.dense_BHTS, block)
    return may_look


def _cut(matrix: Tensor, block: Block) -> Tensor:
    """This block of a matrix; one that says the same for all rows, or all columns, stays so."""
    if matrix.shape[-2] > 1:
        matrix = matrix[..., block.rows, :]
    return matrix[..., block.keys] if matrix.shape[-1] > 1 else matrix


def sparse_attention(q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, plan: Plan) -> Tensor:
    """softmax(QKᵀ/√d_k + rules) V, block by block; memory grows with the blocks, not with the matrix."""
    narrow = narrow_type(q_BHTK.device.type)
    kinds = Kinds(q_BHTK.dtype, v_BHSV.dtype) if narrow is None else Kinds(narrow, narrow)
    with torch.autocast(q_BHTK.device.type, enabled=False):
        return _SparseAttention.apply(q_BHTK, k_BHSK, v_BHSV, plan, kinds)


class _SparseAttention(torch.autograd.Function):
    """Block by block, in the backward pass again: weights are made anew, since memory is slower than a product.

    With W = softmax(QKᵀ/√d_k): dV = Wᵀ dO, dS = W ⊙ (dO Vᵀ − rows' sums), dQ = dS K/√d_k, dK = dSᵀ Q/√d_k.
    """

    @staticmethod
    def forward(
        ctx: Any, q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, plan: Plan, kinds: Kinds
    ) -> Tensor:
        q_NTK, k_NSK, v_NSV = (by_head(one, kinds.products) for one in (q_BHTK, k_BHSK, v_BHSV))
        batch, heads, queries, _ = q_BHTK.shape
        out_BTHV = v_BHSV.new_empty(batch, queries, heads, v_BHSV.shape[-1], dtype=kinds.answers)
        rules = plan.rules(q_BHTK.device, kinds.products)
        for block, (added, may_look) in zip(plan.blocks, rules, strict=True):
            rows, keys = block.rows, block.keys
            out_NTV, _ = attended(q_NTK[:, rows], k_NSK[:, keys], v_NSV[:, keys], added, may_look, (batch, heads))
            out_BTHV[:, rows] = out_NTV.unflatten(0, (batch, heads)).transpose(1, 2).to(kinds.answers)
        ctx.plan, ctx.products, ctx.given = plan, kinds.products, (q_BHTK.dtype, k_BHSK.dtype, v_BHSV.dtype)
        ctx.save_for_backward(q_NTK, k_NSK, v_NSV)
        return out_BTHV.transpose(1, 2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, do_BHTV: Tensor) -> tuple[Tensor | None, ...]:
        q_NTK, k_NSK, v_NSV = ctx.saved_tensors
        batch, heads, queries, _ = do_BHTV.shape
        do_NTV = by_head(do_BHTV, ctx.products)
        dq_BTHK = q_NTK.new_empty(batch, queries, heads, q_NTK.shape[-1], dtype=ctx.given[0])
        sums = torch.float32 if ctx.products.itemsize < 4 else ctx.products
        dk_NSK, dv_NSV = torch.zeros_like(k_NSK, dtype=sums), torch.zeros_like(v_NSV, dtype=sums)
        scale = q_NTK.shape[-1] ** -0.5
        rules = ctx.plan.rules(q_NTK.device, ctx.products)
        for block, (added, may_look) in zip(ctx.plan.blocks, rules, strict=True):
            rows, keys = block.rows, block.keys
            own_q, own_k, own_v, own_do = q_NTK[:, rows], k_NSK[:, keys], v_NSV[:, keys], do_NTV[:, rows]
            weights_NTS = attended_weights(own_q, own_k, added, may_look, (batch, heads))
            add_product(dv_NSV, keys, weights_NTS.mT, own_do, 1.0)
            dscores_NTS = softmax_gradient(torch.bmm(own_do, own_v.mT), weights_NTS)
            dq_NTK = scaled_bmm(dscores_NTS, own_k, scale)
            dq_BTHK[:, rows] = dq_NTK.unflatten(0, (batch, heads)).transpose(1, 2).to(ctx.given[0])
            add_product(dk_NSK, keys, dscores_NTS.mT, own_q, scale)
        dk_BHSK, dv_BHSV = (
            by_position(own, (batch, heads), kind) for own, kind in zip((dk_NSK, dv_NSV), ctx.given[1:], strict=True)
        )
        return dq_BTHK.transpose(1, 2), dk_BHSK, dv_BHSV, None, None


def add_product(total_NSK: Tensor, positions: Positions, a_NST: Tensor, b_NTK: Tensor, scale: float) -> None:
    """total[positions] += scale · AB."""
    if isinstance(positions, slice) and total_NSK.dtype == a_NST.dtype:
        total_NSK[:, positions].baddbmm_(a_NST, b_NTK, alpha=scale)
    elif isinstance(positions, slice):
        total_NSK[:, positions] += scaled_bmm(a_NST, b_NTK, scale)
    else:
        total_NSK.index_add_(1, positions, scaled_bmm(a_NST, b_NTK, scale).to(total_NSK.dtype))


def combined(mask: Mask, sees: Sees, queries: int, keys: int, device: torch.device | None) -> Mask:
    """The mask, and what a rule over places adds to it, as one mask for a whole matrix."""
    keys_S = torch.arange(keys, device=device)
    if mask.places_BT is None:
        rows_T1 = torch.arange(mask.offset, mask.offset + queries, device=device)[:, None]
    else:
        rows_T1 = (mask.places_BT if mask.places_BT.dim() > 2 else mask.places_BT[:, None])[..., None]
    allowed = sees(rows_T1, keys_S)
    dense = allowed if mask.dense_BHTS is None else mask.dense_BHTS & allowed
    return replace(mask, dense_BHTS=dense)
