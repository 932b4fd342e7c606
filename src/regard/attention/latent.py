"""Latent heads: keys and values of all heads are made of one short vector a position, and only that is remembered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn

from regard.attention import HeadsPart
from regard.attention.cache import AttentionCache
from regard.attention.formulas import join_heads, split_heads
from regard.attention.heads import CrossAttention, HeadShape, NewNorm, attend, check_mechanism, no_norm, xavier
from regard.attention.masks import CAUSAL, Mask
from regard.attention.places import oldest
from regard.core.errors import OptionError
from regard.core.seams import Mechanism, Position, ReadsProducts


@dataclass(frozen=True, slots=True)
class LatentWidths:
    """Of the vector that keys and values are made of, of that of the queries (0: none), and of a head's parts: what of
    its keys has no position, what has, and its values."""

    rank: int
    query_rank: int
    content: int
    rotary: int
    value: int


class LatentAttention(nn.Module):
    """Multi-head latent attention of a sequence over itself (DeepSeek-V2, DeepSeek-AI 2024, section 2.1, equations 9
    to 19).

    c = Norm(W_dkv x) is the latent; keys W_uk c and values W_uv c stand stacked in ``expand``, head by head. Rotary
    positions act on a part of their own: of each head's queries, and of one key that all heads share, which stands
    beside the latent in ``compress``. Latents have norms, as in the published models; the paper names them in section
    2.1.4 of its successor alone.

    While a text grows, latents and rotary keys are remembered, and nothing else. New positions either read them
    expanded, or W_uk moves to the queries and W_uv behind the weights, and latents are read as they are (the paper's
    absorption): whichever takes less work. That needs a mechanism that knows queries and keys by their products alone
    (``ReadsProducts``); another one always reads expanded.
    """

    def __init__(
        self,
        shape: HeadShape,
        widths: LatentWidths,
        mechanism: Mechanism,
        *,
        bias: bool,
        epsilon: float,
        score_scale: float = 1.0,
    ) -> None:
        super().__init__()
        check_mechanism(mechanism)
        self.shape, self.widths, heads = shape, widths, shape.heads
        self.score_scale = score_scale
        rank, query_rank = widths.rank, widths.query_rank
        self.compress_query = nn.Linear(shape.width, query_rank, bias=False) if query_rank else nn.Identity()
        self.query_norm = nn.RMSNorm(query_rank, eps=epsilon) if query_rank else nn.Identity()
        self.project_query = nn.Linear(query_rank or shape.width, heads * shape.key_width, bias=False)
        self.compress = nn.Linear(shape.width, rank + widths.rotary, bias=False)
        self.latent_norm = nn.RMSNorm(rank, eps=epsilon)
        self.expand = nn.Linear(rank, heads * (widths.content + widths.value), bias=False)
        self.mechanism = mechanism
        self.output = nn.Linear(heads * widths.value, shape.width, bias=bias)
        latent = self.compress.weight.split((rank, widths.rotary))
        xavier((self.project_query.weight, *latent, self.expand.weight, self.output.weight), self)
        if isinstance(self.compress_query, nn.Linear):
            nn.init.xavier_uniform_(self.compress_query.weight)

    def forward(
        self,
        x_BTD: Tensor,
        mask: Mask,
        position: Position | None = None,
        cache: AttentionCache | None = None,
        lengths_B: Tensor | None = None,
    ) -> Tensor:
        """With a cache: of new positions (of each row the first ``lengths_B``) over everything so far."""
        q_BHTK = self._queries(x_BTD, position, mask)
        joint_B1TJ = self._latents(x_BTD, position, mask)
        if cache is not None and not self.mechanism.keeps_keys:
            return self._continued(q_BHTK, joint_B1TJ, mask, position, cache, lengths_B)
        if cache is not None:
            joint_B1TJ, _ = cache.extend(joint_B1TJ, joint_B1TJ[..., :0], lengths_B)
        bias = None if position is None else position.bias(q_BHTK.shape[-2], joint_B1TJ.shape[-2], mask.places)
        if cache is not None and self._is_shorter_absorbed(q_BHTK.shape[-2]):
            k_BHSJ = joint_B1TJ.expand(-1, self.shape.heads, -1, -1)
            read = attend(self.mechanism, self._absorbed(q_BHTK), k_BHSJ, self._content(k_BHSJ), mask, bias)
            return self.output(join_heads(self._values_of(read)))
        return self.output(join_heads(attend(self.mechanism, q_BHTK, *self._expanded(joint_B1TJ), mask, bias)))

    def _continued(
        self,
        q_BHTK: Tensor,
        joint_B1TJ: Tensor,
        mask: Mask,
        position: Position | None,
        cache: AttentionCache,
        lengths_B: Tensor | None,
    ) -> Tensor:
        """A mechanism that remembers by itself is shown the new positions alone."""
        own = CAUSAL if lengths_B is None else CAUSAL & Mask(lengths_B=lengths_B)
        count = q_BHTK.shape[-2]
        bias = None if position is None else position.bias(count, oldest(cache.ages) + count, mask.places)
        if not isinstance(self.mechanism, ReadsProducts):
            k_BHTK, v_BHTV = self._expanded(joint_B1TJ)
            return self.output(join_heads(self.mechanism(q_BHTK, k_BHTK, v_BHTV, own, bias, cache)))
        latent = self._content(joint_B1TJ)
        read_BHTR = self.mechanism(self._absorbed(q_BHTK), joint_B1TJ, latent, own, bias, cache)
        return self.output(join_heads(self._values_of(read_BHTR)))

    # -- queries, latents, keys and values ------------------------------------------------------------------

    def _queries(self, x_BTD: Tensor, position: Position | None, mask: Mask) -> Tensor:
        q_BTJ = self.project_query(normed(self.query_norm, self.compress_query(x_BTD)))
        q_BHTK = split_heads(q_BTJ, self.shape.heads)
        if self.score_scale != 1.0:
            q_BHTK = q_BHTK * self.score_scale
        if position is None:
            return q_BHTK
        content, rotary = q_BHTK.split((self.widths.content, self.widths.rotary), dim=-1)
        return torch.cat((content, position.rotate(rotary, mask.places)), dim=-1)

    def _latents(self, x_BTD: Tensor, position: Position | None, mask: Mask) -> Tensor:
        """joint_B1TJ: the latent of each position, then the rotary key, at its place."""
        latent_BTR, rotary_BTK = self.compress(x_BTD).split((self.widths.rank, self.widths.rotary), dim=-1)
        rotary_B1TK = rotary_BTK[:, None]
        if position is not None:
            rotary_B1TK = position.rotate(rotary_B1TK, mask.places)
        return torch.cat((normed(self.latent_norm, latent_BTR)[:, None], rotary_B1TK), dim=-1)

    def _content(self, joint: Tensor) -> Tensor:
        return joint[..., : self.widths.rank]

    def _expanded(self, joint_B1SJ: Tensor) -> tuple[Tensor, Tensor]:
        """k_BHSK and v_BHSV of every head."""
        heads = split_heads(self.expand(self._content(joint_B1SJ)[:, 0]), self.shape.heads)
        content_BHSK, v_BHSV = heads.split((self.widths.content, self.widths.value), dim=-1)
        rotary_BHSK = joint_B1SJ[..., self.widths.rank :].expand(-1, self.shape.heads, -1, -1)
        return torch.cat((content_BHSK, rotary_BHSK), dim=-1), v_BHSV

    # -- the absorbed form ----------------------------------------------------------------------------------

    def _is_shorter_absorbed(self, queries: int) -> bool:
        """By the multiplications for each key and head."""
        widths = self.widths
        absorbed = queries * (2 * widths.rank + widths.rotary)
        expanding = (widths.content + widths.value) * widths.rank
        expanded = queries * (widths.content + widths.rotary + widths.value) + expanding
        return isinstance(self.mechanism, ReadsProducts) and absorbed < expanded

    def _up(self) -> tuple[Tensor, Tensor]:
        """W_uk and W_uv of each head."""
        matrices_HJR = self.expand.weight.unflatten(0, (self.shape.heads, -1))
        w_HKR, w_HVR = matrices_HJR.split((self.widths.content, self.widths.value), dim=1)
        return w_HKR, w_HVR

    def _absorbed(self, q_BHTK: Tensor) -> Tensor:
        """q_BHTJ, whose products with latents and rotary keys, over the root of their width, are those of before."""
        content, rotary = q_BHTK.split((self.widths.content, self.widths.rotary), dim=-1)
        q_BHTJ = torch.cat((content @ self._up()[0], rotary), dim=-1)
        return q_BHTJ * (q_BHTJ.shape[-1] / q_BHTK.shape[-1]) ** 0.5

    def _values_of(self, read_BHTR: Tensor) -> Tensor:
        return read_BHTR @ self._up()[1].mT

    # -- what others ask ------------------------------------------------------------------------------------

    def new_cache(self, rows: int, like: Tensor, room: int = 0) -> AttentionCache:
        """Latents and rotary keys alone; a mechanism that remembers by itself has what it is shown."""
        widths, shape = self.widths, self.shape
        joint = widths.rank + widths.rotary
        if self.mechanism.keeps_keys:
            return self.mechanism.new_cache(rows, 1, joint, 0, like, room)
        if isinstance(self.mechanism, ReadsProducts):
            return self.mechanism.new_cache(rows, 1, joint, widths.rank, like, room)
        return self.mechanism.new_cache(rows, shape.heads, shape.key_width, shape.value_width, like, room)

    def residual_outputs(self) -> tuple[nn.Linear, ...]:
        return (self.output,)

    def stacked_matrices(self) -> dict[Tensor, tuple[int, ...]]:
        widths = self.widths
        return {
            self.compress.weight: (widths.rank, widths.rotary),
            self.expand.weight: (widths.content, widths.value) * self.shape.heads,
        }


class LatentConfig(HeadsPart):
    """Heads whose keys and values are made of a latent, ``rank`` wide; 0 takes DeepSeek-V2's proportions.

    Attention to another sequence, whose keys and values are made once for each source, has ordinary heads.
    """

    divides_width: ClassVar[bool] = False

    kind: str = "latent"
    rank: int = Field(0, ge=0)  # of the latent; 0: four times as wide as a head's keys
    query_rank: int = Field(0, ge=0)  # of a latent that queries are made of; 0: they are made of the states
    key_width: int = Field(0, ge=0)  # of a head's keys without position; 0: width / heads
    rotary_width: int = Field(0, ge=0)  # of what has a position; 0: half of that
    value_width: int = Field(0, ge=0)  # 0: as the keys without position
    epsilon: float = Field(1e-6, gt=0)  # of the norms of latents
    score_scale: float = Field(1.0, gt=0)  # of the scores; above 1 where positions are stretched (DeepSeek's YaRN)

    def widths(self, shape: HeadShape) -> LatentWidths:
        content = self.key_width or max(1, shape.width // shape.heads)
        rotary = self.rotary_width or max(2, content // 4 * 2)
        return LatentWidths(self.rank or 4 * content, self.query_rank, content, rotary, self.value_width or content)

    def head_shape(self, shape: HeadShape) -> HeadShape:
        widths = self.widths(shape)
        return HeadShape(shape.width, shape.heads, shape.heads, widths.content + widths.rotary, widths.value)

    def self_attention(
        self, shape: HeadShape, mechanism: Mechanism, *, bias: bool = True, new_norm: NewNorm = no_norm
    ) -> LatentAttention:
        check_no_effect(shape, new_norm)
        return LatentAttention(
            self.head_shape(shape), self.widths(shape), mechanism, bias=bias, epsilon=self.epsilon,
            score_scale=self.score_scale,
        )  # fmt: skip

    def cross_attention(
        self, shape: HeadShape, mechanism: Mechanism, *, bias: bool = True, new_norm: NewNorm = no_norm
    ) -> CrossAttention:
        return CrossAttention(shape, mechanism, bias=bias, new_norm=new_norm)


def normed(norm: nn.Module, x: Tensor) -> Tensor:
    """In the numbers of the norm's weights, where autocast has narrowed what comes."""
    return norm(x.to(norm.weight.dtype)) if isinstance(norm, nn.RMSNorm) else norm(x)


def check_no_effect(shape: HeadShape, new_norm: NewNorm) -> None:
    """Refuses what a model says about heads and latent ones have otherwise."""
    if shape.groups:
        raise OptionError(
            f"model.groups = {shape.groups} has no effect: latent heads share one latent and have keys of their own; "
            "leave it out"
        )
    if shape.key_width or shape.value_width:
        raise OptionError(
            "model.key_width and model.value_width have no effect on latent heads; set model.projection.key_width, "
            "rotary_width and value_width"
        )
    if not isinstance(new_norm(2), nn.Identity):
        raise OptionError(
            "model.head_norm has no place in latent heads, which have norms on their latents; leave it out"
        )
