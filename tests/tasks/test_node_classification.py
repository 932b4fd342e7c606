"""Classes of nodes: which are learned from, what is seen, how they are asked about, and what simple methods say."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
import torch

import regard
from regard.core.errors import DataError, InputError
from regard.data.ledger import Ledger
from regard.data.modalities.graph.structure import nearest_nodes
from regard.data.sources.graphs.nodes import NodeFiles
from regard.inspection.look.gathering import look
from regard.inspection.probes import probe
from regard.runs.evaluate import evaluate
from regard.tasks.baselines.label_propagation import spread_labels
from tests.graph_files import write_citations

NODES = 120
RECIPE: dict[str, Any] = {
    "data": {"kind": "graph-nodes", "per_class": 5, "validation_size": 30, "test_size": 60},
    "input": {"kind": "graph", "scale": "rows", "hops": 1, "smoothed": "last", "augmentation": {"drop_nodes": 0.3}},
    "model": {
        "kind": "graph-transformer", "layers": 1, "width": 12, "heads": 3, "dropout": 0.1,
        "adjacency": {"kind": "mask"},
    },
    "task": {"kind": "node-classification"},
    "training": {"steps": 60, "batch_tokens": 256, "learning_rate": 0.01, "validate_every": 30},
}  # fmt: skip


@pytest.fixture(scope="module")
def citations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cora")
    write_citations(folder, NODES)
    return folder


@pytest.fixture(scope="module")
def run(citations: Path, tmp_path_factory: pytest.TempPathFactory) -> regard.Run:
    recipe = {**RECIPE, "data": {**RECIPE["data"], "train": str(citations)}}
    regard.train(recipe, out := tmp_path_factory.mktemp("runs") / "nodes")
    return regard.load(out)


def loaded(folder: Path, seed: int = 1, **settings: Any) -> Any:
    return NodeFiles(train=str(folder), **settings).load(seed, Ledger())  # type: ignore[arg-type]


def test_a_split_by_nodes_is_drawn_by_the_seed_and_does_not_overlap(citations: Path) -> None:
    sizes = {"per_class": 5, "validation_size": 30, "test_size": 60}
    corpus, again, other = (loaded(citations, seed, **sizes) for seed in (1, 1, 2))
    (train,), (validation,), (test,) = (corpus.splits[split] for split in ("train", "validation", "test"))
    assert Counter(train.labels) == {"art": 5, "law": 5, "war": 5}
    assert (len(validation.places), len(test.places)) == (30, 60)
    assert not {*train.places} & {*validation.places} | {*train.places} & {*test.places} | {
        *validation.places
    } & {*test.places}
    assert again.splits["test"][0].places == test.places != other.splits["test"][0].places
    assert train.raw is test.raw
    assert "label" not in train.raw.node_features.all_names
    assert corpus.ledger.splits == {"train": 15, "validation": 30, "test": 60}
    told = "of 120 nodes 105 are asked about; 15 others have a class, 0 have none"
    assert any(told in one for one in corpus.ledger.notes)


def test_nodes_may_name_their_split_and_need_no_class(tmp_path: Path) -> None:
    splits = ["train", "train", "test", "validation", "", "train"]
    nodes = [
        {"id": str(place), "kind": "" if place == 5 else "ab"[place % 2], "part": split, "size": place}
        for place, split in enumerate(splits)
    ]
    (tmp_path / "one.json").write_text(json.dumps({"nodes": nodes, "edges": [["0", "1"]]}))
    corpus = loaded(tmp_path / "one.json", label="kind", split="part")
    assert {split: own[0].places for split, own in corpus.splits.items()} == {
        "train": (0, 1), "validation": (3,), "test": (2,)
    }  # fmt: skip
    assert corpus.splits["train"][0].raw.node_features.all_names == ("size",)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"label": "lable"}, "nodes have no 'lable'"),
        ({"per_class": 50}, r"data\.per_class = 50 nodes of each class, and there are fewer of art \(40\)"),
        ({"per_class": 5, "validation_size": 90, "test_size": 60}, r"too few for data\.test_size = 60"),
        ({"split": "label", "label": "word 1"}, "nodes name the splits art, law, war"),
    ],
)
def test_what_cannot_be_divided_is_said(citations: Path, settings: dict[str, Any], told: str) -> None:
    with pytest.raises(DataError, match=told):
        loaded(citations, **{"validation_size": 10, **settings} if "split" not in settings else settings)


def test_it_learns_and_simple_methods_stand_beside_it(run: regard.Run) -> None:
    scores = evaluate(run)
    assert scores["accuracy"] > 0.7
    assert scores["accuracy_low"] < scores["accuracy"] < scores["accuracy_high"]
    assert scores["examples"] == 60
    yardsticks = scores["yardsticks"]
    assert yardsticks.keys() == {
        "most frequent class", "label propagation", "softmax regression on features of nodes alone"
    }  # fmt: skip
    assert yardsticks["label propagation"]["accuracy"] > yardsticks["most frequent class"]["accuracy"]
    assert all(one["text"].rpartition("#")[2].isdecimal() for one in scores["errors"])


def test_nodes_are_asked_by_name_and_a_graph_is_read_once(run: regard.Run, citations: Path) -> None:
    words = [f"{citations}#100", f"{citations}#119"]
    alone, together = [run.predict([word])[0] for word in words], run.predict(words)
    assert alone == together
    assert run.task.members(str(citations))[:2] == [f"{citations}#100", f"{citations}#101"]  # type: ignore[attr-defined]
    unknown = (("#nobody", "has no node 'nobody'"), ("", "should name a node"), ("#100#101", "holds 1 graphs"))
    for wrong, told in unknown:
        with pytest.raises(InputError, match=told):
            run.predict([f"{citations}{wrong}"])


def test_classes_of_test_nodes_have_no_influence(run: regard.Run, citations: Path, tmp_path: Path) -> None:
    """The same graph whose classes are other words gives the same answers."""
    for path in citations.iterdir():
        text = path.read_text()
        for before, after in (("art", "x"), ("law", "y"), ("war", "z")):
            text = text.replace(f"\t{before}", f"\t{after}")
        (tmp_path / path.name).write_text(text)
    answers = [[one.score for one in run.answers([f"{folder}#107"])[0]] for folder in (citations, tmp_path)]
    assert answers[0] == answers[1]


def test_what_is_looked_at_is_what_the_node_can_see(run: regard.Run, citations: Path) -> None:
    """A part of the graph around the node says the same as the whole."""
    asked = probe(run, f"{citations}#107")
    assert len(asked.axis.labels) < NODES
    with torch.no_grad():
        logits_W = asked.logits(run.model.eval())[0, asked.asked[0]]
    whole = {one.text: one.score for one in run.answers([f"{citations}#107"])[0]}
    for label, chance in zip(run.task.labels, logits_W.softmax(-1).tolist(), strict=True):  # type: ignore[attr-defined]
        assert chance == pytest.approx(whole[label], abs=1e-5)
    seen = look(run, [f"{citations}#107"]).data["texts"][0]
    assert seen["graph"]["asked"] == asked.asked
    assert len(seen["graph"]["places"]) == len(asked.axis.labels)


def test_nodes_within_reach() -> None:
    path_E2 = np.array([[0, 1], [1, 2], [2, 3], [4, 5]])
    assert nearest_nodes(path_E2, 6, 1, 1, 10).tolist() == [0, 1, 2]
    assert nearest_nodes(path_E2, 6, 3, 0, 10).tolist() == [0, 1, 2, 3]
    assert nearest_nodes(path_E2, 6, 1, 0, 2).tolist() == [0, 1]


def test_labels_spread_along_edges() -> None:
    """By hand, after many steps: on a path 0 – 1 – 2 – 3 with ends of two classes the nearer end wins."""
    scores_NC = spread_labels(np.array([[0, 1], [1, 2], [2, 3]]), 5, np.array([0, 3]), np.array([0, 1]), 2)
    assert scores_NC.argmax(axis=1).tolist()[:4] == [0, 0, 1, 1]
    assert scores_NC[4].tolist() == [1e-12, 1e-12]  # nothing comes to it
    graph = networkx.path_graph(4)
    matrix_NN = networkx.to_numpy_array(graph)
    scale_N = matrix_NN.sum(1) ** -0.5
    limit_NC = 0.1 * np.linalg.inv(np.eye(4) - 0.9 * scale_N[:, None] * matrix_NN * scale_N)[:, [0, 3]]
    np.testing.assert_allclose(scores_NC[:4], limit_NC, atol=0.01)
