"""Who may look at whom: an object that keeps its structure until somebody asks for the dense tensor.

True means "may look" everywhere in this codebase (``nn.MultiheadAttention`` means the opposite).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import torch
from torch import Tensor

from regard.attention.edges import Edges
from regard.attention.places import Places

Rule = TypeVar("Rule", Tensor, Edges)


@dataclass(frozen=True, eq=False)
class Mask:
    """A conjunction of structured rules; ``&`` combines two.

    ``offset`` is the place of the first query among the keys: 0 in a full pass, the number of cached positions when
    queries come later than their keys. Where rows differ in age, ``places_BT`` tells the place of each query instead
    (``places_BHT``: of each head's).
    """

    causal: bool = False
    window: int = 0  # a query sees keys at a distance below this; 0: no window
    lengths_B: Tensor | None = None  # key padding: keys at or beyond the length do not exist
    query_segments_BT: Tensor | None = None  # only equal segments see each other
    key_segments_BS: Tensor | None = None
    dense_BHTS: Tensor | None = None  # any further rule, broadcastable to weights_BHTS
    offset: int = 0
    places_BT: Tensor | None = None
    edges: Edges | None = None  # of a graph: who sees whom, as a list

    def __and__(self, other: Mask) -> Mask:
        if self.offset != other.offset or self.places_BT is not other.places_BT:
            raise ValueError(f"masks with different offsets do not combine: {self.places} and {other.places}")
        return Mask(
            causal=self.causal or other.causal,
            window=min(filter(None, (self.window, other.window)), default=0),
            lengths_B=_either(self.lengths_B, other.lengths_B, torch.minimum),
            query_segments_BT=_only_one(self.query_segments_BT, other.query_segments_BT),
            key_segments_BS=_only_one(self.key_segments_BS, other.key_segments_BS),
            dense_BHTS=_either(self.dense_BHTS, other.dense_BHTS, torch.logical_and),
            offset=self.offset,
            places_BT=self.places_BT,
            edges=_only_one(self.edges, other.edges),
        )

    @property
    def places(self) -> Places:
        """Where the queries stand, as ``at`` takes it."""
        return self.offset if self.places_BT is None else self.places_BT

    def at(self, places: Places) -> Mask:
        """The same rules for queries that start at another place, or stand at these."""
        if isinstance(places, Tensor):
            return replace(self, offset=0, places_BT=places)
        return replace(self, offset=places, places_BT=None)

    def select(self, rows_B: Tensor) -> Mask:
        """The same rules for the given sentences of the batch."""
        if self.edges is not None:
            return self.with_dense_edges().select(rows_B)
        dense = self.dense_BHTS
        has_rows = dense is not None and dense.dim() == 4 and len(dense) > 1  # else the same for all sentences
        return replace(
            self,
            lengths_B=_rows(self.lengths_B, rows_B),
            query_segments_BT=_rows(self.query_segments_BT, rows_B),
            key_segments_BS=_rows(self.key_segments_BS, rows_B),
            dense_BHTS=_rows(dense, rows_B) if has_rows else dense,
            places_BT=_rows(self.places_BT, rows_B),
        )

    def part(self, queries: slice | None = None, heads: Sequence[int] | None = None) -> Mask:
        """The same rules for queries in a row (from ``start`` to ``stop``), and for some of the heads."""
        if self.edges is not None:
            if queries is not None:
                return self.with_dense_edges().part(queries, heads)
            self = self if heads is None else replace(self, edges=self.edges.of_heads(heads))
        dense, segments_BT, places = self.dense_BHTS, self.query_segments_BT, self.places
        if heads is not None and dense is not None and dense.dim() > 2 and dense.shape[-3] > 1:
            dense = dense[..., list(heads), :, :]
        if heads is not None and isinstance(places, Tensor) and places.dim() > 2 and places.shape[1] > 1:
            places = places[:, list(heads)]
        if queries is not None:
            places = places[..., queries] if isinstance(places, Tensor) else places + queries.start
            segments_BT = None if segments_BT is None else segments_BT[:, queries]
            if dense is not None and dense.shape[-2] > 1:
                dense = dense[..., queries, :].clone()  # what is held must not hold the rest
        return replace(self, query_segments_BT=segments_BT, dense_BHTS=dense).at(places)

    def with_dense_edges(self) -> Mask:
        """The same rules, edges among those that stand in a matrix."""
        if self.edges is None:
            return self
        return replace(self, edges=None, dense_BHTS=_either(self.dense_BHTS, self.edges.dense(), torch.logical_and))

    @property
    def is_everything(self) -> bool:
        """No rule at all: every query may look at every key."""
        return not (self.causal or self.window) and all(
            part is None for part in (self.lengths_B, self.query_segments_BT, self.dense_BHTS, self.edges)
        )

    @property
    def is_edges_only(self) -> bool:
        """Nothing but the edges of graphs, and perhaps padding."""
        return self.edges is not None and replace(self, edges=None, lengths_B=None).is_everything

    @property
    def is_causal_only(self) -> bool:
        """Just the triangle from the first position on, which the fused kernel builds by itself."""
        from_the_first = self.offset == 0 and self.places_BT is None
        return self.causal and from_the_first and replace(self, causal=False).is_everything

    def dense(self, queries: int, keys: int, device: torch.device | None = None) -> Tensor | None:
        """may_look_BHTS, broadcastable, or None where every query may look at every key."""
        rules: list[Tensor] = []
        causal = self.causal and not self._is_last_position(keys)
        if causal or self.window:
            distance = self._distance(queries, keys, device)
            if causal:
                rules.append(distance >= 0)
            if self.window:
                rules.append(distance.abs() < self.window)
        if self.lengths_B is not None:
            rules.append((torch.arange(keys, device=device) < self.lengths_B[:, None])[:, None, None, :])
        if self.query_segments_BT is not None and self.key_segments_BS is not None:
            same_BTS = self.query_segments_BT[:, :, None] == self.key_segments_BS[:, None, :]
            rules.append(same_BTS[:, None])
        if self.dense_BHTS is not None:
            rules.append(self.dense_BHTS)
        if self.edges is not None:
            rules.append(self.edges.dense())
        if not rules:
            return None
        may_look = rules[0]
        for rule in rules[1:]:
            may_look = may_look & rule
        return may_look.view((1,) * (4 - may_look.dim()) + may_look.shape)

    def _is_last_position(self, keys: int) -> bool:
        """Whether the first query stands at the last key already, as in a step of one token: nothing lies ahead."""
        return self.places_BT is None and not torch.compiler.is_compiling() and self.offset >= keys - 1

    def _distance(self, queries: int, keys: int, device: torch.device | None) -> Tensor:
        """How far each key lies behind each query: distance_TS, or distance_BHTS where rows differ."""
        keys_S = torch.arange(keys, device=device)
        if self.places_BT is None:
            return torch.arange(self.offset, self.offset + queries, device=device)[:, None] - keys_S
        places_BHT = self.places_BT if self.places_BT.dim() > 2 else self.places_BT[:, None]
        return places_BHT[..., None] - keys_S


EVERYTHING = Mask()
CAUSAL = Mask(causal=True)


def padding(lengths_B: Tensor, longest: int) -> Mask:
    """Keys beyond each sentence's length do not exist; no rule where all are equally long."""
    return EVERYTHING if decided((lengths_B == longest).all(), exporting=False) else Mask(lengths_B=lengths_B)


def decided(condition: Tensor, *, exporting: bool) -> bool:
    """What a tensor says; a graph that is exported for any data cannot ask, and takes the answer that is safe."""
    return exporting if torch.compiler.is_exporting() else bool(condition)


def inside_segments(segments_BT: Tensor) -> Mask:
    """Positions see those of their own segment only: a document among others in one row."""
    return Mask(query_segments_BT=segments_BT, key_segments_BS=segments_BT)


def _either(
    one: Tensor | None, other: Tensor | None, join: Callable[[Tensor, Tensor], Tensor]
) -> Tensor | None:
    if one is None or other is None:
        return other if one is None else one
    return join(one, other)


def _rows(part: Tensor | None, rows_B: Tensor) -> Tensor | None:
    return None if part is None else part[rows_B]


def _only_one(one: Rule | None, other: Rule | None) -> Rule | None:
    if one is not None and other is not None and one is not other:
        raise ValueError("two masks that both carry segments, or both carry edges, do not combine")
    return other if one is None else one
