"""What a graph is made of, in counts: its nodes, their kinds and those of edges, and which are neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from regard.data.modalities.graph.graphs import Features, Graph

NUMBER, KINDS, NEIGHBOURS = "number of nodes", "kinds of nodes and edges", "neighbourhoods"


def part_counts(graphs: Sequence[Graph]) -> Mapping[str, Sequence[Mapping[str, float]]]:
    """Three ways to count: nodes alone; nodes and edges by kind, with sums of their numbers; and beside the kinds those
    of each node with its neighbours (Shervashidze et al. 2011, one round)."""
    kinds = [kind_counts(graph) for graph in graphs]
    return {
        NUMBER: [{"nodes": float(len(graph))} for graph in graphs],
        KINDS: kinds,
        NEIGHBOURS: [{**own, **neighbourhoods(graph)} for own, graph in zip(kinds, graphs, strict=True)],
    }


def kind_counts(graph: Graph) -> dict[str, float]:
    found: Counter[str] = Counter()
    for what, features in (("node", graph.node_features), ("edge", graph.edge_features)):
        for name, values in features.words.items():
            found.update(f"{what} {name} {value}" for value in values)
        for name, total in zip(features.names, np.nansum(features.numbers_NF, axis=0).tolist(), strict=True):
            found[f"{what} {name}"] += total
    found["nodes"] += len(graph)
    found["edges"] += len(graph.edges_E2)
    return dict(found)


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
