"""How many neighbours two nodes have in common, each counted once or the less the more neighbours it has itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

WEIGHTS: dict[str, Callable[[int], float]] = {
    "common neighbours": lambda degree: 1.0,
    "Adamic–Adar": lambda degree: float(1 / np.log(degree)) if degree > 1 else 0.0,
}
"""What a common neighbour of so many neighbours counts (Liben-Nowell & Kleinberg 2007, section 3)."""


def neighbour_scores(edges_E2: np.ndarray, nodes: int, pairs_M2: np.ndarray) -> dict[str, np.ndarray]:
    """scores_M of the pairs, by the name of the way to count."""
    around: list[set[int]] = [set() for _ in range(nodes)]
    for one, other in edges_E2.tolist():
        around[one].add(other)
        around[other].add(one)
    common = [around[one] & around[other] for one, other in pairs_M2.tolist()]
    return {
        name: np.array([sum(weight(len(around[node])) for node in own) for own in common], np.float64)
        for name, weight in WEIGHTS.items()
    }
