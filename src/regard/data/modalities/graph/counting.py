"""What a graph is made of, in counts: its nodes, their kinds and those of edges, and which are neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from regard.data.modalities.graph.graphs import Features, Graph

NUMBER, NODES, KINDS, NEIGHBOURS = "number of nodes", "kinds of nodes", "kinds of nodes and edges", "neighbourhoods"


def part_counts(graphs: Sequence[Graph]) -> Mapping[str, Sequence[Mapping[str, float]]]:
    """Four ways to count: nodes alone; nodes by kind, with sums of their numbers; nodes and edges by kind; and beside
    these kinds those of each node with its neighbours (Shervashidze et al. 2011, one round)."""
    nodes = [{**kind_counts("node", graph.node_features), "nodes": float(len(graph))} for graph in graphs]
    kinds = [
        {**own, **kind_counts("edge", graph.edge_features), "edges": float(len(graph.edges_E2))}
        for own, graph in zip(nodes, graphs, strict=True)
    ]
    return {
        NUMBER: [{"nodes": float(len(graph))} for graph in graphs],
        NODES: nodes,
        KINDS: kinds,
        NEIGHBOURS: [{**own, **neighbourhoods(graph)} for own, graph in zip(kinds, graphs, strict=True)],
    }


def kind_counts(what: str, features: Features) -> dict[str, float]:
    """How often every word is there, and the sum of every number."""
    counts = Counter(f"{what} {name} {value}" for name, values in features.words.items() for value in values)
    sums = zip(features.names, np.nansum(features.numbers_NF, axis=0).tolist(), strict=True)
    return {**counts, **{f"{what} {name}": total for name, total in sums}}


def neighbourhoods(graph: Graph) -> dict[str, float]:
    """Every node with its neighbours, and the edges to them, as one kind."""
    nodes, edges = words_of(graph.node_features, len(graph)), words_of(graph.edge_features, len(graph.edges_E2))
    around: list[list[str]] = [[] for _ in range(len(graph))]
    for (one, other), edge in zip(graph.edges_E2.tolist(), edges, strict=True):
        around[one].append(f"{edge}→{nodes[other]}")
        around[other].append(f"{edge}→{nodes[one]}")
    return dict(Counter(f"{node}: {', '.join(sorted(own))}" for node, own in zip(nodes, around, strict=True)))


def words_of(features: Features, count: int) -> list[str]:
    """All words that are known of each node (or edge), as one."""
    if len(features) != count or not features.words:
        return [""] * count
    return ["/".join(values) for values in zip(*features.words.values(), strict=True)]
