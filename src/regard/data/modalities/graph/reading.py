"""Reading graphs from a path: molecules, a TU folder, JSON, tables of nodes and edges, or a citation network."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from regard.core.errors import DataError
from regard.data.modalities.graph.citations import is_citation_folder, read_citations
from regard.data.modalities.graph.json_graphs import SUFFIXES as JSON_SUFFIXES
from regard.data.modalities.graph.json_graphs import read_json_graphs
from regard.data.modalities.graph.node_tables import read_graph_tables
from regard.data.modalities.graph.sdf import SUFFIXES as MOLECULE_SUFFIXES
from regard.data.modalities.graph.sdf import read_sdf
from regard.data.modalities.graph.tu import is_tu_folder, read_tu
from regard.data.modalities.graph.written import Broken, Written
from regard.data.readers import COMPRESSIONS, find_file, missing_files

TABLES = ("nodes", "edges")
SUFFIXES = (*MOLECULE_SUFFIXES, *JSON_SUFFIXES)
KNOWN = (
    f"known are {', '.join(SUFFIXES)}, a folder of the TU format, one with a table of nodes and one of edges "
    "(nodes.csv, edges.csv), and one with a citation network as text (cora.content, cora.cites)"
)


def ending(path: Path) -> str:
    """What a name ends in, a compression's ending aside."""
    return (path.with_suffix("") if path.suffix in COMPRESSIONS else path).suffix.lower()


def table_in(folder: Path, name: str) -> Path | None:
    found = sorted(path for path in folder.glob(f"{name}.*") if ending(path) in (".csv", ".tsv", ".jsonl"))
    return found[0] if found else None


def is_table_folder(folder: Path) -> bool:
    return folder.is_dir() and table_in(folder, TABLES[1]) is not None


def is_graph_folder(path: Path) -> bool:
    """A folder whose files belong together."""
    return is_tu_folder(path) or is_table_folder(path) or is_citation_folder(path)


def read_graphs(path: Path) -> Iterator[Written | Broken]:
    """All graphs at a path, in order, those that are broken among them."""
    if is_tu_folder(path):
        yield from read_tu(path)
    elif is_table_folder(path):
        nodes, edges = (table_in(path, name) for name in TABLES)
        assert edges is not None
        yield Written(read_graph_tables(nodes, edges, name=str(path)), {}, 1)
    elif is_citation_folder(path):
        yield Written(read_citations(path), {}, 1)
    elif path.is_dir():
        raise DataError(f"{path} is a folder without graphs that are known; {KNOWN}")
    elif not find_file(path).is_file():
        raise missing_files([path])
    elif ending(path) in MOLECULE_SUFFIXES:
        yield from read_sdf(find_file(path))
    elif ending(path) in JSON_SUFFIXES:
        yield from read_json_graphs(find_file(path))
    else:
        raise DataError(f"{path} holds no graphs that are known by its name; {KNOWN}")


def graphs_at(path: Path) -> tuple[Written | Broken, ...]:
    """All graphs at a path. It may be asked for each of them in turn: it is read once, as long as it stays the same."""
    changed = path.stat().st_mtime_ns if path.exists() else 0
    return _graphs_at(path, changed)


@lru_cache(maxsize=2)
def _graphs_at(path: Path, changed: int) -> tuple[Written | Broken, ...]:
    return tuple(read_graphs(path))
