"""Graphs as they stand in files: what is said of each as a whole, its place in the file, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from regard.data.ledger import Ledger
from regard.data.modalities.graph.graphs import Edge, Graph, Made

LOOPS = "an edge from a node to itself was left out: every node sees itself"
STRANGERS = "an edge to a node that is not there was left out"
REPEATED = "a second edge between the same nodes, with other features, was left out"


class Written(NamedTuple):
    """A graph of a file; ``line`` is where it begins there, or its number; ``properties`` are said of it as a whole."""

    made: Made
    properties: Mapping[str, str]
    line: int

    @property
    def graph(self) -> Graph:
        return self.made.graph


class Broken(NamedTuple):
    """What should have been a graph, and what is wrong with it."""

    line: int
    reason: str
    detail: str = ""


def note_corrections(made: Made, line: int, split: str, origin: str, ledger: Ledger) -> None:
    """Lists in the ledger what of a graph was not taken over: once a graph and kind, with the edges in words."""
    for reason, edges in ((LOOPS, made.loops), (STRANGERS, made.strangers), (REPEATED, made.repeated)):
        if edges:
            ledger.correct(split, origin, line, reason, listed_edges(edges))


def listed_edges(edges: Sequence[Edge], shown: int = 10) -> str:
    """Edges in words, the first of them."""
    names = [f"{edge.place}{': ' if edge.place else ''}{edge.first}–{edge.second}" for edge in edges[:shown]]
    return ", ".join(names) + (f" and {len(edges) - shown:,} others" if len(edges) > shown else "")
