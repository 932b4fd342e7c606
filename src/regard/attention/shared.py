"""Shared heads: a place's key is its query, brought to length 1, so that places that ask alike find one another."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from regard.attention import HeadsPart
from regard.attention.cache import AttentionCache
from regard.attention.formulas import join_heads, split_heads
from regard.attention.heads import CrossAttention, HeadShape, NewNorm, check_seam, no_norm, read_own, xavier
from regard.attention.masks import Mask
from regard.core.errors import OptionError
from regard.core.seams import Mechanism, Position


class SharedAttention(nn.Module):
    """Attention of a sequence over itself with k = q / |q| (Kitaev et al. 2020, section 2, "shared-QK").

    W_q and W_v stand stacked in ``project``. Whether a place may read itself, which it would like best, is up to the
    mechanism.
    """

    def __init__(
        self, shape: HeadShape, mechanism: Mechanism, *, bias: bool = True, new_norm: NewNorm = no_norm
    ) -> None:
        super().__init__()
        check_seam(mechanism)
        self.shape = shape.filled()
        queries, _, values = self.shape.splits
        self.project = nn.Linear(shape.width, queries + values, bias=bias)
        self.query_norm = new_norm(self.shape.key_width)
        self.mechanism = mechanism
        self.output = nn.Linear(values, shape.width, bias=bias)
        xavier((*self.project.weight.split((queries, values)), self.output.weight), self)

    def forward(
        self, x_BTD: Tensor, mask: Mask, position: Position | None = None, cache: AttentionCache | None = None,
        lengths_B: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """With a cache: of new positions (of each row the first ``lengths_B``) over everything so far."""
        queries, _, values = self.shape.splits
        q_BTJ, v_BTJ = self.project(x_BTD).split((queries, values), dim=-1)
        q_BHTK = self.query_norm(split_heads(q_BTJ, self.shape.heads))
        k_BHTK = functional.normalize(q_BHTK, dim=-1)
        asked = q_BHTK, k_BHTK, split_heads(v_BTJ, self.shape.heads)
        return self.output(join_heads(read_own(self.mechanism, asked, mask, position, cache, lengths_B)))

    def new_cache(self, rows: int, like: Tensor, room: int = 0) -> AttentionCache:
        shape = self.shape
        return self.mechanism.new_cache(rows, shape.heads, shape.key_width, shape.value_width, like, room)

    def residual_outputs(self) -> tuple[nn.Linear, ...]:
        return (self.output,)

    def stacked_matrices(self) -> dict[Tensor, tuple[int, ...]]:
        queries, _, values = self.shape.splits
        return {self.project.weight: (queries, values)}


class SharedConfig(HeadsPart):
    """Each head has queries, which are its keys too, and values; attention to another sequence has ordinary heads."""

    kind: str = "shared"

    def self_attention(
        self, shape: HeadShape, mechanism: Mechanism, *, bias: bool = True, new_norm: NewNorm = no_norm
    ) -> SharedAttention:
        if shape.groups not in (0, shape.heads):
            raise OptionError(
                f"model.groups = {shape.groups} has no place in shared heads, whose keys are their own queries; leave "
                "it out"
            )
        return SharedAttention(shape, mechanism, bias=bias, new_norm=new_norm)

    def cross_attention(
        self, shape: HeadShape, mechanism: Mechanism, *, bias: bool = True, new_norm: NewNorm = no_norm
    ) -> CrossAttention:
        return CrossAttention(shape, mechanism, bias=bias, new_norm=new_norm)
