"""Answers by depth and the lengths of states say what they were taken from."""

from __future__ import annotations

import json

import pytest
import torch

from regard.core.errors import OptionError
from regard.core.taps import last_outputs
from regard.inspection.flow.depths import Depths, depths
from regard.inspection.flow.stream import stream
from regard.inspection.probes import logits_of, probe
from tests.inspection.loud_runs import FAMILIES, TEXT, loud


@pytest.mark.parametrize("family", ["transformer", "convolution", "gpt", "llama", "bert", "recurrent"])
def test_the_last_depth_says_what_the_model_says(family: str) -> None:
    run = loud(family)
    found = depths(run, TEXT)
    one = probe(run, TEXT)
    logits_NW = logits_of(run.model, one)[list(one.asked)]
    best = [run.vocabularies.target.token(id) for id in logits_NW.argmax(-1).tolist()]
    assert list(found.final) == list(found.best[-1]) == best
    assert found.final_probability[-1] == pytest.approx(logits_NW.softmax(-1).max(-1).values.tolist(), rel=1e-4)
    assert set(found.final_rank[-1]) == {1}
    assert len(found.names) == len(found.best) == len(found.probability) == len(found.final_rank)
    assert found.tokens == tuple(one.axis.labels[row] for row in one.asked)
    json.dumps(found.as_dict(), allow_nan=False)


def test_where_an_answer_is_settled() -> None:
    found = Depths(
        names=("embedding", "layers.0", "layers.1"),
        tokens=("the", "black"),
        final=("black", "cat"),
        best=(("black", "dog"), ("white", "cat"), ("black", "cat")),
        probability=((0.5, 0.4), (0.6, 0.7), (0.8, 0.9)),
        final_probability=((0.5, 0.1), (0.2, 0.7), (0.8, 0.9)),
        final_rank=((1, 3), (2, 1), (1, 1)),
    )
    assert [found.settled(0), found.settled(1)] == [2, 1]
    assert found.sentence(0) == (
        "After 'the' the answer 'black' leads only at the last depth; its probability goes from 0.500 to 0.800."
    )
    assert "'cat' leads from layers.0 on (depth 1 of 2)" in found.sentence(1)


@pytest.mark.parametrize("family", ["bahdanau", "luong", "fixed-context"])
def test_a_model_without_depths_says_so(family: str) -> None:
    with pytest.raises(OptionError, match="reads its answers off once, from all it has found: there are no depths"):
        depths(loud(family), TEXT)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_stream_of_every_family(family: str) -> None:
    run = loud(family)
    found = stream(run, TEXT)
    one = probe(run, TEXT)
    for layer in found.layers:
        with torch.inference_mode(), last_outputs(run.model, layer.name) as seen:
            one.run(run.model)
        assert layer.tokens == (one.source_axis.labels if layer.name.startswith("encoder") else one.axis.labels)
        if isinstance(seen[layer.name], torch.Tensor):
            assert list(layer.norms) == pytest.approx(seen[layer.name][0].norm(dim=-1).tolist(), rel=1e-5)
    for network in found.feed_forward:
        assert len(network.active) == len(network.tokens)
        assert all(0 <= share <= 1 for share in network.active)
    assert all(len(head.norms) == len(head.tokens) for head in found.heads)
    assert bool(found.heads) == (family not in ("fixed-context", "recurrent"))
    assert bool(found.feed_forward) == (family in ("transformer", "gpt", "llama", "bert"))
    json.dumps(found.as_dict(), allow_nan=False)


def test_what_fires_in_a_feed_forward_network() -> None:
    run = loud("transformer")  # with ReLU: what is not above 0 is 0
    found = stream(run, TEXT).feed_forward[0]
    network = run.model.encoder.layers[0].feed_forward
    with torch.inference_mode(), last_outputs(run.model, "encoder.layers.0.feed_forward.inner") as seen:
        probe(run, TEXT).run(run.model)
    inner_TF = torch.relu(seen["encoder.layers.0.feed_forward.inner"][0])
    assert inner_TF.shape[1] == network.outer.in_features
    assert list(found.active) == pytest.approx((inner_TF > 0).float().mean(-1).tolist())
    assert list(found.strongest) == inner_TF.argmax(-1).tolist()
    assert list(found.strength) == pytest.approx(inner_TF.max(-1).values.tolist())
