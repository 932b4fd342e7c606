"""Graphs some of whose edges are hidden, to be told apart from pairs of nodes that no edge joins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
from pydantic import Field

from regard.core.errors import DataError
from regard.data.corpus import Corpus
from regard.data.ledger import Ledger
from regard.data.modalities.graph.examples import LabelledEdges
from regard.data.modalities.graph.graphs import Graph
from regard.data.modalities.graph.pairs import pairs_without_edge
from regard.data.modalities.graph.written import Written
from regard.data.sources.entries import Entry
from regard.data.sources.graphs.paths import GraphPaths, large_graphs

NUMBERED = "edges"
TRAIN, VALIDATION, TEST = "train", "validation", "test"


class LinkEntry(Entry):
    """A file or folder of graphs."""


class LinkFiles(GraphPaths[LinkEntry]):
    """Graphs whose edges are to be found. Of every graph shares are hidden by the seed: what is asked in validation and
    in the test is seen in no split. With each edge one pair of nodes without an edge is asked about."""

    dividing: ClassVar[tuple[str, ...]] = ("validation_share", "test_share")
    example: ClassVar[str] = "path/to/graph.json"
    files_kind: ClassVar[str] = "graph-links"

    kind: str = "graph-links"
    validation_share: float = Field(0.05, ge=0, lt=1)  # of the edges of every training graph
    test_share: float = Field(0.1, ge=0, lt=1)

    def unused(self) -> dict[str, str]:
        unused = super().unused()
        for split in self.named().keys() & {VALIDATION, TEST}:
            unused[f"{split}_share"] = f"it says how many edges are hidden, and data.{split} names files"
        return unused

    def load(self, seed: int, ledger: Ledger) -> Corpus[LabelledEdges]:
        found = self.found()
        shares = {VALIDATION: self.validation_share, TEST: self.test_share}
        aside = {split: share for split, share in shares.items() if share and split not in found}
        splits: dict[str, list[LabelledEdges]] = {split: [] for split in (TRAIN, *aside)}
        generator = np.random.default_rng(seed)
        for path in [one.paths[0] for one in found[TRAIN]]:
            for number, one in read_graphs_with_edges(path, TRAIN, ledger):
                for split, example in hidden(one.graph, aside, generator, number, one.line, str(path)).items():
                    splits[split].append(example)
        for split in found.keys() - {TRAIN}:
            splits[split] = asked_of([one.paths[0] for one in found[split]], split, ledger)
        note_counts(splits, ledger)
        kept = {split: tuple(own) for split, own in splits.items() if own}
        return Corpus(kept, ledger, set_aside=tuple(aside))

    def load_test(self, split: str, ledger: Ledger) -> Corpus[LabelledEdges]:
        """A tenth of the edges of each graph is hidden, always the same."""
        splits = {split: asked_of([one.paths[0] for one in self.files()[TEST]], split, ledger)}
        note_counts(splits, ledger)
        return Corpus({split: tuple(splits[split])}, ledger)


def read_graphs_with_edges(path: Path, split: str, ledger: Ledger) -> list[tuple[int, Written]]:
    found = large_graphs(path, split, ledger)
    bare = [one.graph for _, one in found if not len(one.graph.edges_E2)]
    if bare:
        raise DataError(f"{path}: {bare[0]} has no edges, so that there are none to find; take it out")
    ledger.units[str(path)] = NUMBERED
    return found


def asked_of(paths: Sequence[Path], split: str, ledger: Ledger, share: float = 0.1) -> list[LabelledEdges]:
    """Files that are asked about alone: of each graph so many edges are hidden."""
    generator = np.random.default_rng(0)
    return [
        hidden(one.graph, {split: share}, generator, number, one.line, str(path))[split]
        for path in paths for number, one in read_graphs_with_edges(path, split, ledger)
    ]  # fmt: skip


def hidden(
    graph: Graph, shares: Mapping[str, float], generator: np.random.Generator, number: int, line: int, origin: str
) -> dict[str, LabelledEdges]:
    """The graph without what any split asks about, as training sees it, and for each split what it asks."""
    edges = len(graph.edges_E2)
    order_E, start, asked = generator.permutation(edges), 0, {}
    for split, share in shares.items():
        count = max(round(share * edges), 1)
        asked[split] = order_E[start : start + count]
        start += count
    if start >= edges:
        raise DataError(f"{origin}: {graph} has {edges} edges, which are too few to hide some of them; take it out")
    seen = graph.with_edges(np.sort(order_E[start:]))
    found = {TRAIN: LabelledEdges(seen, number=number, line=line, origin=origin)}
    for split, places in asked.items():
        others_M2 = pairs_without_edge(graph.edges_E2, len(graph), len(places), generator)
        pairs = [(int(one), int(other)) for one, other in (*graph.edges_E2[places].tolist(), *others_M2.tolist())]
        joined = (*(True,) * len(places), *(False,) * len(others_M2))
        found[split] = LabelledEdges(seen, tuple(pairs), joined, number, line, origin)
    return found


def note_counts(splits: Mapping[str, Sequence[LabelledEdges]], ledger: Ledger) -> None:
    """Edges are counted; in training those that are seen."""
    for split, own in splits.items():
        for one in own:
            count = sum(one.joined_M) if one.pairs_M2 else len(one.raw.edges_E2)
            ledger.record(split, one.origin, read=count, kept=count)
            ledger.splits[split] = ledger.splits.get(split, 0) + count
        if split != TRAIN and own and all(all(one.joined_M) for one in own):
            raise DataError(
                f"in the graphs of {split} every node is joined to every other, so that nothing is to be told apart; "
                "name other graphs"
            )
    ledger.notes.append("with every edge that is asked about one pair of nodes without an edge is, drawn by the seed")
    ledger.check()
