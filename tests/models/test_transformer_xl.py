"""Transformer-XL: distances by the formula, cutting a text anywhere changes nothing, and memory is carried and kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.attention.heads import HeadShape
from regard.attention.masks import CAUSAL
from regard.core.config import parse
from regard.core.ports import text_ports
from regard.core.seams import ConstantSizeState
from regard.layers.positions import sinusoids
from regard.layers.recurrent.segments import DistanceAttention
from regard.models.transformer_xl import TransformerXl, TransformerXlConfig
from regard.runs.journal import NullObserver
from regard.runs.load import load
from regard.runs.train import train

SYMBOLS = 17
QUICK = {"steps": 4, "batch_tokens": 64, "threads": 1, "learning_rate": 1e-3, "checkpoint_every": 2,
         "validate_every": 2, "schedule": {"kind": "constant"}}  # fmt: skip


class Stopping(NullObserver):
    """Ends a training in its third step, after the checkpoint of the second."""

    def on_step(self, step: int, figures: Mapping[str, float]) -> None:
        if step == 3:
            raise KeyboardInterrupt


def made(**changes: Any) -> TransformerXl:
    torch.manual_seed(1)
    table = {"layers": 2, "width": 12, "heads": 3, "memory": 5, "dropout": 0.0, **changes}
    model = parse(TransformerXlConfig, table).build(text_ports(SYMBOLS, SYMBOLS, shared=True))
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return model.eval()


def test_scores_are_those_of_the_paper() -> None:
    """A_ij = (q_i + u)·k_j + (q_i + v)·W_r R_{i−j}, over √d_k; position by position."""
    torch.manual_seed(1)
    heads = DistanceAttention(HeadShape(width=6, heads=2))
    with torch.no_grad():
        heads.content_HK.normal_()
        heads.distance_HK.normal_()
    x = torch.randn(1, 4, 6)
    memory = torch.randn(1, 3, 6)
    whole = torch.cat((memory, x), 1)
    q = heads.project(x)[0].view(4, 2, 3)
    k, v = (one[0].view(7, 2, 3) for one in heads.project_memory(whole).split(6, -1))
    r = heads.project_distance(sinusoids(torch.arange(7), 6)).view(7, 2, 3)
    read = torch.zeros(4, 2, 3)
    for i in range(4):
        for h in range(2):
            scores = torch.stack([
                (q[i, h] + heads.content_HK[h]) @ k[j, h] + (q[i, h] + heads.distance_HK[h]) @ r[3 + i - j, h]
                for j in range(3 + i + 1)
            ])  # fmt: skip
            read[i, h] = (scores / 3**0.5).softmax(0) @ v[: 3 + i + 1, h]
    torch.testing.assert_close(heads(x, whole, CAUSAL.at(3)), heads.output(read.view(1, 4, 6)), atol=1e-5, rtol=1e-4)


@torch.no_grad()
@pytest.mark.parametrize("cuts", [(4, 4, 4), (1, 10, 1), (12,), (2, 3, 7)], ids=str)
def test_how_a_text_is_cut_into_segments_changes_nothing(cuts: tuple[int, ...]) -> None:
    model, tokens_BT = made(), torch.randint(SYMBOLS, (2, 12))
    state = model.start((2, 0))
    parts = [model.read(part, state) for part in tokens_BT.split(cuts, dim=1)]
    torch.testing.assert_close(torch.cat(parts, dim=1), model(tokens_BT), atol=1e-5, rtol=1e-4)
    assert state.memory.inputs_LBMD.shape == (2, 2, 5, 12), "as many as are remembered, and no more"


@torch.no_grad()
def test_what_came_before_is_read_as_far_as_layers_reach() -> None:
    model, tokens_BT = made(), torch.randint(SYMBOLS, (1, 14))
    before = model(tokens_BT)[0, -1]
    changes = []
    for place in range(13):
        other_BT = tokens_BT.clone()
        other_BT[0, place] = (other_BT[0, place] + 1) % SYMBOLS
        changes.append(float((model(other_BT)[0, -1] - before).abs().max()))
    assert [change > 0 for change in changes] == [place >= 13 - 2 * 5 for place in range(13)]


def test_no_gradient_flows_into_what_is_remembered() -> None:
    model = made().train()
    state = model.start((1, 0))
    model.read(torch.randint(SYMBOLS, (1, 6)), state)
    assert isinstance(state, ConstantSizeState)
    assert not state.memory.inputs_LBMD.requires_grad


def test_memory_is_carried_from_segment_to_segment_and_resumed_to_the_bit(tmp_path: Path) -> None:
    tree = {
        "data": {"kind": "world-english", "train_size": 80, "validation_size": 12, "test_size": 12},
        "tokenizer": {"kind": "word", "min_frequency": 1}, "training": QUICK,
        "model": {"kind": "transformer-xl", "layers": 1, "width": 16, "heads": 2, "memory": 20},
        "task": {"kind": "language-model", "max_length": 16, "sample": 0, "carry": True},
    }  # fmt: skip
    train(tree, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        train(tree, tmp_path / "parts", observers=[Stopping()])
    train(tree, tmp_path / "parts", resume=True)
    whole, parts = (load(tmp_path / name).model.state_dict() for name in ("whole", "parts"))
    assert all(torch.equal(one, parts[name]) for name, one in whole.items())
    train({**tree, "task": {**tree["task"], "carry": False}}, tmp_path / "apart")
    apart = load(tmp_path / "apart").model.state_dict()
    assert any(not torch.equal(one, apart[name]) for name, one in whole.items())
