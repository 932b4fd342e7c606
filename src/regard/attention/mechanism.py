"""The base of mechanisms that form their matrix: what they declare, how they read, what they remember."""

from __future__ import annotations

from torch import Tensor, nn

from regard.attention import formulas
from regard.attention.cache import AttentionCache, Cache
from regard.attention.masks import Mask


class MatrixMechanism(nn.Module):
    """Exact weights, times the values; causal by its mask alone. It remembers every key and value, and is shown
    all of them, so that it reads no ``cache``."""

    causal = False
    cacheable = True
    has_matrix = True
    keeps_keys = True

    def forward(
        self, q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, mask: Mask, bias: Tensor | None = None,
        cache: AttentionCache | None = None,
    ) -> Tensor:  # fmt: skip
        return self.read(q_BHTK, k_BHSK, v_BHSV, mask, bias)

    def read(self, q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, mask: Mask, bias: Tensor | None = None) -> Tensor:
        """What the queries read; a mechanism that is faster than by its matrix has a way of its own."""
        return formulas.read(self.weights(q_BHTK, k_BHSK, mask, bias), v_BHSV)

    def weights(self, q_BHTK: Tensor, k_BHSK: Tensor, mask: Mask, bias: Tensor | None = None) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not say how it weighs")

    def new_cache(
        self, rows: int, heads: int, key_width: int, value_width: int, like: Tensor, room: int = 0
    ) -> Cache:
        return Cache.empty(rows, heads, key_width, value_width, like, room)
