"""What of a graph is asked about, as one types it: ``graph.json#a`` is a node, ``graph.json#a#b`` two of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from regard.core.config import nearest
from regard.core.errors import DataError
from regard.data.modalities.graph.graphs import Graph
from regard.data.modalities.graph.reading import graphs_at
from regard.data.modalities.graph.written import Broken

SIGN = "#"
"""Stands between a path and what is meant of it."""


class SelectedNodes(NamedTuple):
    """Nodes of a graph, by their places: one whose class is asked, or two of which is asked whether they are joined."""

    graph: Graph
    places: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.graph}{SIGN}{SIGN.join(self.graph.nodes[place] for place in self.places)}"


def split_path(argument: str) -> tuple[Path, list[str]]:
    """A path, and what stands behind it; a path may have the sign in its name."""
    parts = argument.split(SIGN)
    for count in range(len(parts), 0, -1):
        path = Path(SIGN.join(parts[:count])).expanduser()
        if path.exists():
            return path, parts[count:]
    return Path(parts[0]).expanduser(), parts[1:]


def parse_nodes(argument: str, count: int) -> SelectedNodes:
    """So many nodes of a graph; where a path holds several graphs, the number of one of them stands before."""
    path, said = split_path(argument)
    graphs = graphs_at(path)
    number, names = 1, said
    if len(graphs) > 1 or len(said) == count + 1:
        if not (said and said[0].isdecimal() and 1 <= int(said[0]) <= len(graphs)):
            raise DataError(
                f"{path} holds {len(graphs):,} graphs; name one by its number before its nodes, as in "
                f"{path}{SIGN}1{SIGN}{'NODE' if count == 1 else 'ONE' + SIGN + 'OTHER'}"
            )
        number, names = int(said[0]), said[1:]
    if not graphs:
        raise DataError(f"{path} holds no graph")
    one = graphs[number - 1]
    if isinstance(one, Broken):
        raise DataError(f"{path}, line {one.line}: {one.reason} ({one.detail})")
    if len(names) != count:
        example = SIGN.join(one.graph.nodes[:count])
        wanted = "a node" if count == 1 else "two nodes"
        raise DataError(f"{argument!r} should name {wanted} of {path}, as in {path}{SIGN}{example}")
    return select_nodes(one.graph, names)


def select_nodes(graph: Graph, names: Sequence[Any]) -> SelectedNodes:
    """Nodes by their names; one that is not there is told with the nearest that is."""
    places = graph.places
    unknown = [f"{name!r}{nearest(str(name), graph.nodes)}" for name in names if str(name) not in places]
    if unknown:
        raise DataError(f"{graph} has no node {', '.join(unknown)}; it has {len(graph):,} nodes")
    return SelectedNodes(graph, tuple(places[str(name)] for name in names))


def nodes_at(argument: str) -> list[str]:
    """A word for every node of the graphs at a path; the word itself where it names one."""
    path, said = split_path(argument)
    graphs = graphs_at(path)
    several = len(graphs) > 1
    if len(said) > several or (said and not said[0].isdecimal()):
        return [argument]
    chosen = range(1, len(graphs) + 1) if not said else [int(said[0])]
    found = []
    for number in chosen:
        one = graphs[number - 1] if 1 <= number <= len(graphs) else None
        if one is None or isinstance(one, Broken):
            return [argument]  # which is told when it is read
        between = f"{SIGN}{number}{SIGN}" if several else SIGN
        found += [f"{path}{between}{name}" for name in one.graph.nodes]
    return found
