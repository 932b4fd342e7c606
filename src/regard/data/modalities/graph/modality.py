"""The graph modality: nodes in any order, with what is known of each, of the edges, and of how the graph is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field

from regard.core.errors import DataError, InputError, RunError
from regard.core.files import read_object, write_json
from regard.core.inputs import Axis, Drawing, Inputs
from regard.core.ports import Nodes
from regard.data import TokenizerPart
from regard.data.modalities import ModalityPart, check_not_cut
from regard.data.modalities.both import Modalities
from regard.data.modalities.graph.columns import Columns, Scale
from regard.data.modalities.graph.counting import part_counts
from regard.data.modalities.graph.graphs import Features, Graph
from regard.data.modalities.graph.items import (
    GraphAugmentation,
    GraphItem,
    Smoothing,
    Structure,
    changed,
    collate_graphs,
    encode_graph,
)
from regard.data.modalities.graph.json_graphs import Raw, as_graph
from regard.data.modalities.graph.layout import MOST, layout
from regard.data.modalities.graph.reading import graphs_at
from regard.data.modalities.graph.structure import nearest_nodes
from regard.data.modalities.graph.written import Broken

FILE = "graph.json"
MOST_DRAWN = 150
"""Nodes around the one that is looked at."""
NUMBERED = "#"
"""Stands between a path and the number of one of its graphs."""


class GraphPart(ModalityPart):
    """Graphs: how numbers are scaled, what is said of a node's place, and what is done to graphs in training."""

    unit = "nodes"
    example = "graph.json"
    file = FILE

    kind: str = "graph"
    scale: Scale = "standard"  # of numbers: mean 0 and spread 1; rows that sum to 1, for counts of words; or none
    hops: int = Field(0, ge=0, le=100)  # over 1, 2 … so many edges features are smoothed
    smoothed: Literal["beside", "mean", "last"] = "beside"  # what is read of that: all steps, their mean, the last
    structure: Structure = Field(default_factory=Structure)
    augmentation: GraphAugmentation = Field(default_factory=GraphAugmentation)

    def unused(self) -> Mapping[str, str]:
        return {} if self.hops else {"smoothed": "with hops = 0 features are read as they are, not smoothed"}

    @property
    def smoothing(self) -> Smoothing:
        return Smoothing(self.hops, self.smoothed)

    def fit(self, corpus: Any, tokenizer: TokenizerPart) -> Modalities:
        graphs = list({id(one.raw): one.raw for one in corpus.splits["train"]}.values())
        nodes = Columns.fit([one.node_features for one in graphs], "nodes", self.scale)
        edges = Columns.fit([one.edge_features for one in graphs], "edges", "standard")
        return Modalities(self.made(nodes, edges))

    def load(self, folder: Path, tokenizer: TokenizerPart) -> Modalities:
        held = read_object(folder / FILE)
        try:
            nodes = Columns.from_record(held["nodes"], "nodes", self.scale)
            edges = Columns.from_record(held["edges"], "edges", "standard")
        except (KeyError, TypeError, ValueError) as error:
            raise RunError(f"{folder / FILE} should hold nodes and edges: {error!r}; put the file back") from error
        return Modalities(self.made(nodes, edges))

    def made(self, nodes: Columns, edges: Columns) -> GraphModality:
        if not nodes.width and not self.structure.width:
            raise DataError(
                "the nodes of these graphs have no features, so that a model would see them all alike; say how they "
                "are placed, as in [input.structure] degree = 8 or random_walk = 8"
            )
        return GraphModality(self, nodes, edges)


@dataclass(frozen=True)
class GraphModality:
    """Graphs become values_BNC of their nodes, with the edges between them.

    Law: permuting the nodes permutes what a model makes of them. With Laplacian eigenvectors that holds for graphs
    without symmetries (see ``structure.laplacian_eigenvectors``).
    """

    config: GraphPart
    nodes: Columns
    edges: Columns

    lazy = False
    mixes_lengths = True
    max_length = 0
    batch_positions = 4096
    name = "graph"

    @property
    def augments(self) -> bool:
        return self.config.augmentation.changes or self.config.structure.laplacian > 0

    def port(self) -> Nodes:
        structure = self.config.structure
        features = self.nodes.width * self.config.smoothing.copies + structure.width
        return Nodes(features, self.edges.width + structure.pairs, distances=structure.distance > 0)

    def parse(self, argument: str) -> Graph:
        """A word of the command line is a path; ``path#3`` is the third of its graphs."""
        path, number = numbered(argument)
        found = graphs_at(path)
        if (not number and len(found) > 1) or number > len(found):
            raise DataError(f"{path} holds {len(found):,} graphs; name one by its number, as in {path}{NUMBERED}1")
        if not found:
            raise DataError(f"{path} holds no graph")
        one = found[max(number, 1) - 1]
        if isinstance(one, Broken):
            raise DataError(f"{path}, line {one.line}: {one.reason} ({one.detail})")
        return one.graph

    def members(self, argument: str) -> list[str]:
        """What a path with several graphs stands for: each of them, by its number."""
        path, number = numbered(argument)
        found = () if number else graphs_at(path)
        if len(found) < 2:
            return [argument]
        return [f"{argument}{NUMBERED}{place}" for place in range(1, len(found) + 1)]

    def limited(self, max_length: int, keep: str) -> GraphModality:
        check_not_cut("graphs", max_length, keep)
        return self

    def encode(self, raws: Sequence[Raw]) -> list[GraphItem]:
        graphs = [as_graph(raw) for raw in raws]
        wrong: dict[int, str] = {}
        for place, graph in enumerate(graphs):
            try:
                self.check(graph)
            except DataError as error:
                wrong[place] = str(error)
        if wrong:
            raise InputError("graphs that this model cannot read", wrong, "correct them or leave them out")
        return [self.encoded(graph) for graph in graphs]

    def check(self, graph: Graph) -> None:
        if not len(graph):
            raise DataError(f"{graph} has no nodes")
        self.nodes.check(graph.node_features, str(graph))
        self.edges.check(graph.edge_features, str(graph))

    def encoded(self, graph: Graph) -> GraphItem:
        values_NC, edge_values_EC = self.nodes.values(graph.node_features), self.edges.values(graph.edge_features)
        return encode_graph(graph, values_NC, edge_values_EC, self.config.structure, self.config.smoothing)

    def augment(self, item: GraphItem, generator: np.random.Generator) -> GraphItem:
        return changed(item, self.config.augmentation, self.config.smoothing, generator)

    def size(self, item: GraphItem) -> int:
        return len(item)

    def cut(self, item: GraphItem) -> int:
        return 0

    def collate(self, items: Sequence[GraphItem]) -> Inputs:
        return collate_graphs(items, self.config.structure)

    def node_values(self, raw: Raw) -> np.ndarray:
        """values_NC: what is known of each node by itself."""
        return self.nodes.values(as_graph(raw).node_features)

    def part_around(self, item: GraphItem, place: int, reach: int) -> tuple[GraphItem, int]:
        """What stands at most so many edges away (0: anything), but no more than can be drawn."""
        kept = nearest_nodes(item.edges_E2, len(item), place, reach, MOST_DRAWN)
        return item.part(kept), int(np.flatnonzero(kept == place)[0])

    def drawing(self, item: GraphItem) -> Drawing | None:
        return Drawing(layout(item.edges_E2, len(item)), item.edges_E2) if len(item) <= MOST else None

    def axis(self, item: GraphItem) -> Axis:
        """Its nodes: by the first word that is read of them (the element of an atom), with their names."""
        words = item.graph.node_features.words
        known = next((words[name] for name in self.nodes.known if name in words), ("",) * len(item))
        return Axis(tuple(f"{word} {name}".strip() for word, name in zip(known, item.graph.nodes, strict=True)))

    def describe(self, item: GraphItem) -> str:
        return str(item.graph)

    def random_items(self, generator: np.random.Generator, rows: int, length: int) -> list[GraphItem]:
        return [
            self.encoded(random_graph(generator, int(nodes), self.nodes, self.edges))
            for nodes in generator.integers(1, length + 1, rows)
        ]

    def part_counts(self, raws: Sequence[Raw]) -> Mapping[str, Sequence[Mapping[str, float]]]:
        return part_counts([as_graph(raw) for raw in raws])

    def save(self, folder: Path) -> None:
        write_json(folder / FILE, {"nodes": self.nodes.record(), "edges": self.edges.record()})


def numbered(argument: str) -> tuple[Path, int]:
    """A path, and the number of one of its graphs; 0 where none is said."""
    path, sign, number = argument.rpartition(NUMBERED)
    if sign and number.isdecimal() and not Path(argument).expanduser().exists():
        return Path(path).expanduser(), int(number)
    return Path(argument).expanduser(), 0


def random_graph(generator: np.random.Generator, nodes: int, of_nodes: Columns, of_edges: Columns) -> Graph:
    """A graph of no meaning, with features that are known: about one and a half edges a node."""
    ends = np.triu_indices(nodes, 1)
    chosen = generator.random(len(ends[0])) < min(1.0, 3 / max(nodes - 1, 1))
    edges_E2 = np.stack(ends, axis=1)[chosen].astype(np.int64)

    def drawn(columns: Columns, count: int) -> Features:
        numbers = generator.standard_normal((count, len(columns.names))).astype(np.float32)
        words = {
            name: tuple(known[place] for place in generator.integers(0, len(known), count)) if known else ("",) * count
            for name, known in columns.known.items()
        }
        return Features(np.abs(numbers) if columns.scale == "rows" else numbers, columns.names, words)

    return Graph(
        tuple(str(number) for number in range(1, nodes + 1)), edges_E2, drawn(of_nodes, nodes),
        drawn(of_edges, len(edges_E2)),
    )  # fmt: skip
