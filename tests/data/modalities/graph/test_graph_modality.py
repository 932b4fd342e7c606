"""The graph modality: what becomes of features, what is refused, and how graphs are named on a command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
import torch

from regard.core.errors import DataError, InputError, OptionError, RecipeError, RunError
from regard.core.ports import Nodes
from regard.data import TokenizerPart
from regard.data.corpus import Corpus
from regard.data.ledger import Ledger
from regard.data.modalities.graph.columns import Columns
from regard.data.modalities.graph.counting import KINDS, NEIGHBOURS, NODES, NUMBER, part_counts
from regard.data.modalities.graph.examples import LabelledGraph
from regard.data.modalities.graph.graphs import Graph
from regard.data.modalities.graph.json_graphs import graph_of_tree
from regard.data.modalities.graph.modality import GraphModality, GraphPart
from regard.runs.recipe import Recipe

WATER: dict[str, Any] = {
    "nodes": [
        {"id": 1, "element": "O", "charge": -1.0}, {"id": 2, "element": "H", "charge": 1}, {"id": 3, "element": "H"},
    ],
    "edges": [{"source": 1, "target": 2, "bond": "single"}, {"source": 1, "target": 3, "bond": "single"}],
}  # fmt: skip


def graph_of(tree: dict[str, Any]) -> Graph:
    return graph_of_tree(tree).graph


CLASSES = {"task": {"kind": "classification"}}


def fitted(*trees: dict[str, Any], **table: Any) -> GraphModality:
    part = Recipe.of({"input": {"kind": "graph", **table}}).input
    corpus: Any = Corpus({"train": tuple(LabelledGraph(graph_of(tree), "a") for tree in trees)}, Ledger())
    modality = part.fit(corpus, TokenizerPart()).input
    assert isinstance(modality, GraphModality)
    return modality


def test_numbers_are_scaled_and_words_have_a_place_each() -> None:
    """Charge has mean 0 and spread 1 over the two that are known, and what is missing is the mean."""
    modality = fitted(WATER)
    inputs = modality.collate(modality.encode([graph_of(WATER)]))
    assert inputs.values.tolist() == [[[-1, 0, 1], [1, 1, 0], [0, 1, 0]]]  # charge, H, O
    assert inputs.edges_BNN is not None
    assert inputs.edges_BNN.int().tolist() == [[[0, 1, 1], [1, 0, 0], [1, 0, 0]]]
    assert inputs.pairs_BNNC is not None
    assert inputs.pairs_BNNC[..., 0].tolist() == [[[0, 1, 1], [1, 0, 0], [1, 0, 0]]]
    assert modality.port() == Nodes(3, 1)


def test_rows_of_counts_sum_to_one() -> None:
    tree = {"nodes": [{"id": 1, "words": [0, 3, 1]}, {"id": 2, "words": [0, 0, 0]}]}
    modality = fitted(tree, scale="rows")
    assert modality.encode([graph_of(tree)])[0].values_NC.tolist() == [[0, 0.75, 0.25], [0, 0, 0]]


def test_distances_and_edges_stand_side_by_side() -> None:
    modality = fitted(WATER, structure={"distance": 1, "degree": 2, "random_walk": 2})
    port = modality.port()
    assert port == Nodes(3 + 3 + 2, 1 + 3, distances=True)
    inputs = modality.collate(modality.encode([graph_of(WATER)]))
    assert inputs.pairs_BNNC is not None
    assert inputs.pairs_BNNC[0, 1, 2].tolist() == [0, 0, 0, 1]  # two hydrogens: two edges apart, which is "more than 1"
    assert inputs.pairs_BNNC[0, 1, 0].tolist() == [1, 0, 1, 0]


def test_hidden_nodes_are_hidden_before_smoothing_and_sums_stay_on_the_average() -> None:
    tree = {"nodes": [{"id": place, "x": 1.0} for place in range(5)], "edges": [[0, 1], [1, 2], [2, 3], [3, 4]]}
    modality = fitted(tree, scale="none", hops=1, augmentation={"drop_nodes": 0.4})
    assert modality.augments
    (item,) = modality.encode([graph_of(tree)])
    drawn = [modality.augment(item, np.random.default_rng(seed)) for seed in range(400)]
    assert {round(value, 4) for one in drawn for value in one.values_NC[:, 0].tolist()} == {0.0, round(1 / 0.6, 4)}
    np.testing.assert_allclose(np.mean([one.values_NC for one in drawn], axis=0), item.values_NC, atol=0.15)
    np.testing.assert_allclose(np.mean([one.read_NC for one in drawn], axis=0), item.read_NC, atol=0.15)


def test_a_networkx_graph_is_an_input() -> None:
    modality = fitted(WATER)
    graph = networkx.Graph()
    for node in WATER["nodes"]:
        graph.add_node(node["id"], **{key: value for key, value in node.items() if key != "id"})
    graph.add_edges_from([(1, 2, {"bond": "single"}), (1, 3, {"bond": "single"})])
    one, other = (modality.collate(modality.encode([raw])) for raw in (graph, graph_of(WATER)))
    assert torch.equal(one.values, other.values)


def test_graphs_that_lack_what_the_model_reads_are_all_named() -> None:
    modality = fitted(WATER)
    lacking = {"nodes": [{"id": 1, "elements": "O"}]}
    other = {"nodes": [{"id": 1, "element": 8, "charge": 0}]}
    with pytest.raises(InputError) as caught:
        modality.encode([graph_of(one) for one in (lacking, WATER, other, {"nodes": []})])
    told = str(caught.value)
    assert "input 1 (a graph of 1 nodes: its nodes lack 'charge', 'element' (did you mean 'elements'?)" in told
    assert "input 3 (a graph of 1 nodes: of its nodes, 'element' are numbers and were words in training" in told
    assert "input 4 (a graph of 0 nodes has no nodes)" in told
    assert "input 2" not in told


def test_words_that_training_did_not_have_are_nothing() -> None:
    modality = fitted(WATER)
    tree = {"nodes": [{"id": 1, "element": "Xe", "charge": 0}]}
    assert modality.encode([graph_of(tree)])[0].values_NC.tolist() == [[0, 0, 0]]


def test_a_feature_that_is_numbers_here_and_words_there_is_refused() -> None:
    other = {"nodes": [{"id": 1, "element": 8, "charge": 1}]}
    with pytest.raises(DataError, match="element of nodes are numbers in some graphs and words in others"):
        fitted(WATER, other)


def test_nodes_of_which_nothing_is_known_need_a_place() -> None:
    tree = {"nodes": 3, "edges": [[0, 1]]}
    with pytest.raises(DataError, match=r"have no features, .* \[input.structure\] degree = 8"):
        fitted(tree)
    assert fitted(tree, structure={"degree": 2}).port() == Nodes(3)


def test_distances_that_nobody_would_read_are_refused() -> None:
    modality = fitted(WATER, structure={"distance": 3})
    model = Recipe.of({**CLASSES, "model": {"kind": "graph-transformer", "adjacency": {"kind": "none"}}}).model
    with pytest.raises(RecipeError, match=r"input\.structure\.distance has no effect where model\.adjacency\.kind"):
        model.build({"input": modality.port()})


def test_more_masked_heads_than_there_are_is_refused() -> None:
    table = {"kind": "graph-transformer", "width": 8, "heads": 2, "adjacency": {"kind": "mask", "heads": 3}}
    with pytest.raises(RecipeError, match=r"model\.adjacency\.heads = 3 is more than the 2 heads"):
        Recipe.of({**CLASSES, "model": table}).model.build({"input": Nodes(3)})


def test_a_family_of_another_kind_of_data_says_so() -> None:
    with pytest.raises(RecipeError, match=r"'bert' writes tokens, and the output of this recipe is nothing"):
        Recipe.of({**CLASSES, "model": {"kind": "bert"}}).model.build({"input": Nodes(3)})
    with pytest.raises(RecipeError, match=r"'vit' reads pictures .*is nodes of a graph with 3 features"):
        Recipe.of({**CLASSES, "model": {"kind": "vit"}}).model.build({"input": Nodes(3)})


def test_graphs_are_read_whole() -> None:
    with pytest.raises(OptionError, match=r"task\.max_length and task\.keep have no effect on graphs"):
        fitted(WATER).limited(10, "start")


def test_one_of_several_graphs_is_named_by_its_number(tmp_path: Path) -> None:
    modality, path = fitted(WATER), tmp_path / "some.json"
    path.write_text(json.dumps([WATER, {"nodes": [{"id": "x", "element": "H", "charge": 0}]}]))
    assert len(modality.parse(f"{path}#2")) == 1
    assert modality.members(str(path)) == [f"{path}#1", f"{path}#2"]
    assert modality.members(f"{path}#2") == [f"{path}#2"]
    with pytest.raises(DataError, match=r"some\.json holds 2 graphs; name one by its number, as in .*some\.json#1"):
        modality.parse(str(path))
    with pytest.raises(DataError, match="holds 2 graphs"):
        modality.parse(f"{path}#3")
    path.write_text(json.dumps(WATER))
    assert len(modality.parse(str(path))) == 3
    assert modality.members(str(path)) == [str(path)]


def test_a_broken_one_among_several_does_not_hide_the_others(tmp_path: Path) -> None:
    modality, path = fitted(WATER), tmp_path / "some.jsonl"
    path.write_text(f"{{\n{json.dumps(WATER)}\n")
    assert len(modality.parse(f"{path}#2")) == 3
    with pytest.raises(DataError, match="line 1: no readable graph"):
        modality.parse(f"{path}#1")


def test_a_file_of_the_run_folder_that_is_not_its_own_is_refused(tmp_path: Path) -> None:
    (tmp_path / "graph.json").write_text('{"nodes": {}}')
    with pytest.raises(RunError, match="should hold nodes and edges"):
        GraphPart().load(tmp_path, TokenizerPart())


def test_columns_are_the_same_after_their_record() -> None:
    graph = graph_of(WATER)
    columns = Columns.fit([graph.node_features], "nodes", "standard")
    again = Columns.from_record(json.loads(json.dumps(columns.record())), "nodes", "standard")
    assert np.array_equal(again.values(graph.node_features), columns.values(graph.node_features))


def test_what_a_graph_is_made_of() -> None:
    found = part_counts([graph_of(WATER)])
    assert found[NUMBER] == [{"nodes": 3}]
    assert found[NODES] == [{"node element H": 2, "node element O": 1, "node charge": 0, "nodes": 3}]
    assert found[KINDS] == [{
        "node element H": 2, "node element O": 1, "node charge": 0, "edge bond single": 2, "nodes": 3, "edges": 2
    }]  # fmt: skip
    assert found[NEIGHBOURS][0].items() >= {"O: single→H, single→H": 1, "H: single→O": 2}.items()
