"""Examples made of graphs: with a class or a number, with classes of their nodes, with edges to be found."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from regard.data.examples import OneLabelled
from regard.data.modalities.graph.graphs import Graph


@dataclass(frozen=True, slots=True)
class LabelledGraph(OneLabelled[Graph]):
    """A graph and the class that it belongs to, or numbers as they are written; ``number`` is its place in ``origin``,
    counted from 1, and ``line`` where it begins there."""

    number: int = 0

    @property
    def source(self) -> str:
        """As ``regard predict`` takes it."""
        return f"{self.origin}#{self.number}"

    def key(self) -> Hashable:
        return self.raw.digest

    def record(self) -> dict[str, Any]:
        return {
            "graph": self.raw.record(), "label": self.label, "number": self.number, "group": self.group,
            "line": self.line, "origin": self.origin,
        }  # fmt: skip

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        fields = dict(record)
        return cls(Graph.from_record(fields.pop("graph")), **fields)
