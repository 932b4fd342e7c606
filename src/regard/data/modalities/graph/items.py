"""Graphs as items: encoded once, changed by chance in training, and collated to padded tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from regard.core.config import Config
from regard.core.errors import DataError
from regard.core.inputs import Inputs
from regard.data.modalities.graph.graphs import Graph
from regard.data.modalities.graph.structure import (
    degree_classes,
    distances,
    laplacian_eigenvectors,
    return_probabilities,
    smoothed,
)

MOST_PAIRS = 1 << 29
"""Numbers of all pairs of nodes in a batch."""


class Structure(Config):
    """What a model is told of how each node is placed in its graph; 0: nothing."""

    laplacian: int = Field(0, ge=0, le=1000)  # so many eigenvectors of its Laplacian, their signs drawn in training
    random_walk: int = Field(0, ge=0, le=1000)  # how probably a walk of 1, 2 … so many steps comes back
    degree: int = Field(0, ge=0, le=1000)  # how many edges a node has, told apart up to so many
    distance: int = Field(0, ge=0, le=250)  # of every two nodes how far they are apart, told apart up to so many edges

    @property
    def width(self) -> int:
        """Numbers of each node."""
        return self.laplacian + self.random_walk + (self.degree + 1 if self.degree else 0)

    @property
    def pairs(self) -> int:
        """Numbers of each two."""
        return self.distance + 2 if self.distance else 0


class GraphAugmentation(Config):
    """What is done to training graphs, each epoch anew."""

    drop_nodes: float = Field(0.0, ge=0, lt=1)  # the share of nodes whose features are hidden, before any smoothing
    drop_edges: float = Field(0.0, ge=0, lt=1)  # the share of edges that are left out

    @property
    def changes(self) -> bool:
        return self.drop_nodes > 0 or self.drop_edges > 0


class Smoothing(NamedTuple):
    """Over how many edges features are smoothed, and what a model reads of that: every step beside the features
    themselves, their mean, or the last step alone."""

    hops: int = 0
    read: Literal["beside", "mean", "last"] = "beside"

    @property
    def copies(self) -> int:
        """How often the width of the features is read."""
        return 1 + self.hops if self.read == "beside" else 1

    def __call__(self, values_NC: np.ndarray, edges_E2: np.ndarray) -> np.ndarray:
        if not self.hops:
            return values_NC
        steps = [values_NC, *smoothed(values_NC, edges_E2, self.hops)]
        if self.read == "beside":
            return np.concatenate(steps, axis=1)
        return steps[-1] if self.read == "last" else np.mean(steps, axis=0)


@dataclass(frozen=True, eq=False)
class GraphItem:
    """A graph in numbers: what is known of its nodes, and what is read of that, smoothed or not."""

    graph: Graph
    edges_E2: np.ndarray
    values_NC: np.ndarray
    read_NC: np.ndarray
    placed_NC: np.ndarray  # degrees and random walks
    vectors_NK: np.ndarray  # of the Laplacian
    edge_values_EC: np.ndarray
    distances_NN: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.graph)

    def part(self, kept_M: np.ndarray) -> GraphItem:
        """Some of the nodes with what is known of them in the whole graph, and the edges between them."""
        new_N = np.full(len(self), -1)
        new_N[kept_M] = np.arange(len(kept_M))
        inside = [
            np.flatnonzero((new_N[edges_E2] >= 0).all(axis=1)) for edges_E2 in (self.edges_E2, self.graph.edges_E2)
        ]
        graph = Graph(
            tuple(self.graph.nodes[place] for place in kept_M), new_N[self.graph.edges_E2[inside[1]]],
            self.graph.node_features.at(kept_M), self.graph.edge_features.at(inside[1]), self.graph.name,
        )  # fmt: skip
        distances_NN = None if self.distances_NN is None else self.distances_NN[np.ix_(kept_M, kept_M)]
        return GraphItem(
            graph, new_N[self.edges_E2[inside[0]]], self.values_NC[kept_M], self.read_NC[kept_M],
            self.placed_NC[kept_M], self.vectors_NK[kept_M], self.edge_values_EC[inside[0]], distances_NN,
        )  # fmt: skip


def encode_graph(
    graph: Graph, values_NC: np.ndarray, edge_values_EC: np.ndarray, structure: Structure, smoothing: Smoothing
) -> GraphItem:
    nodes, edges_E2 = len(graph), graph.edges_E2
    placed = [np.zeros((nodes, 0), np.float32)]
    if structure.degree:
        placed.append(degree_classes(edges_E2, nodes, structure.degree))
    if structure.random_walk:
        placed.append(return_probabilities(edges_E2, nodes, structure.random_walk))
    return GraphItem(
        graph, edges_E2, values_NC, smoothing(values_NC, edges_E2), np.concatenate(placed, axis=1),
        laplacian_eigenvectors(edges_E2, nodes, structure.laplacian) if structure.laplacian
        else np.zeros((nodes, 0), np.float32),
        edge_values_EC, distances(edges_E2, nodes, structure.distance) if structure.distance else None,
    )  # fmt: skip


def changed(
    item: GraphItem, augmentation: GraphAugmentation, smoothing: Smoothing, generator: np.random.Generator
) -> GraphItem:
    """Hidden features, fewer edges, other signs of eigenvectors; every draw is made whatever is configured, so that one
    setting alters no other. Hiding scales the others up, so that sums stay as they are on the average."""
    hidden_N = generator.random(len(item)) < augmentation.drop_nodes
    kept_E = generator.random(len(item.edges_E2)) >= augmentation.drop_edges
    signs_K = generator.choice(np.array([-1, 1], np.float32), item.vectors_NK.shape[1])
    made = replace(item, vectors_NK=item.vectors_NK * signs_K)
    if augmentation.drop_edges:
        made = replace(made, edges_E2=item.edges_E2[kept_E], edge_values_EC=item.edge_values_EC[kept_E])
    if augmentation.drop_nodes:
        made = replace(made, values_NC=item.values_NC * (~hidden_N / np.float32(1 - augmentation.drop_nodes))[:, None])
    if augmentation.changes:
        made = replace(made, read_NC=smoothing(made.values_NC, made.edges_E2))
    return made


def collate_graphs(items: Sequence[GraphItem], structure: Structure) -> Inputs:
    """values_BNC, edges_M3 and, where more is known of two nodes, pairs_BNNC; nodes beyond a graph's own are 0."""
    lengths = [len(item) for item in items]
    most, rows = max(lengths), len(items)
    first = node_values(items[0])
    values_BNC = np.zeros((rows, most, first.shape[1]), np.float32)
    channels = items[0].edge_values_EC.shape[1]
    pairs = channels + structure.pairs
    if rows * most * most * pairs > MOST_PAIRS:
        raise DataError(
            f"graphs of {most:,} nodes are too large for what is known of every two of them ({pairs} numbers); set "
            "input.structure.distance=0, and leave out the features of edges"
        )
    pairs_BNNC = np.zeros((rows, most, most, pairs), np.float32) if pairs else None
    for row, (item, length) in enumerate(zip(items, lengths, strict=True)):
        values_BNC[row, :length] = node_values(item) if row else first
        ends_E, others_E = item.edges_E2.T
        if pairs_BNNC is not None:
            if channels:
                pairs_BNNC[row, ends_E, others_E, :channels] = item.edge_values_EC
                pairs_BNNC[row, others_E, ends_E, :channels] = item.edge_values_EC
            if item.distances_NN is not None:
                classes = np.eye(structure.pairs, dtype=np.float32)[item.distances_NN]
                pairs_BNNC[row, :length, :length, channels:] = classes
    return Inputs(
        torch.from_numpy(values_BNC), torch.tensor(lengths), edges_M3=collate_edges(items),
        pairs_BNNC=None if pairs_BNNC is None else torch.from_numpy(pairs_BNNC),
    )  # fmt: skip


def collate_edges(items: Sequence[GraphItem]) -> Tensor:
    """edges_M3 of all: the row, and two nodes that see each other; every edge in both directions."""
    found = [np.zeros((0, 3), np.int64)]
    for row, item in enumerate(items):
        both_M2 = np.concatenate((item.edges_E2, item.edges_E2[:, ::-1]))
        found.append(np.concatenate((np.full((len(both_M2), 1), row), both_M2), axis=1))
    return torch.from_numpy(np.concatenate(found).astype(np.int64))


def node_values(item: GraphItem) -> np.ndarray:
    """What the front reads of each node: its features, perhaps smoothed, and where it is placed."""
    if not (item.placed_NC.shape[1] or item.vectors_NK.shape[1]):
        return item.read_NC
    return np.concatenate((item.read_NC, item.placed_NC, item.vectors_NK), axis=1)
