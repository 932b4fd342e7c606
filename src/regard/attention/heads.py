"""Heads: they own the projections, project a memory once per source, and take any mechanism."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from torch import Tensor, nn

from regard.attention import HeadsPart
from regard.attention.cache import AttentionCache
from regard.attention.formulas import join_heads, split_heads
from regard.attention.masks import CAUSAL, Mask
from regard.attention.memory import Memory
from regard.attention.places import oldest
from regard.core.errors import OptionError, RecipeError
from regard.core.seams import Mechanism, Position, SharesKeys


@dataclass(frozen=True, slots=True)
class HeadShape:
    """How many heads, how wide. Fewer ``groups`` than heads share keys and values (Ainslie et al. 2023)."""

    width: int
    heads: int
    groups: int = 0
    key_width: int = 0
    value_width: int = 0

    def filled(self) -> HeadShape:
        """The published choice where nothing was said: d_k = d_v = d_model / heads, a key head for each head."""
        groups = self.groups or self.heads
        if self.heads % groups:
            raise ValueError(f"{self.heads} heads cannot share {groups} key/value groups evenly")
        slice_width = self.width // self.heads
        return HeadShape(
            self.width, self.heads, groups, self.key_width or slice_width, self.value_width or slice_width
        )

    @property
    def splits(self) -> tuple[int, int, int]:
        """Widths of all queries, all keys and all values side by side."""
        return self.heads * self.key_width, self.groups * self.key_width, self.groups * self.value_width


NewNorm = Callable[[int], nn.Module]
"""From the width of a head's keys to a norm for its queries, or its keys."""


def no_norm(width: int) -> nn.Module:
    return nn.Identity()


class SelfHeads(Protocol):
    """Heads of a sequence over itself, as a block of any family calls them; an ``nn.Module``."""

    shape: HeadShape

    def __call__(
        self, x_BTD: Tensor, mask: Mask, position: Position | None = None, cache: AttentionCache | None = None,
        lengths_B: Tensor | None = None,
    ) -> Tensor: ...  # fmt: skip

    def new_cache(self, rows: int, like: Tensor, room: int = 0) -> AttentionCache:
        """An empty one of the mechanism's kind, with room for so many positions before anything is moved."""
        ...


class CrossHeads(Protocol):
    """Heads of a sequence over another one, which is projected once; an ``nn.Module``."""

    shape: HeadShape

    def memory(self, memory_BSD: Tensor, mask: Mask) -> Memory: ...

    def __call__(self, x_RTD: Tensor, memory: Memory) -> Tensor: ...


class SelfAttention(nn.Module):
    """Multi-head attention of a sequence over itself (Vaswani et al. 2017, section 3.2.2).

    W_q, W_k and W_v stand stacked in ``project``, because one wide product is faster than three. With a norm,
    queries and keys have one length, so that scores stay small however the weights grow (Henry et al. 2020).
    """

    def __init__(
        self,
        shape: HeadShape,
        mechanism: Mechanism,
        *,
        bias: bool = True,
        output_bias: bool | None = None,  # None: as the others
        new_norm: NewNorm = no_norm,
    ) -> None:
        super().__init__()
        check_mechanism(mechanism)
        self.shape = shape.filled()
        self.project = nn.Linear(shape.width, sum(self.shape.splits), bias=bias)
        self.query_norm, self.key_norm = new_norm(self.shape.key_width), new_norm(self.shape.key_width)
        self.mechanism = mechanism
        output_bias = bias if output_bias is None else output_bias
        self.output = nn.Linear(self.shape.heads * self.shape.value_width, shape.width, bias=output_bias)
        xavier((*self.project.weight.split(self.shape.splits), self.output.weight), self)

    def forward(
        self, x_BTD: Tensor, mask: Mask, position: Position | None = None, cache: AttentionCache | None = None,
        lengths_B: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """With a cache: of new positions (of each row the first ``lengths_B``) over everything so far."""
        q_BTJ, k_BTJ, v_BTJ = self.projected(x_BTD)
        q_BHTK = self.query_norm(split_heads(q_BTJ, self.shape.heads))
        k_BGSK = self.key_norm(split_heads(k_BTJ, self.shape.groups))
        v_BGSV = split_heads(v_BTJ, self.shape.groups)
        read = read_own(self.mechanism, (q_BHTK, k_BGSK, v_BGSV), mask, position, cache, lengths_B)
        return self.output(join_heads(read))

    def projected(self, x_BTD: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values, of all heads side by side."""
        q_BTJ, k_BTJ, v_BTJ = self.project(x_BTD).split(self.shape.splits, dim=-1)
        return q_BTJ, k_BTJ, v_BTJ

    def new_cache(self, rows: int, like: Tensor, room: int = 0) -> AttentionCache:
        shape = self.shape
        return self.mechanism.new_cache(rows, shape.groups, shape.key_width, shape.value_width, like, room)

    def residual_outputs(self) -> tuple[nn.Linear, ...]:
        return (self.output,)

    def stacked_matrices(self) -> dict[Tensor, tuple[int, ...]]:
        return {self.project.weight: self.shape.splits}


class CrossAttention(nn.Module):
    """Multi-head attention of a sequence over another one; W_k and W_v stand stacked in ``project_memory``."""

    def __init__(
        self,
        shape: HeadShape,
        mechanism: Mechanism,
        *,
        memory_width: int = 0,
        bias: bool = True,
        new_norm: NewNorm = no_norm,
    ) -> None:
        super().__init__()
        check_mechanism(mechanism)
        self.shape = shape.filled()
        queries, keys, values = self.shape.splits
        self.project_query = nn.Linear(shape.width, queries, bias=bias)
        self.project_memory = nn.Linear(memory_width or shape.width, keys + values, bias=bias)
        self.query_norm, self.key_norm = new_norm(self.shape.key_width), new_norm(self.shape.key_width)
        self.mechanism = mechanism
        self.output = nn.Linear(self.shape.heads * self.shape.value_width, shape.width, bias=bias)
        split = self.project_memory.weight.split((keys, values))
        xavier((self.project_query.weight, *split, self.output.weight), self)

    def memory(self, memory_BSD: Tensor, mask: Mask) -> Memory:
        """Keys and values of a memory, to be projected once per source."""
        k_BSJ, v_BSJ = self.project_memory(memory_BSD).split(self.shape.splits[1:], dim=-1)
        k_BGSK = self.key_norm(split_heads(k_BSJ, self.shape.groups))
        return Memory(k_BGSK, split_heads(v_BSJ, self.shape.groups), mask)

    def forward(self, x_RTD: Tensor, memory: Memory) -> Tensor:
        """Several rows may read one memory (the beams of a sentence): they become further queries to it."""
        rows, positions, _ = x_RTD.shape
        sentences = memory.k_BGSK.shape[0]
        q_BTJ = self.project_query(x_RTD).reshape(sentences, rows // sentences * positions, -1)
        q_BHTK = self.query_norm(split_heads(q_BTJ, self.shape.heads))
        out_BHTV = attend(self.mechanism, q_BHTK, memory.k_BGSK, memory.v_BGSV, memory.mask, None)
        return self.output(join_heads(out_BHTV).reshape(rows, positions, -1))

    def residual_outputs(self) -> tuple[nn.Linear, ...]:
        return (self.output,)

    def stacked_matrices(self) -> dict[Tensor, tuple[int, ...]]:
        return {self.project_memory.weight: self.shape.splits[1:]}


class MultiHeadConfig(HeadsPart):
    """Each head has queries of its own, and keys and values of its own or its group's."""

    kind: str = "multi-head"
    biases: Literal["usual", "all", "qkv", "none"] = "usual"  # of attention to the own sequence; usual: the family's

    def self_attention(
        self, shape: HeadShape, mechanism: Mechanism, *, bias: bool = True, new_norm: NewNorm = no_norm
    ) -> SelfAttention:
        inner = bias if self.biases == "usual" else self.biases != "none"
        outer = bias if self.biases == "usual" else self.biases == "all"
        return SelfAttention(shape, mechanism, bias=inner, output_bias=outer, new_norm=new_norm)

    def cross_attention(
        self, shape: HeadShape, mechanism: Mechanism, *, bias: bool = True, new_norm: NewNorm = no_norm
    ) -> CrossAttention:
        return CrossAttention(shape, mechanism, bias=bias, new_norm=new_norm)


def check_mechanism(mechanism: object) -> None:
    """Refuses what lacks a part of the seam, and what takes queries and keys for one."""
    check_seam(mechanism)
    if isinstance(mechanism, SharesKeys):
        raise RecipeError(
            f"{type(mechanism).__name__} looks for queries among keys by their directions, and here both are made by "
            'matrices of their own; set model.projection.kind = "shared", whose keys are the queries'
        )


def check_seam(mechanism: object) -> None:
    """What lacks a part of the seam would fail later, in the middle of decoding."""
    if not isinstance(mechanism, Mechanism):
        needed = ("causal", "cacheable", "has_matrix", "keeps_keys", "weights", "new_cache")
        lacking = [name for name in needed if name not in dir(mechanism)]
        raise OptionError(
            f"{type(mechanism).__name__} is not an attention mechanism: it lacks {', '.join(lacking)}; see Mechanism "
            "in regard.core.seams, or take regard.attention.mechanism.MatrixMechanism for its base"
        )


def read_own(
    mechanism: Mechanism,
    asked: tuple[Tensor, Tensor, Tensor],
    mask: Mask,
    position: Position | None,
    cache: AttentionCache | None,
    lengths_B: Tensor | None,
) -> Tensor:
    """Lets every head read the own sequence: positions act, the cache joins in, groups are shown to their heads."""
    (q_BHTK, k_BGSK, v_BGSV), bias = asked, None
    if position is not None:
        q_BHTK = position.rotate(q_BHTK, mask.places)
        k_BGSK = position.rotate(k_BGSK, mask.places)
    if cache is not None and not mechanism.keeps_keys:
        own = CAUSAL if lengths_B is None else CAUSAL & Mask(lengths_B=lengths_B)
        if position is not None:
            bias = position.bias(q_BHTK.shape[-2], oldest(cache.ages) + q_BHTK.shape[-2], mask.places)
        return mechanism(q_BHTK, k_BGSK, v_BGSV, own, bias, cache)
    if cache is not None:
        k_BGSK, v_BGSV = cache.extend(k_BGSK, v_BGSV, lengths_B)
    if position is not None:
        bias = position.bias(q_BHTK.shape[-2], k_BGSK.shape[-2], mask.places)
    return attend(mechanism, q_BHTK, k_BGSK, v_BGSV, mask, bias)


def attend(
    mechanism: Mechanism, q_BHTK: Tensor, k_BGSK: Tensor, v_BGSV: Tensor, mask: Mask, bias: Tensor | None
) -> Tensor:
    """Lets every head read; grouped keys and values are shown to each head of their group."""
    repeats = q_BHTK.shape[1] // k_BGSK.shape[1]
    if repeats > 1:
        k_BGSK = k_BGSK.repeat_interleave(repeats, dim=1)
        v_BGSV = v_BGSV.repeat_interleave(repeats, dim=1)
    return mechanism(q_BHTK, k_BGSK, v_BGSV, mask, bias)


def xavier(weights: tuple[Tensor, ...], module: nn.Module) -> None:
    """Xavier for each of W_q, W_k, W_v, W_o by itself (stacked they would count as one wide layer); biases 0."""
    for weight in weights:
        nn.init.xavier_uniform_(weight)
    for child in module.children():
        if isinstance(child, nn.Linear) and child.bias is not None:
            nn.init.zeros_(child.bias)
