"""Graphs as JSON, one in a file, a list of them, or one a line: nodes with their features, and edges (or links)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from regard.core.errors import DataError
from regard.core.files import parse_json
from regard.data.modalities.graph.graphs import Edge, Graph, Made, Node, make
from regard.data.modalities.graph.written import Broken, Written
from regard.data.readers import read_lines
from regard.data.tables import as_text

SUFFIXES = (".json", ".jsonl", ".ndjson")
EXPECTED = (
    'as in {"nodes": [{"id": "a", "colour": "red"}, {"id": "b"}], "edges": [{"source": "a", "target": "b"}]}'
)
BROKEN = "no readable graph"


@runtime_checkable
class NetworkxGraph(Protocol):
    """A graph of the package networkx."""

    graph: Mapping[Any, Any]

    def is_directed(self) -> bool: ...

    @property
    def nodes(self) -> Any: ...

    @property
    def edges(self) -> Any: ...


@runtime_checkable
class ArrayLike(Protocol):
    """Arrays and tensors."""

    def tolist(self) -> Any: ...


def read_json_graphs(path: Path) -> Iterator[Written | Broken]:
    """The graphs of a file; one that cannot be read says why."""
    for line, tree in trees(path):
        if isinstance(tree, Broken):
            yield tree
            continue
        try:
            made = graph_of_tree(tree)
        except DataError as error:
            yield Broken(line, BROKEN, str(error))
        else:
            yield Written(made, properties_of(tree), line)


def trees(path: Path) -> Iterator[tuple[int, Any]]:
    """JSON values with their lines or numbers; a whole file where it is one value, else line by line."""
    lines = read_lines(path)
    if path.name.removesuffix(".gz").endswith(".json"):
        try:
            whole = parse_json("\n".join(lines))
        except json.JSONDecodeError as error:
            if not all(is_object(line) for line in lines[:2] if line.strip()) or len(lines) < 2:
                raise DataError(
                    f"{path} is broken JSON ({error.msg}, line {error.lineno}, column {error.colno}); correct it"
                ) from error
        else:
            yield from enumerate(whole, start=1) if isinstance(whole, list) else [(1, whole)]
            return
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield number, parse_json(line)
            except json.JSONDecodeError as error:
                yield number, Broken(number, BROKEN, f"broken JSON ({error.msg} at column {error.colno})")


def is_object(line: str) -> bool:
    try:
        return isinstance(parse_json(line), dict)
    except json.JSONDecodeError:
        return False


def graph_of_tree(tree: Any) -> Made:
    """A graph that JSON holds: nodes by name, with or without features, or how many there are; edges as pairs or as
    objects with "source" and "target"."""
    if not isinstance(tree, Mapping) or "nodes" not in tree:
        raise DataError(f"an object with nodes and edges is expected, {EXPECTED}; found {json.dumps(tree)[:60]}")
    nodes, edges = tree["nodes"], tree.get("edges", tree.get("links", []))
    if isinstance(nodes, int):
        nodes = list(range(nodes))
    if not isinstance(nodes, list) or not isinstance(edges, list):
        raise DataError(f"nodes and edges are lists, {EXPECTED}")
    name = as_text(tree.get("name", ""))
    return make([node_of(one) for one in nodes], [edge_of(one, place) for place, one in enumerate(edges, 1)], name)


def node_of(one: Any) -> Node:
    if not isinstance(one, Mapping):
        return Node(as_text(one), {})
    if "id" not in one:
        raise DataError(f'every node needs an "id", {EXPECTED}; found {json.dumps(one)[:60]}')
    return Node(as_text(one["id"]), {key: value for key, value in one.items() if key != "id"})


def edge_of(one: Any, number: int) -> Edge:
    if isinstance(one, Mapping) and {"source", "target"} <= one.keys():
        features = {key: value for key, value in one.items() if key not in ("source", "target", "key")}
        return Edge(as_text(one["source"]), as_text(one["target"]), features, f"edge {number}")
    if isinstance(one, Sequence) and not isinstance(one, str) and len(one) == 2:
        return Edge(as_text(one[0]), as_text(one[1]), {}, f"edge {number}")
    raise DataError(f"an edge names its two ends, {EXPECTED}; found {json.dumps(one)[:60]}")


def properties_of(tree: Mapping[str, Any]) -> dict[str, str]:
    """What is said of the whole graph; networkx keeps that under "graph"."""
    beside = {key: value for key, value in tree.items() if key not in ("nodes", "edges", "links", "graph")}
    inner = tree.get("graph", {})
    inner = dict(inner) if isinstance(inner, Mapping) else {}
    return {key: as_text(value) for key, value in {**inner, **beside}.items()}


def tree_of(graph: NetworkxGraph) -> dict[str, Any]:
    """A networkx graph as such JSON: its nodes, edges and all that is said of them."""
    return {
        **{str(key): plain(value) for key, value in graph.graph.items()},
        "nodes": [{**named(own), "id": str(node)} for node, own in graph.nodes(data=True)],
        "edges": [
            {**named(own), "source": str(first), "target": str(second)} for first, second, own in graph.edges(data=True)
        ],
    }


def named(features: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(key): plain(value) for key, value in features.items()}


def plain(value: Any) -> Any:
    """NumPy's and torch's numbers as Python's."""
    if isinstance(value, str | int | float | None):
        return value
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return plain(value.tolist()) if isinstance(value, ArrayLike) else str(value)


Raw: TypeAlias = "Graph | NetworkxGraph"


def as_graph(raw: Raw) -> Graph:
    """A graph of ours, or networkx's."""
    return raw if isinstance(raw, Graph) else graph_of_tree(tree_of(raw)).graph
