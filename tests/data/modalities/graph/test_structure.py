"""What edges alone say of nodes: gold values by hand, and networkx, which knows the answers."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.modalities.graph.structure import (
    adjacency,
    degree_classes,
    degrees,
    distances,
    laplacian_eigenvectors,
    return_probabilities,
    smoothed,
)

PATH = np.array([[0, 1], [1, 2]])
RING_AND_TAIL = np.array([[0, 1], [1, 2], [2, 0], [2, 3], [3, 4]])
NOTHING = np.zeros((0, 2), np.int64)


def random_edges(seed: int, nodes: int) -> np.ndarray:
    graph = networkx.gnp_random_graph(nodes, 0.3, seed=seed)
    return np.array(graph.edges, np.int64).reshape(-1, 2)


def test_degrees_are_told_apart_up_to_the_most() -> None:
    assert degrees(RING_AND_TAIL, 5).tolist() == [2, 2, 3, 2, 1]
    assert degree_classes(RING_AND_TAIL, 5, 2).argmax(axis=1).tolist() == [2, 2, 2, 2, 1]
    assert degree_classes(NOTHING, 2, 3).tolist() == [[1, 0, 0, 0]] * 2


def test_how_probably_a_walk_comes_back() -> None:
    """On a path of three: never after one step; from the middle always after two."""
    found = return_probabilities(PATH, 3, 4)
    np.testing.assert_allclose(found, [[0, 0.5, 0, 0.5], [0, 1, 0, 1], [0, 0.5, 0, 0.5]], atol=1e-6)
    assert not return_probabilities(NOTHING, 2, 3).any()


@pytest.mark.parametrize("nodes", [1, 2, 7, 23])
def test_eigenvectors_are_those_of_the_laplacian(nodes: int) -> None:
    """L v = λ v, orthogonal, of length √N, by growing λ; zeros where there are no more."""
    edges_E2 = random_edges(3, nodes)
    found = laplacian_eigenvectors(edges_E2, nodes, 4).astype(np.float64)
    edges_NN = adjacency(edges_E2, nodes).astype(np.float64)
    scale_N = 1 / np.sqrt(np.maximum(edges_NN.sum(axis=1), 1))
    laplacian_NN = np.eye(nodes) - scale_N[:, None] * edges_NN * scale_N
    there = min(4, nodes - 1)
    values = [float(one @ laplacian_NN @ one / nodes) for one in found.T[:there]]
    assert values == sorted(values)
    for value, one in zip(values, found.T):
        np.testing.assert_allclose(laplacian_NN @ one, value * one, atol=1e-5)
    np.testing.assert_allclose(found.T[:there] @ found[:, :there] / nodes, np.eye(there), atol=1e-5)
    assert not found[:, there:].any()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 17), st.integers(1, 5))
def test_distances_are_networkx_own(seed: int, nodes: int, most: int) -> None:
    edges_E2 = random_edges(seed, nodes)
    graph = networkx.Graph(list(map(tuple, edges_E2)))
    graph.add_nodes_from(range(nodes))
    known = dict(networkx.all_pairs_shortest_path_length(graph))
    expected = [[min(known[one].get(other, most + 1), most + 1) for other in range(nodes)] for one in range(nodes)]
    assert distances(edges_E2, nodes, most).tolist() == expected


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 17))
def test_smoothing_is_the_product_with_the_normalised_matrix(seed: int, nodes: int) -> None:
    edges_E2 = random_edges(seed, nodes)
    values_NC = np.random.default_rng(seed).standard_normal((nodes, 3)).astype(np.float32)
    joined_NN = adjacency(edges_E2, nodes) + np.eye(nodes)
    scale_N = 1 / np.sqrt(joined_NN.sum(axis=1))
    matrix_NN = scale_N[:, None] * joined_NN * scale_N
    once, twice = smoothed(values_NC, edges_E2, 2)
    np.testing.assert_allclose(once, matrix_NN @ values_NC, atol=1e-5)
    np.testing.assert_allclose(twice, matrix_NN @ matrix_NN @ values_NC, atol=1e-5)
