"""Graphs with a label or numbers each: molecules in SDF files, folders of the TU format, JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from regard.core.config import Config, nearest
from regard.core.errors import DataError
from regard.data.ledger import Ledger
from regard.data.modalities.graph.examples import LabelledGraph
from regard.data.modalities.graph.reading import SUFFIXES, is_table_folder, read_graphs
from regard.data.modalities.graph.tu import is_tu_folder
from regard.data.modalities.graph.written import Broken, note_corrections
from regard.data.sources.entries import ExampleEntry, chosen
from regard.data.sources.example_files import ExampleFiles
from regard.data.sources.files import Found

NUMBERED = "graphs"
EMPTY = "no nodes"


class GraphColumns(Config):
    """What of a graph is its label, by the name that its file gives it."""

    label: str = Field(default="label", min_length=1)
    group: str = ""  # by which scores are also told apart; "": none


class GraphEntry(GraphColumns, ExampleEntry):
    """Files or folders of graphs, with a label of another name if need be."""


class GraphFiles(GraphColumns, ExampleFiles[GraphEntry, Any]):
    """Graphs with their labels: .sdf (V2000), .json, .jsonl, or a folder of the TU format.

    A graph that cannot be read is skipped, counted and named in the ledger.
    """

    suffixes: ClassVar[tuple[str, ...]] = SUFFIXES
    example: ClassVar[str] = "path/to/molecules.sdf"

    kind: str = "graphs"

    def files_of(self, entry: GraphEntry, key: str) -> Iterator[Found[GraphEntry]]:
        """A folder whose files belong together is one."""
        path = self.path(entry.file)
        if is_tu_folder(path) or is_table_folder(path):
            yield Found(entry, (path,))
        else:
            yield from super().files_of(entry, key)

    def read(self, found: Found[GraphEntry], split: str, ledger: Ledger) -> list[LabelledGraph]:
        return read_labelled_graphs(found.paths[0], split, ledger, chosen(GraphColumns, self, found.entry))


def read_labelled_graphs(path: Path, split: str, ledger: Ledger, columns: GraphColumns) -> list[LabelledGraph]:
    """The labelled graphs at a path; those without a label, without nodes or without sense are skipped and listed."""
    origin, kept, read = str(path), [], 0
    names: dict[str, None] = {}
    if is_tu_folder(path):
        ledger.units[origin] = NUMBERED
    for number, one in enumerate(read_graphs(path), start=1):
        read += 1
        if isinstance(one, Broken):
            ledger.skip(split, origin, one.line, one.reason, one.detail)
            continue
        names.update(dict.fromkeys(one.properties))
        label = one.properties.get(columns.label, "").strip()
        reason = EMPTY if not len(one.graph) else f"no {columns.label}" if not label else ""
        if reason:
            ledger.skip(split, origin, one.line, reason, one.graph.name)
            continue
        group = one.properties.get(columns.group, "") if columns.group else ""
        note_corrections(one.made, one.line, split, origin, ledger)
        kept.append(LabelledGraph(one.graph, label, group, one.line, origin, number))
    ledger.record(split, origin, read=read, kept=len(kept))
    for column in (columns.label, columns.group):
        if column and column not in names and names:
            raise DataError(
                f"{path}: no graph has {column!r}{nearest(column, names)}; of whole graphs the file says "
                f"{', '.join(names)}: name one with --set data.label=NAME"
            )
    return kept
