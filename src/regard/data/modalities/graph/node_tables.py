"""A graph in two tables: one with a row for each node, one with a row for each edge; or the edges alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from regard.core.errors import DataError
from regard.data.modalities.graph.graphs import Edge, Made, Node, make
from regard.data.modalities.graph.written import listed_edges
from regard.data.tables import JSON_SUFFIXES, SEPARATORS, Layout, column_names, read_table, suffix

WRONG_FROM = 0.5
"""The share of edges to unknown nodes from which it is the wrong table, or the wrong columns."""


class GraphColumns(NamedTuple):
    """Where a graph's names stand: columns by name, or by number, counted from 1, in tables without a line of names."""

    node: int | str = "id"
    source: int | str = "source"
    target: int | str = "target"
    as_words: tuple[str, ...] = ()  # features whose numbers are only names
    layout: Layout = Layout()


USUAL = GraphColumns()


def read_graph_tables(nodes: Path | None, edges: Path, columns: GraphColumns = USUAL, name: str = "") -> Made:
    """The graph of a table of nodes and one of edges. Without the first, the nodes are those that edges join."""
    joined = read_edges(edges, columns)
    if nodes is None:
        named = {end: None for edge in joined for end in (edge.first, edge.second)}
        return make([Node(one, {}) for one in named], joined, name, as_words=columns.as_words)
    made = make(read_nodes(nodes, columns), joined, name or str(nodes), as_words=columns.as_words)
    if len(made.strangers) > WRONG_FROM * len(joined):
        raise DataError(
            f"{edges} disagrees with {nodes}: {len(made.strangers):,} of {len(joined):,} edges end at nodes that the "
            f"table of nodes does not have ({listed_edges(made.strangers, 5)}); check the columns of both, or name the "
            "table that belongs to it"
        )
    return made


def read_nodes(path: Path, columns: GraphColumns) -> list[Node]:
    """A node in every row: its name, and the other columns as its features."""
    names, rows = whole_table(path, columns.node, columns.layout)
    place = names.index(columns.node)
    empty = [str(line) for line, cells in rows if not str(cells[place]).strip()]
    if empty:
        raise DataError(f"{path}: no name of a node in line {', '.join(empty[:10])}; give every row one")
    others = [(own, str(name)) for own, name in enumerate(names) if own != place]
    values = typed([cells for _, cells in rows], others, columns.as_words)
    return [
        Node(str(cells[place]).strip(), {name: row[own] for own, name in others})
        for (_, cells), row in zip(rows, values, strict=True)
    ]


def read_edges(path: Path, columns: GraphColumns) -> list[Edge]:
    """An edge in every row: its two ends, and the other columns as its features."""
    names, rows = whole_table(path, columns.source, columns.layout)
    for name in (columns.source, columns.target):
        if name not in names:
            raise DataError(f"{path} has no column {name!r}; there are {', '.join(map(str, names))}")
    ends = [names.index(columns.source), names.index(columns.target)]
    others = [(own, str(name)) for own, name in enumerate(names) if own not in ends]
    values = typed([cells for _, cells in rows], others, columns.as_words)
    return [
        Edge(
            str(cells[ends[0]]).strip(), str(cells[ends[1]]).strip(), {name: row[own] for own, name in others},
            f"line {line}",
        )
        for (line, cells), row in zip(rows, values, strict=True)
    ]  # fmt: skip


def whole_table(path: Path, named: int | str, layout: Layout) -> tuple[list[int | str], list[tuple[int, Any]]]:
    """Names of the columns, or their numbers where there is no line of names; and all rows."""
    separator = layout.separator or SEPARATORS.get(suffix(path), "")
    first = column_names(path, separator)
    if isinstance(named, int) and suffix(path) not in JSON_SUFFIXES:
        names: list[int | str] = list(range(1, len(first) + 1))
        if named > len(names):
            raise DataError(f"{path} has {len(names)} columns, and column {named} is asked for; correct the number")
    else:
        names = [*first]
        if named not in names:
            read_table(path, [named], layout)  # which says what is missing, and what there is
    return names, [(line, cells) for line, cells in read_table(path, names, layout)]


def typed(
    rows: Sequence[Sequence[Any]], places: Sequence[tuple[int, str]], as_words: Sequence[str]
) -> list[dict[int, Any]]:
    """The cells at some places; a column whose cells are all numbers, or empty, has numbers, unless they are names."""
    found: list[dict[int, Any]] = [{} for _ in rows]
    for place, name in places:
        cells = [row[place] for row in rows]
        values = None if name in as_words else numbers_of(cells)
        for own, value in zip(found, cells if values is None else values, strict=True):
            own[place] = value
    return found


def numbers_of(cells: Sequence[Any]) -> list[Any] | None:
    found: list[Any] = []
    for cell in cells:
        if isinstance(cell, str):
            text = cell.strip()
            try:
                found.append(float(text) if text else None)
            except ValueError:
                return None
        else:
            found.append(cell)
    return found
