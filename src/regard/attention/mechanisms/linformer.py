"""Linformer: keys and values are projected to a fixed number of rows, which every query reads."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn

from regard.attention import AttentionContext, MechanismPart
from regard.attention.cache import AttentionCache, Cache
from regard.attention.masks import EVERYTHING, Mask
from regard.attention.softmax import scaled_dot_attention
from regard.core.errors import NoMatrix, OptionError, RecipeError
from regard.core.seams import Mechanism


class Linformer(nn.Module):
    """softmax(Q (E K)ᵀ/√d_k) (F V), with learned E and F from n positions to a few rows (Wang et al. 2020, equation 7).

    E and F are shared by all heads of a layer ("headwise sharing", section 4). A shorter sequence uses their first
    columns, and padding is 0 before it is projected, so that it stays invisible. Every row mixes all positions, future
    ones too: it cannot be causal, and there is no weight of a single key.
    """

    causal = False
    cacheable = True
    has_matrix = False
    keeps_keys = True

    def __init__(self, rows: int, max_length: int) -> None:
        super().__init__()
        self.for_keys_RS = nn.Parameter(torch.randn(rows, max_length) / math.sqrt(max_length))
        self.for_values_RS = nn.Parameter(torch.randn(rows, max_length) / math.sqrt(max_length))

    def forward(
        self, q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, mask: Mask, bias: Tensor | None = None,
        cache: AttentionCache | None = None,
    ) -> Tensor:  # fmt: skip
        keys = k_BHSK.shape[-2]
        self._check(keys, mask, bias)
        if mask.lengths_B is not None:
            real_BS = torch.arange(keys, device=k_BHSK.device) < mask.lengths_B[:, None]
            k_BHSK, v_BHSV = (one * real_BS[:, None, :, None] for one in (k_BHSK, v_BHSV))
        k_BHRK, v_BHRV = self.for_keys_RS[:, :keys] @ k_BHSK, self.for_values_RS[:, :keys] @ v_BHSV
        return scaled_dot_attention(q_BHTK, k_BHRK, v_BHRV, EVERYTHING)

    def weights(self, q_BHTK: Tensor, k_BHSK: Tensor, mask: Mask, bias: Tensor | None = None) -> Tensor:
        raise NoMatrix("Linformer weighs mixtures of all keys, so that no single key has a weight")

    def new_cache(
        self, rows: int, heads: int, key_width: int, value_width: int, like: Tensor, room: int = 0
    ) -> Cache:
        return Cache.empty(rows, heads, key_width, value_width, like, room)

    def _check(self, keys: int, mask: Mask, bias: Tensor | None) -> None:
        if mask.causal:
            raise OptionError(NOT_CAUSAL)
        if keys > self.for_keys_RS.shape[1]:
            raise OptionError(
                f"a sequence of {keys} positions does not fit into Linformer's projection of "
                f"{self.for_keys_RS.shape[1]}; cut the texts (task.max_length) or train with a larger "
                "model.attention.max_length"
            )
        if bias is not None or not replace(mask, lengths_B=None).is_everything:
            raise OptionError(
                "Linformer reads mixtures of all keys: a bias, segments or a rule about single keys cannot be kept; "
                "choose positions that act on embeddings, queries or keys, or another model.attention.kind"
            )


NOT_CAUSAL = (
    'model.attention.kind = "linformer" cannot be causal: each of its rows mixes all positions, so the future would be '
    'read; choose "linear", "performer" or "window" for a model that writes, or Linformer in one that reads (bert, vit)'
)


class LinformerConfig(MechanismPart):
    """So many rows, and the longest sequence (0: the model's)."""

    kind: str = "linformer"
    rows: int = Field(64, ge=1)
    max_length: int = Field(0, ge=0)

    needs_length: ClassVar[str] = (
        "model.attention.max_length: Linformer projects a fixed number of positions, and this model sets no longest "
        "sequence of its own; give one"
    )

    def build(self, context: AttentionContext) -> Mechanism:
        if context.causal:
            raise RecipeError(NOT_CAUSAL)
        if not self.max_length and not context.max_length:
            raise RecipeError(self.needs_length)
        return Linformer(self.rows, self.max_length or context.max_length)
