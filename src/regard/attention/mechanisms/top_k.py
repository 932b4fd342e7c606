"""Top-k attention: a query reads the keys that fit it best, and nothing else."""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from regard.attention import AttentionContext, MechanismPart, formulas
from regard.attention.masks import Mask
from regard.attention.mechanism import MatrixMechanism
from regard.attention.softmax import softmax_weights
from regard.core.seams import Mechanism

ROWS = 256  # queries whose scores are held at once


class TopK(MatrixMechanism):
    """softmax over the ``keys`` highest scores of a row.

    Zhao et al. 2019 (explicit sparse attention, section 3); queries in stretches as Gupta et al. 2021 (section 3), so
    that memory grows with the length and not with its square: in the backward pass a stretch's scores are made again.
    The choice has no gradient, what is chosen has. Scores that tie with the last chosen one are chosen too. Time stays
    n².
    """

    reads_products = True

    def __init__(self, keys: int) -> None:
        super().__init__()
        self.keys = keys

    def read(self, q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, mask: Mask, bias: Tensor | None = None) -> Tensor:
        queries = q_BHTK.shape[-2]
        if queries <= ROWS or torch.compiler.is_compiling():
            return super().read(q_BHTK, k_BHSK, v_BHSV, mask, bias)
        parts = []
        for start in range(0, queries, ROWS):
            rows = slice(start, min(start + ROWS, queries))
            beside = bias if bias is None or bias.shape[-2] == 1 else bias[..., rows, :]
            asked = (q_BHTK[:, :, rows], k_BHSK, v_BHSV, mask.part(rows), beside)
            parts.append(checkpoint(super().read, *asked, use_reentrant=False))
        return torch.cat(parts, dim=-2)

    def weights(self, q_BHTK: Tensor, k_BHSK: Tensor, mask: Mask, bias: Tensor | None = None) -> Tensor:
        scores_BHTS = formulas.scaled_dot_scores(q_BHTK, k_BHSK)
        if bias is not None:
            scores_BHTS = scores_BHTS + bias
        queries, keys = scores_BHTS.shape[-2:]
        may_look = mask.dense(queries, keys, scores_BHTS.device)
        if keys > self.keys:
            seen = scores_BHTS.detach()
            if may_look is not None:
                seen = seen.masked_fill(~may_look, -torch.inf)
            best_BHTS = seen >= seen.topk(self.keys, dim=-1).values[..., -1:]
            may_look = best_BHTS if may_look is None else may_look & best_BHTS
        return softmax_weights(scores_BHTS, Mask(dense_BHTS=may_look), None)


class TopKConfig(MechanismPart):
    """Only so many keys of a row count; where there are fewer, all do."""

    kind: str = "top-k"
    keys: int = Field(32, ge=1)

    def build(self, context: AttentionContext) -> Mechanism:
        return TopK(self.keys)
