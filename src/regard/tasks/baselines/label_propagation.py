"""Label propagation: the classes of a few nodes spread along the edges of a graph."""

from __future__ import annotations

import numpy as np

KEPT = 0.9
STEPS = 50


def spread_labels(
    edges_E2: np.ndarray, nodes: int, places_M: np.ndarray, labels_M: np.ndarray, classes: int
) -> np.ndarray:
    """scores_NC: F ← α D^−½ A D^−½ F + (1 − α) Y from the known classes Y (Zhou et al. 2004, section 2).

    Where no known class comes to, the most frequent one of the known has a little.
    """
    known_NC = np.zeros((nodes, classes))
    known_NC[places_M, labels_M] = 1.0
    first_M, second_M = np.concatenate((edges_E2, edges_E2[:, ::-1])).T
    scale_N = 1 / np.sqrt(np.maximum(np.bincount(first_M, minlength=nodes), 1))
    weights_M1 = (scale_N[first_M] * scale_N[second_M])[:, None]
    scores_NC = known_NC
    for _ in range(STEPS):
        spread_NC = np.zeros_like(scores_NC)
        np.add.at(spread_NC, first_M, weights_M1 * scores_NC[second_M])
        scores_NC = KEPT * spread_NC + (1 - KEPT) * known_NC
    return scores_NC + 1e-12 * known_NC.sum(axis=0)
