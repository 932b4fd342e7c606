"""What the edges alone say of a node or of two: degree, random walks, Laplacian eigenvectors, distances; and smoothing.

Pure functions of ``edges_E2``, each edge once, and the number of nodes. Permuting the nodes permutes what they give.
"""

from __future__ import annotations

import numpy as np
import torch

SAME = 1e-6


def adjacency(edges_E2: np.ndarray, nodes: int) -> np.ndarray:
    """edges_NN: 1 where two nodes are joined, in both directions."""
    edges_NN = np.zeros((nodes, nodes), np.float32)
    edges_NN[edges_E2[:, 0], edges_E2[:, 1]] = 1
    edges_NN[edges_E2[:, 1], edges_E2[:, 0]] = 1
    return edges_NN


def degrees(edges_E2: np.ndarray, nodes: int) -> np.ndarray:
    """How many edges each node has."""
    return np.bincount(edges_E2.ravel(), minlength=nodes)


def degree_classes(edges_E2: np.ndarray, nodes: int, most: int) -> np.ndarray:
    """classes_NC: 1 at the node's degree, of 0 to ``most``, which stands for all larger ones."""
    return np.eye(most + 1, dtype=np.float32)[np.minimum(degrees(edges_E2, nodes), most)]


def return_probabilities(edges_E2: np.ndarray, nodes: int, steps: int) -> np.ndarray:
    """walks_NK: how probably a random walk is back where it began after 1, 2 … steps (Dwivedi et al. 2022, eq. 3)."""
    edges_NN = adjacency(edges_E2, nodes)
    walk_NN = edges_NN / np.maximum(edges_NN.sum(axis=1, keepdims=True), 1)
    power_NN, found = np.eye(nodes, dtype=np.float32), []
    for _ in range(steps):
        power_NN = power_NN @ walk_NN
        found.append(np.diag(power_NN).copy())
    return np.stack(found, axis=1)


def laplacian_eigenvectors(edges_E2: np.ndarray, nodes: int, count: int) -> np.ndarray:
    """vectors_NK of the smallest eigenvalues of I − D^−½ A D^−½ after the first (Dwivedi & Bresson 2021, section 2.2).

    Of length √N, so that entries are about as large in any graph; zeros where there are fewer. An eigenvector's sign
    means nothing: the one is taken that makes the sum of cubes positive, so that a permutation of the nodes changes
    none. In symmetrical graphs, where two eigenvalues are equal or a vector is its own mirror image, any choice would
    do, and the one that is found may depend on the order of the nodes.
    """
    edges_NN = adjacency(edges_E2, nodes).astype(np.float64)
    scale_N = 1 / np.sqrt(np.maximum(edges_NN.sum(axis=1), 1))
    laplacian_NN = np.eye(nodes) - scale_N[:, None] * edges_NN * scale_N
    _, vectors_NN = np.linalg.eigh(laplacian_NN)
    vectors_NK = vectors_NN[:, 1 : count + 1] * np.sqrt(nodes)
    cubes_K = (vectors_NK**3).sum(axis=0)
    vectors_NK = vectors_NK * np.where(cubes_K < 0, -1.0, 1.0)
    found_NK = np.zeros((nodes, count), np.float32)
    found_NK[:, : vectors_NK.shape[1]] = vectors_NK
    return found_NK


def distances(edges_E2: np.ndarray, nodes: int, most: int) -> np.ndarray:
    """distances_NN: how many edges lie between two nodes at least, 0 to ``most``; ``most`` + 1 where it is more, or
    where no way leads there."""
    edges_NN = adjacency(edges_E2, nodes)
    found_NN = np.full((nodes, nodes), most + 1, np.uint8)
    np.fill_diagonal(found_NN, 0)
    reached_NN = np.eye(nodes, dtype=np.float32)
    for steps in range(1, most + 1):
        next_NN = ((reached_NN @ edges_NN + reached_NN) > 0).astype(np.float32)
        found_NN[(next_NN > 0) & (reached_NN == 0)] = steps
        if np.array_equal(next_NN, reached_NN):
            break
        reached_NN = next_NN
    return found_NN


def smoothed(values_NC: np.ndarray, edges_E2: np.ndarray, hops: int) -> list[np.ndarray]:
    """Â X, Â² X …, with Â = D^−½ (A + I) D^−½ of a graph whose nodes are joined to themselves (Kipf & Welling 2017,
    eq. 2): a node's features, and those of all around it, averaged."""
    nodes = len(values_NC)
    scale_N = 1 / np.sqrt(degrees(edges_E2, nodes) + 1.0)
    itself_N2 = np.repeat(np.arange(nodes)[:, None], 2, axis=1)
    first_M, second_M = np.concatenate((edges_E2, edges_E2[:, ::-1], itself_N2)).T
    mean = torch.sparse_coo_tensor(
        torch.from_numpy(np.stack((first_M, second_M))), torch.from_numpy(scale_N[first_M] * scale_N[second_M]).float(),
        (nodes, nodes), check_invariants=False,
    ).coalesce()  # fmt: skip
    found = [torch.from_numpy(np.ascontiguousarray(values_NC, np.float32))]
    for _ in range(hops):
        found.append(torch.sparse.mm(mean, found[-1]))
    return [one.numpy() for one in found[1:]]


def nearest_nodes(edges_E2: np.ndarray, nodes: int, place: int, reach: int, most: int) -> np.ndarray:
    """places_M of a node and of those at most ``reach`` edges away (0: any), in their own order; where these are more
    than ``most``, those that are fewest edges away, and among them those that come first."""
    order, seen_N = [place], np.zeros(nodes, bool)
    seen_N[place] = True
    last_M = np.array([place])
    steps = 0
    while len(last_M) and len(order) < most and (not reach or steps < reach):
        near_N = np.zeros(nodes, bool)
        at_last_N = np.zeros(nodes, bool)
        at_last_N[last_M] = True
        near_N[edges_E2[at_last_N[edges_E2[:, 0]], 1]] = True
        near_N[edges_E2[at_last_N[edges_E2[:, 1]], 0]] = True
        last_M = np.flatnonzero(near_N & ~seen_N)
        seen_N[last_M] = True
        order += last_M.tolist()
        steps += 1
    return np.sort(np.array(order[:most], np.int64))
