"""The seams of attention: a mechanism, which reads a memory, and a position, which says where a token stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from torch import Tensor

    from regard.attention.cache import AttentionCache
    from regard.attention.masks import Mask
    from regard.attention.places import Places


@runtime_checkable
class Mechanism(Protocol):
    """How a query reads a memory; an ``nn.Module``.

    Law: ``forward`` equals ``weights(...) @ v`` wherever ``has_matrix``; a masked key has no influence; a
    query that may look at nothing reads 0; with ``causal`` declared, no key after a query has influence even
    without a mask; with ``cacheable`` declared, queries may arrive later than their keys (the mask's places). Heads are
    independent: asked about some of them, ``weights`` gives theirs.

    What it remembers between two steps of decoding is its own: ``new_cache`` makes it. With ``keeps_keys`` that is
    every key and value, and its heads show it all of them. Without, they show it the new positions alone, under a mask
    that speaks of these, keys and values of a group once (k_BGSK), a bias over all positions so far, and hand it its
    ``cache``, which it brings up to date.
    """

    causal: bool
    cacheable: bool
    has_matrix: bool
    keeps_keys: bool

    def __call__(
        self,
        q_BHTK: Tensor,
        k_BHSK: Tensor,
        v_BHSV: Tensor,
        mask: Mask,
        bias: Tensor | None = None,
        cache: AttentionCache | None = None,
    ) -> Tensor: ...

    def weights(self, q_BHTK: Tensor, k_BHSK: Tensor, mask: Mask, bias: Tensor | None = None) -> Tensor:
        """The exact matrix weights_BHTS, or NoMatrix."""
        ...

    def new_cache(
        self, rows: int, heads: int, key_width: int, value_width: int, like: Tensor, room: int = 0
    ) -> AttentionCache:
        """An empty one for so many rows and key/value heads, on the device of ``like``."""
        ...


@runtime_checkable
class ReadsProducts(Protocol):
    """A mechanism that knows queries and keys by q·k/√d_k and where they stand, and nothing else.

    Law: other queries and keys, of whatever width, with the same products give the same weights.
    """

    reads_products: bool


@runtime_checkable
class SharesKeys(Protocol):
    """A mechanism that takes a place's query and key for one vector, as shared heads make them."""

    shares_keys: bool


class Position(Protocol):
    """Where a token stands. Any of the three may do nothing; a model calls all three and asks no questions.

    ``places`` is the place of the first token, the others following it, or places_BT where rows differ in age.
    Law: a token at a place is treated as at that place of the full pass, whatever else stands in the batch.
    """

    @property
    def max_length(self) -> int:
        """How many positions there are; 0: as many as one likes."""
        ...

    def embed(self, x_BTD: Tensor, places: Places = 0) -> Tensor:
        """Acts on embeddings (absolute positions: added or concatenated)."""
        ...

    def rotate(self, x_BHTK: Tensor, places: Places = 0) -> Tensor:
        """Acts on queries and keys (rotary positions)."""
        ...

    def bias(self, queries: int, keys: int, places: Places = 0) -> Tensor | None:
        """Acts on scores: bias_HTS, or bias_BHTS where rows differ (relative positions)."""
        ...
