"""Edges that are hidden and found again: no leak, metrics by hand, and simple methods beside the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
from sklearn import metrics

import regard
from regard.core.errors import DataError
from regard.data.ledger import Ledger
from regard.data.modalities.graph.pairs import codes_of, pairs_without_edge
from regard.data.sources.graphs.links import LinkFiles
from regard.runs.evaluate import evaluate
from regard.tasks.baselines.common_neighbours import neighbour_scores
from regard.tasks.metrics.ranking import average_precision, roc_auc

CLUBS, EACH = 6, 8


@pytest.fixture(scope="module")
def clubs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Clubs whose members know nearly all of one another, and a few others."""
    graph = networkx.planted_partition_graph(CLUBS, EACH, 0.8, 0.02, seed=4)
    folder = tmp_path_factory.mktemp("clubs")
    (folder / "edges.csv").write_text("source,target\n" + "".join(f"p{a},p{b}\n" for a, b in graph.edges))
    (folder / "nodes.csv").write_text("id,club\n" + "".join(f"p{node},c{node // EACH}\n" for node in graph))
    return folder


def loaded(path: Path, seed: int = 1, **settings: Any) -> Any:
    return LinkFiles(train=str(path), **settings).load(seed, Ledger())  # type: ignore[arg-type]


def test_hidden_edges_are_seen_in_no_split(clubs: Path) -> None:
    corpus = loaded(clubs, validation_share=0.1, test_share=0.2)
    (train,), (validation,), (test,) = (corpus.splits[split] for split in ("train", "validation", "test"))
    seen = {*codes_of(train.raw.edges_E2, len(train.raw)).tolist()}
    asked = [codes_of(np.array(one.pairs_M2), len(one.raw)).tolist() for one in (validation, test)]
    assert not seen & {*asked[0]} | seen & {*asked[1]}
    assert validation.raw is train.raw is test.raw
    for own, codes in zip((validation, test), asked, strict=True):
        assert sum(own.joined_M) * 2 == len(own.joined_M) == len({*codes})
    total = len(seen) + sum(validation.joined_M) + sum(test.joined_M)
    assert corpus.ledger.splits == {
        "train": len(seen), "validation": round(0.1 * total), "test": round(0.2 * total)
    }  # fmt: skip
    assert loaded(clubs).splits["test"][0].pairs_M2 == loaded(clubs).splits["test"][0].pairs_M2
    assert loaded(clubs).splits["test"][0].pairs_M2 != loaded(clubs, 2).splits["test"][0].pairs_M2


@pytest.mark.parametrize("nodes", [4, 9, 30])
def test_pairs_without_an_edge(nodes: int) -> None:
    edges_E2 = np.array(list(networkx.gnp_random_graph(nodes, 0.6, seed=3).edges)).reshape(-1, 2)
    free = nodes * (nodes - 1) // 2 - len(edges_E2)
    for count in (1, free, free + 5):
        codes = codes_of(pairs_without_edge(edges_E2, nodes, count, np.random.default_rng(1)), nodes)
        assert len({*codes.tolist()}) == min(count, free)
        assert not {*codes.tolist()} & {*codes_of(edges_E2, nodes).tolist()}


def test_rankings_are_scored_as_scikit_learn_does() -> None:
    generator = np.random.default_rng(2)
    right_N, scores_N = generator.random(60) < 0.4, generator.integers(0, 9, 60).astype(float)
    assert roc_auc(scores_N, right_N) == pytest.approx(metrics.roc_auc_score(right_N, scores_N))
    assert average_precision(scores_N, right_N) == pytest.approx(metrics.average_precision_score(right_N, scores_N))


def test_common_neighbours_by_hand() -> None:
    """Of a square 0 – 1 – 2 – 3 – 0 with a chord 0 – 2: 1 and 3 have 0 and 2 in common, which have three neighbours."""
    edges_E2 = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]])
    found = neighbour_scores(edges_E2, 4, np.array([[1, 3], [0, 1]]))
    assert found["common neighbours"].tolist() == [2, 1]
    np.testing.assert_allclose(found["Adamic–Adar"], [2 / np.log(3), 1 / np.log(3)])


def test_it_learns_which_members_know_one_another(clubs: Path, tmp_path: Path) -> None:
    recipe = {
        "data": {"kind": "graph-links", "train": str(clubs)},
        "input": {"kind": "graph", "structure": {"degree": 4}},
        "model": {"kind": "graph-transformer", "layers": 1, "width": 16, "heads": 2, "dropout": 0.0},
        "task": {"kind": "link-prediction", "width": 8},
        "training": {"steps": 80, "batch_tokens": 64, "learning_rate": 0.01, "validate_every": 40},
    }
    regard.train(recipe, tmp_path / "links")
    run = regard.load(tmp_path / "links")
    scores = evaluate(run)
    assert scores["roc_auc"] > 0.85
    assert scores["roc_auc_low"] <= scores["roc_auc"] <= scores["roc_auc_high"]
    assert scores["yardsticks"].keys() == {"common neighbours", "Adamic–Adar"}
    friends, strangers = (float(run.predict([f"{clubs}#p1#p{other}"])[0]) for other in (2, EACH + 3))
    assert friends > strangers
    graph = networkx.read_edgelist(clubs / "edges.csv", delimiter=",", comments="source")
    with pytest.raises(DataError, match="two nodes of a graph are asked about"):
        run.predict([graph])


def test_a_graph_without_edges_has_none_to_find(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text('{"nodes": ["a", "b"], "edges": [["a", "a"]]}')
    with pytest.raises(DataError, match="has no edges, so that there are none to find"):
        loaded(tmp_path / "one.json")
    (tmp_path / "one.json").write_text('{"nodes": ["a", "b"], "edges": [["a", "b"]]}')
    with pytest.raises(DataError, match="has 1 edges, which are too few"):
        loaded(tmp_path / "one.json")
