"""What experts count in a step: the bias moves once, however the step is divided, and comes back after a resume."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import regard
from regard.core.config import parse
from regard.core.inputs import Inputs
from regard.core.penalties import collected_penalties
from regard.core.ports import text_ports
from regard.layers.mixture.experts import Experts
from regard.runs.recipe import Recipe
from regard.training import checkpoints
from regard.training.loop import Loop
from tests.training.tiny import TREE, make_loop

EXPERTS = (
    "model.feed_forward={kind='experts', experts=4, active=2, width=8, shared=1, "
    "balance={kind='bias', rate=0.05}}"
)
BIASES = ("encoder.layers.0.feed_forward.balance.bias_E", "decoder.layers.0.feed_forward.balance.bias_E")


def biases(loop: Loop) -> list[list[float]]:
    return [loop.model.get_buffer(name).tolist() for name in BIASES]


def test_dividing_a_step_changes_neither_bias_nor_figures(tmp_path: Path) -> None:
    whole, seen_whole = make_loop(tmp_path / "1", EXPERTS)
    parted, seen_parted = make_loop(tmp_path / "3", EXPERTS, "training.accumulate=3")
    for loop in (whole, parted):
        loop.step(next(loop.batches()))
    assert biases(whole) == biases(parted)
    assert all(abs(number) in (0.0, pytest.approx(0.05)) for own in biases(whole) for number in own)
    assert any(number for own in biases(whole) for number in own)
    (_, one), (_, other) = seen_whole.of("stepped")[0], seen_parted.of("stepped")[0]
    figures = [name for name in one if ".feed_forward." in name]
    assert len(figures) == 2 * (4 + 4)
    assert [one[name] for name in figures] == pytest.approx([other[name] for name in figures], rel=1e-5)


def test_positions_of_padding_are_not_counted(tmp_path: Path) -> None:
    loop, _ = make_loop(tmp_path, EXPERTS)
    batch = loop.task.collate(next(loop.items()))
    assert (batch.target_in_BT.shape[1] > batch.written_lengths_B).any(), "padding is the harder case"
    loop.model.train()
    loop.sums(batch)
    counts = {name: one.step_counts()["positions"] for name, one in loop.counting.items()}
    assert counts == {
        "encoder.layers.0.feed_forward": float(batch.source_lengths_B.sum()),
        "decoder.layers.0.feed_forward": float(batch.loss_terms),
    }


@pytest.mark.parametrize("kind", ["gpt", "llama", "bert"])
def test_a_body_of_texts_counts_no_padding_either(kind: str) -> None:
    network = {"kind": "experts", "experts": 4, "active": 1, "width": 4}
    table = {"kind": kind, "layers": 1, "width": 8, "heads": 2, "feed_forward": network}
    model = parse(Recipe, {"model": table}).model.build(text_ports(7, 7, shared=True)).train()
    with collected_penalties():
        model.represent(Inputs(torch.randint(0, 7, (3, 5)), torch.tensor([5, 2, 3])))
    (experts,) = (module for module in model.modules() if isinstance(module, Experts))
    assert experts.step_counts()["positions"] == 10


def test_recomputed_layers_count_once(tmp_path: Path) -> None:
    found = []
    for recompute in ("true", "false"):
        loop, _ = make_loop(tmp_path / recompute, EXPERTS, f"training.recompute={recompute}")
        loop.step(next(loop.batches()))
        found.append((biases(loop), [weight.detach().clone() for weight in loop.model.parameters()]))
    assert found[0][0] == found[1][0]
    for one, other in zip(found[0][1], found[1][1], strict=True):
        torch.testing.assert_close(one, other)


def test_a_resumed_run_ends_with_the_same_weights_and_biases_to_the_bit(tmp_path: Path) -> None:
    whole, _ = make_loop(tmp_path / "whole", EXPERTS, "training.optimizer.kind=muon")
    whole.run()
    parted, _ = make_loop(tmp_path / "parted", EXPERTS, "training.optimizer.kind=muon")
    for _, batch in zip(range(3), parted.batches(), strict=False):
        parted.step(batch)
    parted.save()
    resumed, _ = make_loop(tmp_path / "parted", EXPERTS, "training.optimizer.kind=muon")
    assert resumed.resume()
    assert biases(resumed) == biases(parted)
    resumed.run()
    assert checkpoints.weights_hash(checkpoints.weights_of(resumed.model)) == checkpoints.weights_hash(
        checkpoints.weights_of(whole.model)
    )


def test_metrics_and_the_run_folder_hold_them(tmp_path: Path) -> None:
    regard.train(TREE, tmp_path / "run", [EXPERTS])
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    steps = [line for line in lines if line.get("split") == "train"]
    for line in steps:
        loads = [line[f"decoder.layers.0.feed_forward.load.{expert}"] for expert in range(4)]
        assert sum(loads) == pytest.approx(4)
        assert 0 < line["encoder.layers.0.feed_forward.router_entropy"] <= 1
    assert "penalty" in next(line for line in lines if line.get("split") == "validation")
    run = regard.load(tmp_path / "run")
    assert run.model.get_buffer(BIASES[0]).abs().max() > 0
