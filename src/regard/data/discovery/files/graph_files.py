"""Graphs with something to be said of each: molecules in SDF files, folders of the TU format, JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.core.errors import DataError
from regard.data.discovery.discoverer import Discoverer
from regard.data.discovery.found import Discovery, GraphFacts, Hints, LengthSummary, numbered
from regard.data.discovery.given import TRAIN, GivenFiles, SplitFiles, ending, listed
from regard.data.discovery.measuring import Counted
from regard.data.discovery.tables.asking import quoted
from regard.data.discovery.tables.columns import judged
from regard.data.discovery.tables.names import LABELS, first_known
from regard.data.discovery.tally import Findings, Seen, Tally
from regard.data.ledger import Ledger
from regard.data.modalities.graph.json_graphs import SUFFIXES as JSON_SUFFIXES
from regard.data.modalities.graph.reading import is_graph_folder, read_graphs
from regard.data.modalities.graph.sdf import SUFFIXES as MOLECULE_SUFFIXES
from regard.data.modalities.graph.tu import is_tu_folder
from regard.data.modalities.graph.written import Broken
from regard.data.readers import byte_blocks, summarise

BEGINNING = 1 << 16
NODES = re.compile(rb'"nodes"\s*:\s*[\[\d]')
ONE_GRAPH = (
    "and from files alone only graphs with a class or a number each are learned from. For classes of its nodes change "
    '[data] and [input] of "regard recipes show cora"; for its edges choose data.kind = "graph-links" and task.kind = '
    '"link-prediction" there'
)
TASKS = {"label": "classification", "number": "regression"}
"""What can be learned, by what is said of graphs."""


class GraphFiles(Discoverer):
    """Graphs, each with a class or a number."""

    what = "graphs (molecules in SDF files, a folder of the TU format, or JSON with nodes and edges)"
    tasks: tuple[str, ...] = ("classification", "regression")
    columns: tuple[str, ...] = ("label_column",)

    def recognises(self, given: GivenFiles, hints: Hints) -> bool:
        folder = given.folder
        if folder is not None and is_graph_folder(folder):
            return True
        return bool(given.files) and all(holds_graphs(path) for path in given.files[:10])

    def discover(self, given: GivenFiles, hints: Hints) -> Discovery:
        files = graph_splits(given)
        label, task, reason = what_is_said(files.train, hints)
        tallies: dict[str, Tally] = {split: Tally() for split in files.by_name()}
        graphs: list[Any] = []
        observations = []
        for split, own in files.by_name().items():
            for path in own:
                found = count(path, split, label, tallies[split], labelled=task == "classification")
                graphs += found if split == TRAIN else []
                observations.append(f"{path.name}: {numbered(len(found), 'graph')} for {split}")

        def measure(name: str, tally: Tally, counted: Counted) -> GraphFacts:
            nodes = LengthSummary.of([len(one.raw) for one in graphs])
            return GraphFacts(name, tally.examples, nodes, LengthSummary.of([len(one.raw.edges_E2) for one in graphs]))

        entries = {split: [str(path) for path in own] for split, own in files.by_name().items()}
        data = {"kind": "graphs", **({"label": label} if label != "label" else {})}
        findings = Findings(
            task, data, files, entries, tallies, files.train[0].name, "", "graph", measure,
            observations=observations, reasons=[reason],
        )  # fmt: skip
        return findings.discovery()


def holds_graphs(path: Path) -> bool:
    """By its ending; a JSON file by its beginning."""
    if ending(path) in MOLECULE_SUFFIXES:
        return True
    if ending(path) not in JSON_SUFFIXES:
        return False
    try:
        begin = next(byte_blocks(path, BEGINNING), b"").removeprefix(b"\xef\xbb\xbf").lstrip()
    except DataError:
        return False
    return begin.startswith((b"{", b"[")) and NODES.search(begin) is not None


def graph_splits(given: GivenFiles) -> SplitFiles:
    folder = given.folder
    if folder is not None and is_tu_folder(folder):
        return SplitFiles((folder,))
    if folder is not None and is_graph_folder(folder):
        raise DataError(f"{folder} is one graph, {ONE_GRAPH}")
    return SplitFiles.of(given, given.files)


def what_is_said(train: Sequence[Path], hints: Hints) -> tuple[str, str, str]:
    """The name of what is to be learned of each graph, the task, and why."""
    columns: dict[str, list[str]] = {}
    where = listed(train)
    graphs = [one for path in train for one in read_graphs(path)]
    broken = [f"line {one.line}: {one.detail or one.reason}" for one in graphs if isinstance(one, Broken)]
    if len(broken) == len(graphs):
        raise DataError(f"{where}: no graph can be read: {summarise(broken) or 'the file has none'}")
    for one in graphs:
        if isinstance(one, Broken):
            continue
        for name, value in one.properties.items():
            columns.setdefault(name, []).append(value)
    if len(graphs) == 1 and len(train) == 1:
        raise DataError(f"{where} holds one graph, {ONE_GRAPH}")
    kinds = {name: judged(name, values).kind for name, values in columns.items()}
    wished = hints.label_column
    if wished and wished not in kinds:
        raise DataError(f"{where}: no graph says {wished!r}, which --label-column names; they say {', '.join(kinds)}")
    fitting = [name for name, kind in kinds.items() if kind in TASKS and hints.task in ("", TASKS[kind], "regression")]
    label = wished or (fitting[0] if len(fitting) == 1 else first_known(fitting, LABELS))
    if not label:
        told = ", ".join(f"{name!r} ({kind})" for name, kind in kinds.items()) or "nothing"
        ways = "\n".join(f"  --label-column {quoted(name)}" for name in fitting or kinds)
        raise DataError(
            f"{where}: what is to be learned of each graph is not clear; of graphs the files say {told}."
            + (f" Say which with one of:\n{ways}" if ways else " Give each a class or a number")
        )
    task = hints.task or TASKS.get(kinds[label], "classification")
    what = "a number" if task == "regression" else "a class"
    why = "you named it" if wished else "since nothing else is said" if len(fitting) == 1 else "by its name"
    return label, task, f"{label!r} is {what} of each graph, {why}"


def count(path: Path, split: str, label: str, tally: Tally, *, labelled: bool) -> list[Any]:
    """The labelled graphs of a path, counted as training will."""
    from regard.data.sources.graphs.labelled import GraphColumns, read_labelled_graphs

    ledger = Ledger()
    found = read_labelled_graphs(path, split, ledger, GraphColumns(label=label))
    for one in found:
        tally.add(Seen(one.source, one.label, (one.label,) if labelled else (), str(one.key())))
    tally.skipped.update(counted(ledger))
    return list(found)


def counted(ledger: Ledger) -> Mapping[str, int]:
    """What was skipped, by reason."""
    return {reason: number for (what, reason), number in ledger.reasons.items() if what == "skipped"}
