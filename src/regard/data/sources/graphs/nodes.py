"""Graphs whose nodes have classes: some nodes are learned from, others are set aside, and all are seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from regard.core.config import Config, nearest
from regard.core.errors import DataError
from regard.data.corpus import Corpus
from regard.data.ledger import Ledger
from regard.data.modalities.graph.examples import LabelledNodes
from regard.data.modalities.graph.graphs import Graph
from regard.data.sources.entries import Entry
from regard.data.sources.graphs.paths import GraphPaths, large_graphs

NUMBERED = "nodes"
TRAIN, VALIDATION, TEST = "train", "validation", "test"


class NodeEntry(Entry):
    """A file or folder of graphs."""


class NodeColumns(Config):
    """What of a node is its class, by the name that its file gives it, and the split that it belongs to, if it says."""

    label: str = Field(default="label", min_length=1)
    split: str = ""  # a feature of nodes that says train, validation or test; "": they are drawn


class NodeFiles(NodeColumns, GraphPaths[NodeEntry]):
    """Graphs whose nodes have classes. A node without one is seen and not asked about.

    Where no files are named for validation and test, nodes of the training graphs are drawn for them by the seed: first
    ``per_class`` of each class to learn from (0: all that are left), then those for validation, then for the test.
    """

    dividing: ClassVar[tuple[str, ...]] = ("per_class", "validation_size", "test_size", "split")
    example: ClassVar[str] = "path/to/cora"
    files_kind: ClassVar[str] = "graph-nodes"

    kind: str = "graph-nodes"
    per_class: int = Field(0, ge=0)  # nodes of each class that are learned from; 0: all that are not set aside
    validation_size: int = Field(500, ge=0)  # nodes
    test_size: int = Field(0, ge=0)  # nodes

    def unused(self) -> dict[str, str]:
        unused = super().unused()
        named = self.named().keys()
        for name in ("per_class", "validation_size", "test_size"):
            split = name.removesuffix("_size")
            if self.split:
                unused[name] = f"the feature {self.split!r} of nodes says which split they belong to"
            elif split in named:
                unused[name] = f"it says how many nodes are set aside, and data.{split} names files"
        return unused

    def load(self, seed: int, ledger: Ledger) -> Corpus[LabelledNodes]:
        found = {split: [one.paths[0] for one in files] for split, files in self.found().items()}
        read = {
            split: [one for path in paths for one in read_nodes(path, split, ledger, self)]
            for split, paths in found.items()
        }
        training, aside = read[TRAIN], self.set_aside(found)
        if self.split:
            read |= by_name(training)
        elif aside:
            read |= drawn(training, self.per_class, aside, seed)
        splits = {split: tuple(one.example for one in own if one.example.places) for split, own in read.items()}
        check_classes(splits)
        note_counts(splits, training, ledger)
        return Corpus({name: own for name, own in splits.items() if own}, ledger, set_aside=tuple(aside))

    def set_aside(self, found: Mapping[str, Sequence[Path]]) -> dict[str, int]:
        """How many nodes of the training graphs other splits are given."""
        sizes = {VALIDATION: self.validation_size, TEST: self.test_size}
        return {split: size for split, size in sizes.items() if size and split not in found and not self.split}

    def load_test(self, split: str, ledger: Ledger) -> Corpus[LabelledNodes]:
        """All nodes with a class."""
        paths = [one.paths[0] for one in self.files()[TEST]]
        read = [one.example for path in paths for one in read_nodes(path, split, ledger, self)]
        splits = {split: tuple(one for one in read if one.places)}
        if not splits[split]:
            raise DataError(f"no node of {', '.join(map(str, paths))} has a class under {self.label!r}")
        note_counts(splits, [], ledger)
        return Corpus(splits, ledger)


class ReadNodes(NamedTuple):
    """A graph with all nodes that have a class, and the split that each of them names."""

    example: LabelledNodes
    splits: tuple[str, ...]

    def chosen(self, places: Iterable[int]) -> ReadNodes:
        """Of the nodes with a class some, by their places among these."""
        own = self.example
        kept = sorted(places)
        example = LabelledNodes(
            own.raw, tuple(own.places[place] for place in kept), tuple(own.labels[place] for place in kept), own.number,
            own.line, own.origin,
        )  # fmt: skip
        return ReadNodes(example, tuple(self.splits[place] for place in kept))


def read_nodes(path: Path, split: str, ledger: Ledger, columns: NodeColumns) -> list[ReadNodes]:
    """The graphs at a path; class and split are no features of their nodes."""
    origin, found = str(path), []
    ledger.units[origin] = NUMBERED
    for number, one in large_graphs(path, split, ledger):
        graph, named = one.graph, []
        for column in filter(None, (columns.label, columns.split)):
            names = graph.node_features.all_names
            if column not in names:
                raise DataError(
                    f"{path}: nodes have no {column!r}{nearest(column, names)}; of them the file says "
                    f"{', '.join(names[:10]) or 'nothing'}: name one with --set data.label=NAME"
                )
            named.append(graph.node_features.values_of(column))
            graph = without_feature(graph, column)
        labels = named[0]
        places = tuple(place for place, label in enumerate(labels) if label.strip())
        example = LabelledNodes(
            graph, places, tuple(labels[place].strip() for place in places), number, one.line, origin
        )
        said = named[1] if columns.split else [split] * len(labels)
        found.append(ReadNodes(example, tuple(said[place].strip() for place in places)))
    return found


def without_feature(graph: Graph, name: str) -> Graph:
    return Graph(graph.nodes, graph.edges_E2, graph.node_features.without(name), graph.edge_features, graph.name)


def by_name(read: Sequence[ReadNodes]) -> dict[str, list[ReadNodes]]:
    """Splits as the nodes name them; a node that names none is seen and not asked about."""
    names = {name for one in read for name in one.splits if name}
    unknown = sorted(names - {TRAIN, VALIDATION, TEST})
    if unknown or TRAIN not in names:
        raise DataError(
            f"nodes name the splits {', '.join(sorted(names)) or 'of nobody'}; {TRAIN}, {VALIDATION} and {TEST} are "
            f"known, an empty one is left out, and {TRAIN} is needed"
        )
    return {
        split: [one.chosen(place for place, name in enumerate(one.splits) if name == split) for one in read]
        for split in (TRAIN, VALIDATION, TEST)
    }


def drawn(
    read: Sequence[ReadNodes], per_class: int, aside: Mapping[str, int], seed: int
) -> dict[str, list[ReadNodes]]:
    """Nodes of all graphs in random order: the first of each class are learned from, then each split has its number."""
    every = [(row, place) for row, one in enumerate(read) for place in range(len(one.splits))]
    labels = [read[row].example.labels[place] for row, place in every]
    order = np.random.default_rng(seed).permutation(len(every)).tolist()
    seen: Counter[str] = Counter()
    first: list[int] = []
    rest: list[int] = []
    for index in order:
        seen[labels[index]] += 1
        (first if seen[labels[index]] <= per_class else rest).append(index)
    few = [f"{label} ({count})" for label, count in sorted(seen.items()) if count < per_class]
    if few:
        raise DataError(f"data.per_class = {per_class} nodes of each class, and there are fewer of {', '.join(few)}")
    found: dict[str, list[int]] = {}
    for split, size in aside.items():
        found[split], rest = rest[:size], rest[size:]
    short = [f"data.{split}_size = {size:,}" for split, size in aside.items() if len(found[split]) < size]
    if short or not (first or rest):
        raise DataError(
            f"{len(every):,} nodes with a class are too few for {' and '.join(short) or 'the splits'} beside those "
            "that are learned from; set fewer aside"
        )
    found[TRAIN] = first if per_class else rest
    return {
        split: [one.chosen(every[index][1] for index in own if every[index][0] == row) for row, one in enumerate(read)]
        for split, own in found.items()
    }


def check_classes(splits: Mapping[str, Sequence[LabelledNodes]]) -> None:
    if not splits[TRAIN]:
        raise DataError("no node with a class is left to learn from; check data.label, or set fewer aside")


def note_counts(
    splits: Mapping[str, Sequence[LabelledNodes]], training: Sequence[ReadNodes], ledger: Ledger
) -> None:
    """Nodes are counted; of those that nobody is asked about is said how many they are."""
    for split, own in splits.items():
        for one in own:
            ledger.record(split, one.origin, read=len(one.places), kept=len(one.places))
        if own:
            ledger.splits[split] = sum(len(one.places) for one in own)
    asked: Counter[tuple[str, int]] = Counter()
    for own in splits.values():
        for one in own:
            asked[one.origin, one.number] += len(one.places)
    for read in training:
        whole, labelled = len(read.example.raw), len(read.example.places)
        count = asked[read.example.origin, read.example.number]
        if count < whole:
            ledger.notes.append(
                f"{read.example.source}: of {whole:,} nodes {count:,} are asked about; {labelled - count:,} others "
                f"have a class, {whole - labelled:,} have none, and all are seen"
            )
    ledger.check()
