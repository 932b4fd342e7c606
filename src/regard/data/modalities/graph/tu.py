"""Folders in the format of the TU Dortmund collection: NAME_A.txt and its sisters (Morris et al. 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regard.core.errors import DataError, enumerate_problems
from regard.data.modalities.graph.graphs import Edge, Node, make
from regard.data.modalities.graph.written import Written
from regard.data.readers import read_lines

EDGES, OWNERS = "_A.txt", "_graph_indicator.txt"
SHOWN = 10


def is_tu_folder(folder: Path) -> bool:
    return folder.is_dir() and any(folder.glob(f"*{EDGES}"))


def read_tu(folder: Path) -> list[Written]:
    """The graphs of a folder. Its labels of nodes and edges are words under "label", attributes are numbers; of a whole
    graph "label" is its class, "attribute" its numbers."""
    name = next(iter(sorted(folder.glob(f"*{EDGES}")))).name.removesuffix(EDGES)
    table = TuTable(folder, name)
    owners_N = table.whole_numbers(OWNERS)[:, 0]
    edges_E2 = table.whole_numbers(EDGES)
    table.check(edges_E2, owners_N)
    node_features = table.features("node", len(owners_N))
    edge_features = table.features("edge", len(edges_E2))
    graphs = int(owners_N.max(initial=0))
    properties = table.features("graph", graphs)
    members: list[list[int]] = [[] for _ in range(graphs)]
    for place, owner in enumerate(owners_N.tolist()):
        members[owner - 1].append(place)
    own_edges: list[list[int]] = [[] for _ in range(graphs)]
    for place, first in enumerate((edges_E2[:, 0] - 1).tolist()):
        own_edges[owners_N[first] - 1].append(place)
    found = []
    for number, (nodes, edges) in enumerate(zip(members, own_edges, strict=True), start=1):
        made = make(
            [Node(str(place - nodes[0] + 1), node_features[place]) for place in nodes],
            [Edge(*named(edges_E2[place] - nodes[0]), edge_features[place]) for place in edges],
            f"{name} {number}",
        )
        said = {key: " ".join(value) if isinstance(value, list) else str(value)
                for key, value in table.texts(properties[number - 1]).items()}  # fmt: skip
        found.append(Written(made, said, number))
    return found


def named(ends_2: np.ndarray) -> tuple[str, str]:
    """The names of the two ends of an edge."""
    return str(ends_2[0]), str(ends_2[1])


class TuTable:
    """The files of a folder; what is wrong with one of them is told with its name and line."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name

    def path(self, ending: str) -> Path:
        return self.folder / f"{self.name}{ending}"

    def rows(self, ending: str) -> list[list[str]]:
        return [[cell.strip() for cell in line.split(",")] for line in read_lines(self.path(ending)) if line.strip()]

    def whole_numbers(self, ending: str) -> np.ndarray:
        rows = self.rows(ending)
        wrong = [
            f"line {line}: {', '.join(row)}" for line, row in enumerate(rows, start=1)
            if not all(cell.lstrip("-").isdecimal() for cell in row) or len(row) != len(rows[0])
        ]  # fmt: skip
        if wrong:
            raise DataError(enumerate_problems(f"{self.path(ending)}: whole numbers are expected", wrong[:SHOWN]))
        return np.array(rows, np.int64).reshape(len(rows), -1)

    def check(self, edges_E2: np.ndarray, owners_N: np.ndarray) -> None:
        """The files agree: edges join nodes that are there, of one graph."""
        if edges_E2.size and edges_E2.shape[1] != 2:
            raise DataError(f"{self.path(EDGES)}: every line names the two ends of an edge, as in 1, 2")
        problems = []
        for line, (first, second) in enumerate(edges_E2.tolist(), start=1):
            if not (1 <= first <= len(owners_N) and 1 <= second <= len(owners_N)):
                problems.append(f"line {line}: nodes {first} and {second}, and there are {len(owners_N)}")
            elif owners_N[first - 1] != owners_N[second - 1]:
                problems.append(f"line {line}: nodes {first} and {second} belong to two graphs")
        if problems:
            title = f"{self.path(EDGES)} disagrees with {self.path(OWNERS).name}; correct one of them"
            raise DataError(enumerate_problems(title, problems[:SHOWN]))

    def features(self, what: str, count: int) -> list[dict[str, Any]]:
        """What is said of each node, edge or graph: its label, a word, and attributes, numbers."""
        found: list[dict[str, Any]] = [{} for _ in range(count)]
        for ending, key in ((f"_{what}_labels.txt", "label"), (f"_{what}_attributes.txt", "attribute")):
            if not self.path(ending).exists():
                continue
            rows = self.rows(ending)
            if len(rows) != count:
                raise DataError(
                    f"{self.path(ending)} has {len(rows):,} lines, and there are {count:,} {what}s; put the file of "
                    "this data set there"
                )
            for own, row in zip(found, rows, strict=True):
                own[key] = " ".join(row) if key == "label" else [float(cell) for cell in row]
        return found

    def texts(self, said: dict[str, Any]) -> dict[str, str | Sequence[str]]:
        return {key: [f"{one:.9g}" for one in value] if isinstance(value, list) else value
                for key, value in said.items()}  # fmt: skip
