"""Experts on the page: the weights that the model used, the load, and the view in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from regard.core.files import write_text
from regard.inspection.flow.experts import Routing, routing
from regard.inspection.look.gathering import look
from regard.inspection.look.page import look_page
from regard.runs.load import Run
from tests.inspection.browsing import opened
from tests.inspection.loud_runs import OTHER, TEXT, TRANSLATORS, WRITERS, loud
from tests.interop.untrained import TRANSLATOR, WRITER, saved

EXPERTS = {"kind": "experts", "experts": 5, "active": 2, "width": 8, "shared": 1}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    model = {**WRITERS["gpt"], "feed_forward": {**EXPERTS, "dense": 1, "balance": {"kind": "bias"}}}
    return saved({**WRITER, "model": model}, tmp_path_factory.mktemp("experts"))


def test_weights_are_those_that_answers_were_added_with(run: Run) -> None:
    model: Any = run.model
    layer, seen = model.stack.layers[1].feed_forward, []
    handle = layer.register_forward_hook(lambda module, inputs, output: seen.append((inputs[0], output)))
    (found,) = routing(run, TEXT)
    handle.remove()
    assert found.name == "stack.layers.1.feed_forward"
    (x_BTD, y_BTD), weights_NE = seen[0], torch.tensor(found.weights_NE)
    assert weights_NE.shape == (len(found.tokens), 5)
    assert ((weights_NE > 0).sum(1) == 2).all()
    with torch.no_grad():
        halves = layer.inner(x_BTD[0]).unflatten(-1, (5, 2, -1)).unbind(-2)
        hidden_NEF = torch.nn.functional.silu(halves[0]) * halves[1] * weights_NE[..., None]
        answers_ND = torch.einsum("nef,edf->nd", hidden_NEF, layer.outer.weight.unflatten(0, (5, -1)))
        torch.testing.assert_close(answers_ND + layer.shared(x_BTD[0]), y_BTD[0], atol=1e-4, rtol=1e-4)


def test_the_load_by_hand() -> None:
    found = Routing("layer", ("a", "b"), ((0.5, 0.0, 0.5, 0.0), (0.2, 0.0, 0.0, 0.8)))
    assert found.load == (0.5, 0.0, 0.25, 0.25)
    assert found.sentence == "In layer expert 0 was the busiest, with 0.500 of the choices; 1 of 4 had nothing to do."


def test_a_translator_sends_sources_and_answers(tmp_path: Path) -> None:
    model = {**TRANSLATORS["transformer"], "feed_forward": EXPERTS}
    translator = saved({**TRANSLATOR, "model": model}, tmp_path)
    found = {one.name: one.tokens for one in routing(translator, TEXT, "a dog")}
    assert len(found) == 4
    assert found["encoder.layers.0.feed_forward"][-1] == "<eos>"
    assert found["decoder.layers.0.feed_forward"][0] == "<sos>"


def test_the_page_has_them_and_a_model_without_any_has_no_such_view(run: Run, browser: Any, tmp_path: Path) -> None:
    page = look(run, [TEXT, OTHER])
    (held,) = page.data["texts"][0]["experts"]
    (exact,) = routing(run, TEXT)
    assert held["weights"] == [pytest.approx(row, rel=1e-3) for row in exact.weights_NE]
    write_text(tmp_path / "page.html", look_page(page))
    seen = opened(browser, tmp_path / "page.html")
    seen.tab("Experts")
    assert seen.page.locator("table.experts tbody tr").count() == len(exact.tokens)
    shown = [text for text in seen.page.locator("table.experts tbody td").all_inner_texts() if text]
    used = [weight for row in exact.weights_NE for weight in row if weight]
    assert [float(text) for text in shown] == pytest.approx(used, abs=6e-3)
    assert seen.complaints == []
    assert look(loud("gpt"), [TEXT]).data["texts"][0]["experts"] == []
