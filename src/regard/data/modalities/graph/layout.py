"""Where the nodes of a graph are drawn: as far from one another as there are edges between them."""

from __future__ import annotations

import numpy as np

from regard.data.modalities.graph.structure import distances

STEPS = 100
ENOUGH = 1e-4
MOST = 300


def layout(edges_E2: np.ndarray, nodes: int) -> np.ndarray:
    """places_N2 between 0 and 1, the longer side filled: stress majorisation (Gansner, Koren & North 2004) of the
    distances in edges, weighted by their inverse square, from where classical scaling puts the nodes."""
    if nodes == 1:
        return np.full((1, 2), 0.5)
    wanted_NN = distances(edges_E2, nodes, min(nodes - 1, 200)).astype(np.float64)
    apart_NN = wanted_NN > min(nodes - 1, 200)
    reached = float(wanted_NN[~apart_NN].max(initial=1.0))
    wanted_NN[apart_NN] = reached / 2 + 1.5  # what no way leads to stands beside
    places_N2 = scaled(wanted_NN)
    weights_NN = 1 / np.square(np.where(wanted_NN > 0, wanted_NN, np.inf))
    laplacian_NN = np.diag(weights_NN.sum(axis=1)) - weights_NN
    inverse_NN = np.linalg.pinv(laplacian_NN)
    before = np.inf
    for _ in range(STEPS):
        found_NN = np.linalg.norm(places_N2[:, None] - places_N2, axis=-1)
        stress = float((weights_NN * np.square(found_NN - wanted_NN)).sum())
        if before - stress <= ENOUGH * before and np.isfinite(before):
            break
        before = stress
        ratio_NN = weights_NN * wanted_NN / np.where(found_NN > 1e-9, found_NN, 1.0)
        np.fill_diagonal(ratio_NN, 0.0)
        places_N2 = inverse_NN @ ((np.diag(ratio_NN.sum(axis=1)) - ratio_NN) @ places_N2)
    return filled(turned(places_N2))


def scaled(wanted_NN: np.ndarray) -> np.ndarray:
    """The two directions along which the squared distances spread most; a little apart where they coincide."""
    nodes = len(wanted_NN)
    centre_NN = np.eye(nodes) - 1 / nodes
    values_N, vectors_NN = np.linalg.eigh(-0.5 * centre_NN @ np.square(wanted_NN) @ centre_NN)
    places_N2 = vectors_NN[:, -2:] * np.sqrt(np.maximum(values_N[-2:], 1e-6))
    angles_N = np.arange(nodes) * 2.4  # leaves of one node, which distances do not tell apart
    return places_N2 + 0.1 * np.stack((np.cos(angles_N), np.sin(angles_N)), axis=1)


def turned(places_N2: np.ndarray) -> np.ndarray:
    """With the longer side from left to right."""
    _, _, axes_22 = np.linalg.svd(places_N2 - places_N2.mean(axis=0), full_matrices=False)
    return (places_N2 - places_N2.mean(axis=0)) @ axes_22.T


def filled(places_N2: np.ndarray) -> np.ndarray:
    low_2, high_2 = places_N2.min(axis=0), places_N2.max(axis=0)
    return (places_N2 - low_2) / max(float((high_2 - low_2).max()), 1e-9)
