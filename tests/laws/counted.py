"""Data from outside the package for the laws of tasks that say numbers: words to count, and rings in graphs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from regard.data.corpus import Corpus
from regard.data.examples import Labelled
from regard.data.ledger import Ledger
from regard.data.sources.world import WORLD, WorldData


class CountedWords(WorldData):
    """Sentences of the small world, and how many words they have."""

    kind: str = "tests.laws.counted:CountedWords"

    def load(self, seed: int, ledger: Ledger) -> Corpus[Any]:
        return self.gather(
            lambda pair, line: [Labelled(pair.source, str(len(pair.source.split())), line=line, origin=WORLD)],
            seed, ledger,
        )  # fmt: skip


@cache
def ring_folder() -> TemporaryDirectory[str]:
    """It is there as long as the tests run."""
    return TemporaryDirectory()


def ring_files() -> dict[str, Any]:
    """Files of rings that hang together by an edge each; their labels say how many nodes and how many rings there are.
    """
    generator = np.random.default_rng(3)
    files: dict[str, Any] = {"kind": "graphs"}
    for split, size in (("train", 40), ("validation", 6), ("test", 6)):
        files[split] = str(Path(ring_folder().name) / f"{split}.jsonl")
        drawn = [[int(one) for one in generator.integers(3, 6, generator.integers(1, 4))] for _ in range(size)]
        Path(files[split]).write_text("".join(json.dumps(joined_rings(rings)) + "\n" for rings in drawn))
    return files


def asked_files(kind: str) -> dict[str, Any]:
    """The same rings, whose nodes say whether an edge leads from them to another ring, and how many nodes there are."""
    files = {**ring_files(), "kind": kind}
    for split in ("train", "validation", "test"):
        graphs = [json.loads(line) for line in Path(files[split]).read_text().splitlines()]
        files[split] = files[split].replace(".jsonl", ".nodes.jsonl")
        Path(files[split]).write_text("".join(json.dumps(with_nodes(graph)) + "\n" for graph in graphs))
    return files


def with_nodes(graph: dict[str, Any]) -> dict[str, Any]:
    degrees = np.bincount(np.array(graph["edges"]).ravel())
    nodes = [
        {"id": f"n{place}", "size": int(graph["nodes"]), "label": "joint" if degree > 2 else "ring"}
        for place, degree in enumerate(degrees)
    ]
    return {"nodes": nodes, "edges": [[f"n{one}", f"n{other}"] for one, other in graph["edges"]]}


def joined_rings(sizes: Sequence[int]) -> dict[str, Any]:
    edges: list[tuple[int, int]] = []
    first = 0
    for size in sizes:
        edges += [(first + place, first + (place + 1) % size) for place in range(size)]
        edges += [(first - 1, first)] if first else []
        first += size
    return {"nodes": first, "edges": edges, "label": f"{first} {len(sizes)}"}
