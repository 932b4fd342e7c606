"""Graphs from JSON, TU folders, tables and networkx; and what is wrong with them, in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest

from regard.core.errors import DataError
from regard.data.ledger import Ledger
from regard.data.modalities.graph.graphs import Graph, Node, make
from regard.data.modalities.graph.json_graphs import graph_of_tree, tree_of
from regard.data.modalities.graph.node_tables import GraphColumns as TableColumns
from regard.data.modalities.graph.node_tables import read_graph_tables
from regard.data.modalities.graph.reading import read_graphs
from regard.data.modalities.graph.tu import read_tu
from regard.data.modalities.graph.written import Written
from regard.data.sources.graphs.labelled import GraphColumns, read_labelled_graphs
from regard.data.tables import Layout

TREE: dict[str, Any] = {
    "nodes": [{"id": "a", "colour": "red", "size": 1.5}, {"id": "b", "colour": "blue"}, {"id": "c", "size": 3}],
    "edges": [{"source": "a", "target": "b", "weight": 2}, ["b", "c"]],
    "label": "path",
}


def same(one: Graph, other: Graph) -> bool:
    return one.digest == other.digest


def test_json_says_nodes_edges_and_what_is_known_of_them() -> None:
    graph = graph_of_tree(TREE).graph
    assert graph.nodes == ("a", "b", "c")
    assert graph.edges_E2.tolist() == [[0, 1], [1, 2]]
    assert graph.node_features.words == {"colour": ("red", "blue", "")}
    assert graph.node_features.names == ("size",)
    np.testing.assert_equal(graph.node_features.numbers_NF, [[1.5], [np.nan], [3.0]])
    np.testing.assert_equal(graph.edge_features.numbers_NF, [[2.0], [np.nan]])


def test_lists_of_numbers_are_several_features() -> None:
    nodes = [{"id": 1, "place": [0.5, 2]}, {"id": 2, "place": [1, -1]}]
    features = graph_of_tree({"nodes": nodes}).graph.node_features
    assert features.names == ("place.0", "place.1")
    assert features.numbers_NF.tolist() == [[0.5, 2.0], [1.0, -1.0]]


@pytest.mark.parametrize("form", ["one", "list", "lines", "edges called links"])
def test_forms_of_json(tmp_path: Path, form: str) -> None:
    path = tmp_path / ("some.jsonl" if form == "lines" else "some.json")
    links = {**TREE, "links": TREE["edges"]}
    texts = {
        "one": json.dumps(TREE), "list": json.dumps([TREE, TREE]), "lines": f"{json.dumps(TREE)}\n\n{json.dumps(TREE)}",
        "edges called links": json.dumps({key: value for key, value in links.items() if key != "edges"}),
    }  # fmt: skip
    path.write_text(texts[form])
    found = [one for one in read_graphs(path) if isinstance(one, Written)]
    assert len(found) == (2 if form in ("list", "lines") else 1)
    assert all(same(one.graph, graph_of_tree(TREE).graph) for one in found)
    assert all(one.properties == {"label": "path"} for one in found)


def test_a_graph_of_networkx_is_the_same_as_its_json() -> None:
    graph = networkx.Graph(label="path")
    for node in TREE["nodes"]:
        graph.add_node(node["id"], **{key: value for key, value in node.items() if key != "id"})
    graph.add_edge("a", "b", weight=np.float64(2))
    graph.add_edge("b", "c")
    assert same(graph_of_tree(tree_of(graph)).graph, graph_of_tree(TREE).graph)


def test_a_graph_survives_its_record() -> None:
    graph = graph_of_tree(TREE).graph
    assert same(Graph.from_record(json.loads(json.dumps(graph.record()))), graph)
    many = make([Node(str(place), {"words": [0.0] * place + [1.0] + [0.0] * (29 - place)}) for place in range(30)], [])
    assert "places" in many.graph.record()["node_features"]["numbers"]  # most of it is 0
    assert same(Graph.from_record(json.loads(json.dumps(many.graph.record()))), many.graph)


def test_loops_strangers_and_repeated_edges_are_left_out_and_told(tmp_path: Path) -> None:
    again = {"source": "b", "target": "a", "weight": 9}
    tree = {**TREE, "edges": [["a", "a"], ["a", "b"], ["b", "a"], ["x", "b"], again]}
    path = tmp_path / "some.json"
    path.write_text(json.dumps([tree, TREE]))
    ledger = Ledger()
    kept = read_labelled_graphs(path, "train", ledger, GraphColumns())
    assert kept[0].raw.edges_E2.tolist() == [[0, 1]]  # once, though it is there in both directions
    assert ledger.counts("train", str(path)).corrected == 3
    told = {one.reason: one.detail for one in ledger.exceptions}
    assert told == {
        "an edge from a node to itself was left out: every node sees itself": "edge 1: a–a",
        "an edge to a node that is not there was left out": "edge 4: x–b",
        "a second edge between the same nodes, with other features, was left out": "edge 5: b–a",
    }
    ledger.splits["train"] = 2
    ledger.check()


def test_isolated_nodes_and_graphs_without_edges_are_graphs() -> None:
    graph = graph_of_tree({"nodes": [{"id": 1, "size": 2}, {"id": 2, "size": 3}], "edges": []}).graph
    assert len(graph) == 2
    assert graph.edges_E2.shape == (0, 2)


@pytest.mark.parametrize(
    ("tree", "told"),
    [
        ([1, 2], "an object with nodes and edges is expected"),
        ({"nodes": [{"name": "a"}]}, 'every node needs an "id"'),
        ({"nodes": ["a", "b", "a"]}, "every node needs a name of its own; these are there twice"),
        ({"nodes": 3, "edges": [[0, 1, 2]]}, "an edge names its two ends"),
        ({"nodes": "abc"}, "nodes and edges are lists"),
        ({"nodes": [{"id": 1, "size": float("inf")}]}, "infinite numbers under size"),
    ],
)
def test_what_is_no_graph_is_skipped_with_a_word(tmp_path: Path, tree: Any, told: str) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text(f"{json.dumps(TREE)}\n{json.dumps(tree)}\n{{broken\n")
    ledger = Ledger()
    assert len(read_labelled_graphs(path, "train", ledger, GraphColumns())) == 1
    assert [one.line for one in ledger.exceptions] == [2, 3]
    assert told in ledger.exceptions[0].detail
    assert "broken JSON" in ledger.exceptions[1].detail


def test_graphs_without_nodes_or_label_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text("\n".join(json.dumps(one) for one in (TREE, {"nodes": [], "label": "x"}, {"nodes": 2})))
    ledger = Ledger()
    assert len(read_labelled_graphs(path, "train", ledger, GraphColumns())) == 1
    assert [(one.line, one.reason) for one in ledger.exceptions] == [(2, "no nodes"), (3, "no label")]


def test_a_label_that_no_graph_has_is_asked_back(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    path.write_text(json.dumps({**TREE, "logS": 1.5}))
    told = r"no graph has 'logs' \(did you mean 'logS'\?\); .* says label, logS: name one"
    with pytest.raises(DataError, match=told):
        read_labelled_graphs(path, "train", Ledger(), GraphColumns(label="logs"))


# -- TU folders ---------------------------------------------------------------------------------------------------

TU = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n", "graph_indicator": "1\n1\n1\n2\n2\n", "graph_labels": "1\n-1\n",
    "node_labels": "0\n3\n0\n0\n1\n", "edge_labels": "7\n7\n8\n8\n7\n7\n",
    "node_attributes": "1, 2\n3, 4\n5, 6\n7, 8\n9, 0\n",
}  # fmt: skip


def tu_folder(folder: Path, **changes: str) -> Path:
    for name, text in {**TU, **changes}.items():
        (folder / f"RINGS_{name}.txt").write_text(text)
    return folder


def test_a_tu_folder(tmp_path: Path) -> None:
    first, second = read_tu(tu_folder(tmp_path))
    assert first.graph.edges_E2.tolist() == [[0, 1], [1, 2]]  # every edge is written twice there
    assert first.graph.node_features.words == {"label": ("0", "3", "0")}
    assert first.graph.node_features.numbers_NF.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert first.graph.edge_features.words == {"label": ("7", "8")}
    assert (first.properties["label"], second.properties["label"]) == ("1", "-1")
    assert str(second.graph) == "RINGS 2"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"A": "1, 2\n1, 9\n"}, "line 2: nodes 1 and 9, and there are 5"),
        ({"A": "1, 2\n1, 4\n"}, "line 2: nodes 1 and 4 belong to two graphs"),
        ({"A": "1, 2\na, 4\n"}, "whole numbers are expected"),
        ({"node_labels": "0\n3\n"}, "has 2 lines, and there are 5 nodes"),
    ],
)
def test_tu_files_that_disagree(tmp_path: Path, changes: dict[str, str], told: str) -> None:
    with pytest.raises(DataError, match=told):
        read_tu(tu_folder(tmp_path, **changes))


# -- tables -------------------------------------------------------------------------------------------------------


def tables(folder: Path, nodes: str, edges: str) -> tuple[Path, Path]:
    (folder / "nodes.csv").write_text(nodes)
    (folder / "edges.csv").write_text(edges)
    return folder / "nodes.csv", folder / "edges.csv"


def test_a_table_of_nodes_and_one_of_edges(tmp_path: Path) -> None:
    tables(tmp_path, "id,kind,age\na,cat,3\nb,dog,\n7,cat,5.5\n", "source,target,since\na,b,2001\nb,7,2004\n")
    (found,) = read_graphs(tmp_path)
    assert isinstance(found, Written)
    assert found.graph.nodes == ("a", "b", "7")
    assert found.graph.edges_E2.tolist() == [[0, 1], [1, 2]]
    assert found.graph.node_features.words == {"kind": ("cat", "dog", "cat")}
    np.testing.assert_equal(found.graph.node_features.numbers_NF, [[3.0], [np.nan], [5.5]])
    assert found.graph.edge_features.numbers_NF.tolist() == [[2001.0], [2004.0]]


def test_tables_without_names_and_numbers_that_are_only_names(tmp_path: Path) -> None:
    (tmp_path / "x.content").write_text("31\t0\t1\tart\n33\t1\t0\tlaw\n")
    (tmp_path / "x.cites").write_text("31\t33\n")
    columns = TableColumns(1, 1, 2, as_words=("2",), layout=Layout(separator="\t"))
    graph = read_graph_tables(tmp_path / "x.content", tmp_path / "x.cites", columns).graph
    assert graph.nodes == ("31", "33")
    assert graph.node_features.words == {"2": ("0", "1"), "4": ("art", "law")}
    assert graph.node_features.names == ("3",)


def test_edges_alone_make_a_graph(tmp_path: Path) -> None:
    (tmp_path / "edges.tsv").write_text("source\ttarget\nb\ta\nc\tb\n")
    graph = read_graph_tables(None, tmp_path / "edges.tsv").graph
    assert graph.nodes == ("b", "a", "c")


def test_edges_to_unknown_nodes_are_told_with_their_lines(tmp_path: Path) -> None:
    made = read_graph_tables(*tables(tmp_path, "id\na\nb\nc\n", "source,target\na,b\nb,c\nc,z\n"))
    assert [(edge.place, edge.second) for edge in made.strangers] == [("line 4", "z")]


def test_tables_that_disagree_are_refused(tmp_path: Path) -> None:
    both = tables(tmp_path, "id\n1\n2\n", "source,target\na,b\nb,c\n1,2\n")
    told = r"disagrees with .*nodes\.csv: 2 of 3 edges end at nodes .*line 2: a–b, line 3"
    with pytest.raises(DataError, match=told):
        read_graph_tables(*both)


@pytest.mark.parametrize(
    ("nodes", "edges", "told"),
    [
        ("id\na\na\n", "source,target\n", "every node needs a name of its own"),
        ("id,x\na,1\n,2\n", "source,target\n", "no name of a node in line 3"),
        ("name\na\n", "source,target\n", "no column 'id'"),
        ("id\na\n", "from,to\na,a\n", "no column 'source'"),
        ("id\na\n", "source,to\na,a\n", "no column 'target'"),
    ],
)
def test_what_tables_lack_is_said(tmp_path: Path, nodes: str, edges: str, told: str) -> None:
    with pytest.raises(DataError, match=told):
        read_graph_tables(*tables(tmp_path, nodes, edges))


def test_a_path_that_holds_no_graphs_says_what_is_known(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"is a folder without graphs that are known; known are \.sdf"):
        list(read_graphs(tmp_path))
    (tmp_path / "some.txt").write_text("x")
    with pytest.raises(DataError, match="holds no graphs that are known by its name"):
        list(read_graphs(tmp_path / "some.txt"))
    with pytest.raises(DataError, match="no file"):
        list(read_graphs(tmp_path / "other.json"))
