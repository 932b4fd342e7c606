"""Examples made of graphs: with a class or a number, with classes of their nodes, with edges to be found."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from regard.data.examples import OneInput, OneLabelled
from regard.data.modalities.graph.graphs import Graph


@dataclass(frozen=True, slots=True)
class LabelledGraph(OneLabelled[Graph]):
    """A graph and the class that it belongs to, or numbers as they are written; ``number`` is its place in ``origin``,
    counted from 1, and ``line`` where it begins there."""

    number: int = 0

    @property
    def source(self) -> str:
        """As ``regard predict`` takes it."""
        return f"{self.origin}#{self.number}"

    def key(self) -> Hashable:
        return self.raw.digest

    def record(self) -> dict[str, Any]:
        return {
            "graph": self.raw.record(), "label": self.label, "number": self.number, "group": self.group,
            "line": self.line, "origin": self.origin,
        }  # fmt: skip

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        fields = dict(record)
        return cls(Graph.from_record(fields.pop("graph")), **fields)


class OfParts(OneInput[Graph]):
    """An example that asks about parts of a graph; ``number`` is the graph's place in ``origin``, counted from 1."""

    __slots__ = ()
    number: int
    origin: str

    @property
    def source(self) -> str:
        return f"{self.origin}#{self.number}"


@dataclass(frozen=True, slots=True)
class LabelledNodes(OfParts):
    """A graph, some of its nodes, and the class of each of them. Others may be asked about in another split: of them
    the model sees all but the class. ``number`` is the graph's place in ``origin``, counted from 1."""

    raw: Graph
    places: tuple[int, ...]
    labels: tuple[str, ...]
    number: int = 1
    line: int = 1
    origin: str = ""

    def key(self) -> Hashable:
        return self.raw.digest, self.places

    def answer(self) -> Hashable:
        return self.labels

    def record(self) -> dict[str, Any]:
        return {
            "graph": self.raw.record(), "places": list(self.places), "labels": list(self.labels),
            "number": self.number, "line": self.line, "origin": self.origin,
        }  # fmt: skip

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        fields = dict(record)
        graph, places, labels = (fields.pop(key) for key in ("graph", "places", "labels"))
        return cls(Graph.from_record(graph), tuple(places), tuple(labels), **fields)


@dataclass(frozen=True, slots=True)
class LabelledEdges(OfParts):
    """A graph without some of its edges, and pairs of nodes; of each is said whether they were joined. Where no pairs
    are named they are drawn anew in every epoch: edges of the graph, which are then hidden, and as many pairs without
    one."""

    raw: Graph
    pairs_M2: tuple[tuple[int, int], ...] = ()
    joined_M: tuple[bool, ...] = ()
    number: int = 1
    line: int = 1
    origin: str = ""

    def key(self) -> Hashable:
        return self.raw.digest, self.pairs_M2

    def answer(self) -> Hashable:
        return self.joined_M

    def record(self) -> dict[str, Any]:
        return {
            "graph": self.raw.record(), "pairs": [list(one) for one in self.pairs_M2], "joined": list(self.joined_M),
            "number": self.number, "line": self.line, "origin": self.origin,
        }  # fmt: skip

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        fields = dict(record)
        graph, joined = Graph.from_record(fields.pop("graph")), tuple(fields.pop("joined"))
        pairs = tuple((int(one), int(other)) for one, other in fields.pop("pairs"))
        return cls(graph, pairs, joined, **fields)
