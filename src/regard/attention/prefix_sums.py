"""Causal linear attention by chunks: products inside a chunk, one matrix of sums for all that came before it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

CHUNK = 64  # positions; work inside chunks grows with it, work between them falls
SMALLEST = 1e-37  # a sum of weights up to here counts as none at all


def linear_attention(fq_BHTR: Tensor, fk_BHSR: Tensor, v_BHSV: Tensor) -> Tensor:
    """out_t = f(q_t)ᵀ Σ_s f(k_s) v_sᵀ / f(q_t)ᵀ Σ_s f(k_s): every query reads every key, at the price of one matrix."""
    sums_BHRV = fk_BHSR.mT @ with_ones(v_BHSV)
    return divided(fq_BHTR @ sums_BHRV)


def causal_linear_attention(
    fq_BHTR: Tensor, fk_BHTR: Tensor, v_BHTV: Tensor, before_BHRV: Tensor | None = None
) -> Tensor:
    """The same, of the keys up to each query alone; ``before`` is what was summed before the first (``sums_of``)."""
    batch_and_heads = fq_BHTR.shape[:2]
    fq_NTR, fk_NTR, v_NTV = (one.flatten(0, 1) for one in (fq_BHTR, fk_BHTR, with_ones(v_BHTV)))
    before_NRV = None if before_BHRV is None else before_BHRV.flatten(0, 1)
    return divided(_PrefixRead.apply(fq_NTR, fk_NTR, v_NTV, before_NRV).unflatten(0, batch_and_heads))


def sums_of(fk_BHTR: Tensor, v_BHTV: Tensor) -> Tensor:
    """Σ f(k) [v, 1]ᵀ: all that linear attention remembers of keys and values."""
    return fk_BHTR.mT @ with_ones(v_BHTV)


def with_ones(v_BHSV: Tensor) -> Tensor:
    """A last column that counts, so that sums of values and of weights are one product."""
    return functional.pad(v_BHSV, (0, 1), value=1.0)


def divided(read_BHTV: Tensor) -> Tensor:
    """Sums of weighted values over sums of weights; where nothing has weight, 0."""
    return read_BHTV[..., :-1] / divisor(read_BHTV[..., -1:])


def divisor(sums: Tensor) -> Tensor:
    """Sums of weights; 1 where there is none, so that 0 stays 0 and gradients stay finite."""
    return torch.where(sums > SMALLEST, sums, 1.0)


class _PrefixRead(torch.autograd.Function):
    """read_t = f(q_t)ᵀ Σ_{s ≤ t} f(k_s) v_sᵀ, with its gradient by hand.

    With P the sums before a chunk, A = tril(f(Q) f(K)ᵀ) and G = tril(dO Vᵀ) inside it, and L = Σ f(q) doᵀ of all later
    chunks: dQ = G K + dO Pᵀ, dK = Gᵀ Q + V Lᵀ, dV = Aᵀ dO + K L.
    """

    @staticmethod
    def forward(ctx: Any, q_NTR: Tensor, k_NTR: Tensor, v_NTV: Tensor, before_NRV: Tensor | None) -> Tensor:
        q_NTR, k_NTR, v_NTV = (one.contiguous() for one in (q_NTR, k_NTR, v_NTV))
        out_NTV = torch.empty_like(v_NTV)
        shape = (len(q_NTR), q_NTR.shape[-1], v_NTV.shape[-1])
        sums_NRV = q_NTR.new_zeros(shape) if before_NRV is None else before_NRV.clone()
        chunks = q_NTR.split(CHUNK, 1), k_NTR.split(CHUNK, 1), v_NTV.split(CHUNK, 1), out_NTV.split(CHUNK, 1)
        prefixes = []
        for q, k, v, out in zip(*chunks, strict=True):
            torch.bmm(q, sums_NRV, out=out)
            out.baddbmm_(torch.bmm(q, k.mT).tril_(), v)
            prefixes.append(sums_NRV)
            sums_NRV = torch.baddbmm(sums_NRV, k.mT, v)
        ctx.save_for_backward(q_NTR, k_NTR, v_NTV, *prefixes)
        return out_NTV

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, do_NTV: Tensor) -> tuple[Tensor | None, ...]:
        q_NTR, k_NTR, v_NTV, *prefixes = ctx.saved_tensors
        dq_NTR, dk_NTR, dv_NTV = (torch.empty_like(one) for one in (q_NTR, k_NTR, v_NTV))
        later_NRV = torch.zeros_like(prefixes[0])
        split = [one.split(CHUNK, 1) for one in (q_NTR, k_NTR, v_NTV, do_NTV.contiguous(), dq_NTR, dk_NTR, dv_NTV)]
        for *parts, sums_NRV in reversed(list(zip(*split, prefixes, strict=True))):
            q, k, v, do, dq, dk, dv = parts
            given = torch.bmm(do, v.mT).tril_()
            torch.bmm(do, sums_NRV.mT, out=dq)
            dq.baddbmm_(given, k)
            torch.bmm(v, later_NRV.mT, out=dk)
            dk.baddbmm_(given.mT, q)
            torch.bmm(k, later_NRV, out=dv)
            dv.baddbmm_(torch.bmm(q, k.mT).tril_().mT, do)
            later_NRV.baddbmm_(q.mT, do)
        return dq_NTR, dk_NTR, dv_NTV, later_NRV if ctx.needs_input_grad[3] else None
