"""Paths of graphs in a recipe: a file, or a folder whose files belong together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Generic

from regard.core.errors import DataError
from regard.data.ledger import Ledger
from regard.data.modalities.graph.reading import SUFFIXES, is_graph_folder, read_graphs
from regard.data.modalities.graph.written import Broken, Written, note_corrections
from regard.data.sources.entries import AnyEntry
from regard.data.sources.files import FileData, Found

EMPTY = "no nodes"


class GraphPaths(FileData[AnyEntry], Generic[AnyEntry]):
    """Files of graphs; a folder whose files belong together is one."""

    suffixes: ClassVar[tuple[str, ...]] = SUFFIXES

    def files_of(self, entry: AnyEntry, key: str) -> Iterator[Found[AnyEntry]]:
        path = self.path(entry.file)
        if is_graph_folder(path):
            yield Found(entry, (path,))
        else:
            yield from super().files_of(entry, key)


def large_graphs(path: Path, split: str, ledger: Ledger) -> list[tuple[int, Written]]:
    """The graphs at a path with their numbers, each of which gives many examples. One that is broken, which would be
    many examples less, is refused; what of the others is left out is listed."""
    found: list[tuple[int, Written]] = []
    for number, one in enumerate(read_graphs(path), start=1):
        if isinstance(one, Broken):
            raise DataError(f"{path}, line {one.line}: {one.reason} ({one.detail}); correct it, or take it out")
        if not len(one.graph):
            raise DataError(f"{path}, line {one.line}: {one.graph} has {EMPTY}; take it out")
        note_corrections(one.made, one.line, split, str(path), ledger)
        found.append((number, one))
    if not found:
        raise DataError(f"{path} holds no graph; name another file")
    return found
