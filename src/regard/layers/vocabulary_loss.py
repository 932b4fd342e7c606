"""Cross-entropy over a vocabulary without ever holding all logits: chunk by chunk, gradient on the way.

For N positions and W words the logits of a batch are the largest tensor of a training step by far, and on a
CPU its page faults cost more than its arithmetic. Each chunk of positions is scored, normalised, and turned
into its share of both gradients while it still lies in the cache.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from regard.core.precision import narrow_type, onednn_is_faster, repeated_products, widest_type

CHUNK_ELEMENTS = 1 << 24  # logits held at once: 64 MB in float32; smaller chunks make the products slower
BLOCK_CHUNK_ELEMENTS = 5 << 20  # the same for products of oneDNN, which are as fast in small chunks
WIDE_ELEMENTS = 5 << 17  # logits that are wide at once where products are narrow: few enough to stay in the cache
BLOCK = 64  # they take positions in multiples of this: their kernels are made for one shape


class VocabularyLoss(NamedTuple):
    """Sums over positions: the smoothed loss (differentiable), the plain one, and the right answers."""

    smoothed: Tensor
    negative_log_likelihood: Tensor
    correct: Tensor


@torch.compiler.disable  # it works in place, chunk by chunk: there is nothing that a compiler could fuse
def vocabulary_loss(
    states_ND: Tensor, weight_WD: Tensor, targets_N: Tensor, smoothing: float = 0.0
) -> VocabularyLoss:
    """−Σ_w q(w) log softmax(states Wᵀ)(w) with q = (1−ε)·1[w = target] + ε/W (Szegedy et al. 2016, section 7)."""
    # Asked here, because inside a Function gradients are always off: validation must not pay for a backward pass.
    wants_gradient = torch.is_grad_enabled() and (states_ND.requires_grad or weight_WD.requires_grad)
    states_ND = states_ND.to(weight_WD.dtype)  # a model may end in a narrow product
    products = narrow_type(states_ND.device.type) or weight_WD.dtype
    return VocabularyLoss(*_ChunkedLoss.apply(states_ND, weight_WD, targets_N, smoothing, wants_gradient, products))


class _ChunkedLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, states_ND: Tensor, weight_WD: Tensor, targets_N: Tensor, smoothing: float, wants_gradient: bool,
        products: torch.dtype,
    ) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        """Logits and their gradients have the type of ``products``; chances and sums stay as wide as the weights."""
        words, wide = weight_WD.shape[0], weight_WD.dtype
        narrow = products != wide
        in_blocks = narrow or (states_ND.device.type == "cpu" and wide == torch.float32 and onednn_is_faster())
        factor_ND, factor_WD = states_ND.to(products), weight_WD.to(products)
        factor_DW = factor_WD.t()
        if in_blocks and not narrow:  # oneDNN multiplies float32 faster with it lying so
            factor_DW = factor_DW.contiguous()
        if in_blocks:  # rows of zeros at the end, whose logits are 0 and stay so
            factor_ND = functional.pad(factor_ND, (0, 0, 0, -len(states_ND) % BLOCK))
        d_states_ND = torch.empty_like(factor_ND) if wants_gradient else None
        d_weight_WD = torch.zeros_like(weight_WD) if wants_gradient else None
        rows = max(1, CHUNK_ELEMENTS // words)
        if in_blocks:
            rows = max(1, BLOCK_CHUNK_ELEMENTS // words // BLOCK) * BLOCK
        buffer = factor_ND.new_empty(min(rows, max(len(factor_ND), 1)), words)
        few = max(1, WIDE_ELEMENTS // words) if narrow else rows
        wide_buffer = torch.empty_like(buffer[:few], dtype=wide) if narrow else buffer
        exact = widest_type(states_ND.device.type)
        likelihood = states_ND.new_zeros((), dtype=exact)
        correct = torch.zeros((), dtype=torch.int64, device=states_ND.device)
        partition_sum = torch.zeros_like(likelihood)
        for start in range(0, len(states_ND), rows):
            states, targets = factor_ND[start : start + rows], targets_N[start : start + rows]
            with repeated_products():
                padded = torch.mm(states, factor_DW, out=buffer[: len(states)])
            logits = padded[: len(targets)]
            target_logits = logits.gather(1, targets[:, None])
            if narrow and not wants_gradient:  # among narrow logits ties are common, and one of them is the answer
                correct += (logits.argmax(1) == targets).sum()
            likelihood += target_logits.sum(dtype=exact)
            for first in range(0, len(targets), few):
                own, own_targets = logits[first : first + few], targets[first : first + few, None]
                chances = wide_buffer[: len(own)].copy_(own) if narrow else own  # until softmax still logits
                largest = chances.amax(1, keepdim=True)
                if wants_gradient or not narrow:
                    correct += (target_logits[first : first + few] == largest).sum()
                # One fused pass, in place; the largest of a row becomes 1 / Σ exp(logit − largest), hence log Σ exp.
                torch.softmax(chances, dim=1, out=chances)
                log_partition = largest - chances.amax(1, keepdim=True).log()
                partition_sum += log_partition.sum(dtype=exact)
                if wants_gradient:
                    chances.scatter_add_(1, own_targets, chances.new_full((len(own), 1), smoothing - 1.0))
                    own.copy_(chances)  # the same tensor where products are wide; from here on the gradient
            if d_states_ND is not None and d_weight_WD is not None:
                with repeated_products():
                    torch.mm(padded, factor_WD, out=d_states_ND[start : start + rows])
                    add_product(d_weight_WD, padded.t(), states)
        # The smoothing's uniform share needs no pass over the logits: their sum is states · Σ_w weight_w.
        weight_sum_D, states_sum_D = weight_WD.sum(0), states_ND.sum(0)
        uniform = (states_sum_D.to(exact) @ weight_sum_D.to(exact)) / words
        if d_states_ND is not None and d_weight_WD is not None:
            d_states_ND = d_states_ND[: len(states_ND)].to(wide)
            d_states_ND -= smoothing / words * weight_sum_D
            d_weight_WD -= smoothing / words * states_sum_D
            ctx.save_for_backward(d_states_ND, d_weight_WD)
        smoothed = partition_sum - (1 - smoothing) * likelihood - smoothing * uniform
        plain = partition_sum - likelihood
        ctx.mark_non_differentiable(plain, correct)
        return smoothed.to(wide), plain, correct

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> Any:
        d_states_ND, d_weight_WD = ctx.saved_tensors
        return d_states_ND.mul_(gradients[0]), d_weight_WD.mul_(gradients[0]), None, None, None, None


def add_product(total_AB: Tensor, a_AN: Tensor, b_NB: Tensor) -> None:
    """total ← total + A B, in one pass where the types are one; a narrow product is added to a wide total."""
    if total_AB.dtype == a_AN.dtype:
        torch.addmm(total_AB, a_AN, b_NB, out=total_AB)
    else:
        total_AB += a_AN @ b_NB
