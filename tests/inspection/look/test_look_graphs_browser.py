"""Pages about graphs in a real browser: what a head reads of a node, against the tensors; pointing and keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import regard
from regard.core.files import write_text
from regard.core.taps import record
from regard.data.modalities.graph.layout import layout
from regard.inspection.look.gathering import look
from regard.inspection.look.page import look_page
from regard.inspection.probes import probe
from tests.inspection.browsing import opened
from tests.laws.counted import joined_rings

GRAPH = "one.json"
LAST = "body.layers.0.attention"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> regard.Run:
    folder = tmp_path_factory.mktemp("graphs")
    graphs = [
        {**joined_rings([3 + number % 4, 3 + number // 4]), "label": "odd" if number % 2 else "even"}
        for number in range(30)
    ]
    (folder / "rings.jsonl").write_text("".join(json.dumps(one) + "\n" for one in graphs))
    (folder / GRAPH).write_text(json.dumps(graphs[6]))
    recipe = {
        "data": {"kind": "graphs", "train": str(folder / "rings.jsonl"), "validation_size": 3},
        "input": {"kind": "graph", "structure": {"degree": 3}},
        "model": {"kind": "graph-transformer", "layers": 1, "width": 12, "heads": 3, "adjacency": {"kind": "mask"}},
        "task": {"kind": "classification"}, "training": {"steps": 5, "batch_tokens": 64},
    }  # fmt: skip
    regard.train(recipe, folder / "run")
    return regard.load(folder / "run")


def test_a_graph_is_drawn_with_what_a_head_reads(browser: Any, run: regard.Run, tmp_path: Path) -> None:
    path = str(Path(run.folder.path).parent / GRAPH)
    write_text(tmp_path / "graph.html", look_page(look(run, [path])))
    asked = probe(run, path)
    with torch.inference_mode(), record(run.model, LAST) as seen:
        asked.run(run.model)
    weights_HTS = seen[LAST].weights[0]
    page = opened(browser, tmp_path / "graph.html")
    page.check_tabs(("Graph", "Tokens", "Heads", "Walk", "Answer", "Statistics"))
    page.tab("Graph")
    assert page.page.locator(".graph .node").count() == len(asked.axis.labels) == 9
    assert page.page.locator(".graph .edges line").count() == 10
    for node, head in ((3, 0), (5, 2)):
        page.page.get_by_label("head", exact=True).select_option(label=str(head))
        page.page.locator(".graph .node circle").nth(node).click()
        page.page.mouse.move(1, 1)
        row = weights_HTS[head, node].tolist()
        others = [place for place, weight in enumerate(row) if weight >= 0.01 and place != node]
        assert page.page.locator(".graph .arc").count() == len(others) > 0
        told = dict(zip(page.texts(".strongest .word"), page.texts(".strongest .value"), strict=True))
        first = max(range(9), key=row.__getitem__)
        assert float(told[f"{asked.axis.labels[first]}{first}"]) == pytest.approx(row[first], abs=6e-3)
    page.page.locator(".graph").focus()
    page.page.keyboard.press("ArrowRight")
    assert page.page.locator(".graph .node.reads title").inner_html() == asked.axis.labels[6]
    assert page.complaints == []
    assert page.requests == [(tmp_path / "graph.html").as_uri()]


def test_nodes_are_drawn_as_far_apart_as_there_are_edges_between_them() -> None:
    """A path lies in a line; what nothing joins stands beside it; one node in the middle."""
    places_N2 = layout(np.array([[0, 1], [1, 2], [2, 3]]), 4)
    steps_N = np.linalg.norm(np.diff(places_N2, axis=0), axis=1)
    np.testing.assert_allclose(steps_N, steps_N.mean(), rtol=0.05)
    assert np.linalg.norm(places_N2[3] - places_N2[0]) == pytest.approx(1, abs=0.02)
    apart_N2 = layout(np.array([[0, 1]]), 4)
    assert len(np.unique(apart_N2.round(3), axis=0)) == 4
    assert layout(np.zeros((0, 2), np.int64), 1).tolist() == [[0.5, 0.5]]
    assert np.isfinite(layout(np.zeros((0, 2), np.int64), 5)).all()
