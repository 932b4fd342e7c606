"""Pairs of nodes: edges that are hidden, and as many pairs without an edge, drawn by chance."""

from __future__ import annotations

import numpy as np

ATTEMPTS = 100


def codes_of(pairs_M2: np.ndarray, nodes: int) -> np.ndarray:
    """One number for a pair, whatever its direction."""
    ordered_M2 = np.sort(np.asarray(pairs_M2, np.int64).reshape(-1, 2), axis=1)
    return ordered_M2[:, 0] * nodes + ordered_M2[:, 1]


def pairs_without_edge(edges_E2: np.ndarray, nodes: int, count: int, generator: np.random.Generator) -> np.ndarray:
    """pairs_M2 of two nodes that no edge joins, each once and evenly drawn; fewer where there are not so many."""
    joined, possible = set(codes_of(edges_E2, nodes).tolist()), nodes * (nodes - 1) // 2
    count = min(count, possible - len(joined))
    found: dict[int, None] = {}
    for _ in range(ATTEMPTS):
        drawn_M2 = generator.integers(0, nodes, (2 * (count - len(found)) + 8, 2))
        for code in codes_of(drawn_M2[drawn_M2[:, 0] != drawn_M2[:, 1]], nodes).tolist():
            if code not in joined and len(found) < count:
                found[code] = None
        if len(found) == count:
            break
    else:  # nearly all are joined: the few that are left are listed
        ends = np.stack(np.triu_indices(nodes, 1), axis=1)
        left = [code for code in codes_of(ends, nodes).tolist() if code not in joined and code not in found]
        chosen = generator.permutation(len(left))[: count - len(found)]
        found |= {left[place]: None for place in chosen.tolist()}
    codes_M = np.array(list(found), np.int64)
    return np.stack((codes_M // nodes, codes_M % nodes), axis=1)
