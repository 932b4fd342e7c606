"""A graph: its nodes by name, which of them are joined, and what is known of nodes and edges."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from regard.core.errors import DataError, enumerate_problems

NONE: Mapping[str, tuple[str, ...]] = MappingProxyType({})
SHOWN = 10
DENSE_FROM = 0.2
"""Of a matrix of numbers, the share that is not 0 from which it is kept row by row."""


@dataclass(frozen=True, eq=False)
class Features:
    """What is known of nodes, or of edges: numbers under their names, and words under theirs, one for each.

    A number that is missing is not-a-number, a word that is missing is "".
    """

    numbers_NF: np.ndarray
    names: tuple[str, ...] = ()
    words: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: NONE)

    @classmethod
    def nothing(cls, count: int) -> Features:
        return cls(np.zeros((count, 0), np.float32))

    def __len__(self) -> int:
        return len(self.numbers_NF)

    @property
    def all_names(self) -> tuple[str, ...]:
        return (*self.words, *self.names)

    def at(self, places: Sequence[int] | np.ndarray) -> Features:
        """Those of the given nodes or edges, in this order."""
        words = {name: tuple(own[place] for place in places) for name, own in self.words.items()}
        return Features(self.numbers_NF[np.asarray(places, np.int64)], self.names, words)

    def without(self, name: str) -> Features:
        """All but one of them."""
        keep = [place for place, own in enumerate(self.names) if own != name]
        words = {own: values for own, values in self.words.items() if own != name}
        return Features(self.numbers_NF[:, keep], tuple(self.names[place] for place in keep), words)

    def values_of(self, name: str) -> list[str]:
        """The values under a name, as text."""
        if name in self.words:
            return list(self.words[name])
        column_N = self.numbers_NF[:, self.names.index(name)]
        return ["" if np.isnan(value) else f"{value:.9g}" for value in column_N.tolist()]

    def record(self) -> dict[str, Any]:
        return {"numbers": matrix_record(self.numbers_NF), "names": list(self.names), "words": {
            name: list(own) for name, own in self.words.items()
        }}  # fmt: skip

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Features:
        words = {name: tuple(own) for name, own in record["words"].items()}
        return cls(matrix_of(record["numbers"]), tuple(record["names"]), words)


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes in any order, and the edges between them, each once, whatever its direction; none from a node to itself."""

    nodes: tuple[str, ...]
    edges_E2: np.ndarray
    node_features: Features
    edge_features: Features
    name: str = ""

    def __len__(self) -> int:
        return len(self.nodes)

    def __str__(self) -> str:
        return self.name or f"a graph of {len(self.nodes)} nodes"

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Of the nodes, by name."""
        return {name: place for place, name in enumerate(self.nodes)}

    @cached_property
    def digest(self) -> str:
        """The same for graphs with the same nodes, edges and features."""
        parts = hashlib.blake2b(digest_size=16)
        parts.update(repr((self.nodes, self.edges_E2.tolist())).encode())
        for own in (self.node_features, self.edge_features):
            parts.update(repr((own.names, dict(own.words))).encode() + np.ascontiguousarray(own.numbers_NF).tobytes())
        return parts.hexdigest()

    def permuted(self, order: Sequence[int] | np.ndarray) -> Graph:
        """The same graph with its nodes in another order."""
        order = np.asarray(order)
        place_of = np.argsort(order)
        nodes = tuple(self.nodes[place] for place in order)
        return Graph(nodes, place_of[self.edges_E2], self.node_features.at(order), self.edge_features, self.name)

    def with_edges(self, chosen: np.ndarray) -> Graph:
        """The same nodes with some of the edges, by their places."""
        return Graph(
            self.nodes, self.edges_E2[chosen], self.node_features, self.edge_features.at(chosen), self.name
        )

    def record(self) -> dict[str, Any]:
        return {
            "nodes": list(self.nodes), "edges": self.edges_E2.tolist(), "name": self.name,
            "node_features": self.node_features.record(), "edge_features": self.edge_features.record(),
        }  # fmt: skip

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Graph:
        edges_E2 = np.array(record["edges"], np.int64).reshape(-1, 2)
        nodes, edges = (Features.from_record(record[key]) for key in ("node_features", "edge_features"))
        return cls(tuple(record["nodes"]), edges_E2, nodes, edges, record["name"])


class Node(NamedTuple):
    """A node as it is written."""

    name: str
    features: Mapping[str, Any]


class Edge(NamedTuple):
    """An edge as it is written: the names of its two ends, and where it stands, in words."""

    first: str
    second: str
    features: Mapping[str, Any]
    place: str = ""


class Made(NamedTuple):
    """A graph, and what was not taken over as it was written."""

    graph: Graph
    loops: tuple[Edge, ...] = ()
    strangers: tuple[Edge, ...] = ()
    repeated: tuple[Edge, ...] = ()


def make(
    nodes: Sequence[Node], edges: Sequence[Edge], name: str = "", *, as_words: Sequence[str] = ()
) -> Made:
    """A graph of nodes and edges. Edges to nodes that are not there, from a node to itself, and those that are there
    twice with other features are left out, and told. ``as_words`` names features whose numbers are only names."""
    where = f"{name}: " if name else ""
    places = {node.name: place for place, node in enumerate(nodes)}
    if len(places) < len(nodes):
        double = [name for name, count in Counter(node.name for node in nodes).items() if count > 1]
        title = f"{where}every node needs a name of its own; these are there twice"
        raise DataError(enumerate_problems(title, [repr(one) for one in double[:SHOWN]]))
    strangers, loops, repeated = [], [], []
    kept: dict[tuple[int, int], Edge] = {}
    for edge in edges:
        if edge.first not in places or edge.second not in places:
            strangers.append(edge)
        elif edge.first == edge.second:
            loops.append(edge)
        else:
            one, other = sorted((places[edge.first], places[edge.second]))
            before = kept.setdefault((one, other), edge)
            if before is not edge and dict(before.features) != dict(edge.features):
                repeated.append(edge)
    edges_E2 = np.array(list(kept), np.int64).reshape(-1, 2)
    graph = Graph(
        tuple(places), edges_E2, features_of([node.features for node in nodes], as_words, f"{where}nodes"),
        features_of([edge.features for edge in kept.values()], as_words, f"{where}edges"), name,
    )  # fmt: skip
    return Made(graph, tuple(loops), tuple(strangers), tuple(repeated))


def features_of(records: Sequence[Mapping[str, Any]], as_words: Sequence[str] = (), where: str = "") -> Features:
    """What records say: a name is one of numbers where all of its values are numbers (or lists of so many, or missing).
    """
    if not any(records):
        return Features.nothing(len(records))
    names = {name: None for record in records for name in record}
    numbers: dict[str, np.ndarray] = {}
    words: dict[str, tuple[str, ...]] = {}
    for name in names:
        values = [record.get(name) for record in records]
        columns = None if name in as_words else as_numbers(values)
        if columns is None:
            words[name] = tuple(as_word(value) for value in values)
        elif columns.shape[1] == 1 and not any(isinstance(value, list | tuple) for value in values):
            numbers[name] = columns
        else:
            numbers |= {f"{name}.{place}": columns[:, [place]] for place in range(columns.shape[1])}
    matrix_NF = np.concatenate([*numbers.values(), np.zeros((len(records), 0), np.float32)], axis=1)
    infinite = [name for name, column in numbers.items() if np.isinf(column).any()]
    if infinite:
        raise DataError(f"{where}: infinite numbers under {', '.join(infinite)}; correct them")
    return Features(matrix_NF.astype(np.float32), tuple(numbers), words)


def as_numbers(values: Sequence[Any]) -> np.ndarray | None:
    """values_NF, or None where they are no numbers."""
    widths = {len(value) for value in values if isinstance(value, list | tuple)}
    if len(widths) > 1 or (widths and any(not isinstance(value, list | tuple | None) for value in values)):
        return None
    width = widths.pop() if widths else 1
    rows = [value if isinstance(value, list | tuple) else [value] * width for value in values]
    if any(not isinstance(one, int | float | None) for row in rows for one in row):
        return None
    if all(one is None for row in rows for one in row):
        return None
    return np.array([[np.nan if one is None else float(one) for one in row] for row in rows], np.float64)


def as_word(value: Any) -> str:
    return "" if value is None else str(value)


def matrix_record(matrix_NF: np.ndarray) -> dict[str, Any]:
    """Row by row, or where most of it is 0, place by place; what is missing is null."""
    shape, there = list(matrix_NF.shape), np.argwhere(matrix_NF != 0)
    if len(there) > DENSE_FROM * matrix_NF.size:
        return {"shape": shape, "rows": [[number(one) for one in row] for row in matrix_NF.tolist()]}
    return {"shape": shape, "places": there.tolist(), "values": [number(one) for one in matrix_NF[tuple(there.T)]]}


def number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def matrix_of(record: Mapping[str, Any]) -> np.ndarray:
    if "rows" in record:
        return np.array(record["rows"], np.float32).reshape(record["shape"])
    matrix_NF = np.zeros(record["shape"], np.float32)
    if record["places"]:
        matrix_NF[tuple(np.array(record["places"]).T)] = np.array(record["values"], np.float32)
    return matrix_NF
