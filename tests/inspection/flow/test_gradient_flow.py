"""Gradient flow: the numbers are those that a hand computes, and the lectures' claims hold."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.core.config import parse
from regard.core.errors import OptionError
from regard.core.ports import text_ports
from regard.core.taps import replace
from regard.inspection.flow.gradients import (
    Norms,
    at_initialisation,
    depth_gradients,
    gradient_flow,
    jacobian_product,
    norms_figure,
    path_of,
    random_batch,
)
from regard.layers.recurrent.cells import Cell, GruConfig, LstmConfig, RnnConfig
from regard.runs.recipe import Recipe

PORTS = text_ports(13, 17)
EMBEDDING = {"kind": "learned", "width": 7}
FAMILIES: dict[str, dict[str, Any]] = {
    "fixed-context": {"embedding": EMBEDDING, "width": 5, "cell": {"kind": "lstm"}, "decoder_layers": 2},
    "bahdanau": {"embedding": EMBEDDING, "width": 5, "cell": {"kind": "gru"}},
    "luong": {"embedding": EMBEDDING, "width": 3, "cell": {"kind": "lstm"}},
    "convolution": {"embedding": EMBEDDING, "width": 6, "encoder_layers": 2, "decoder_layers": 3},
    "transformer": {
        "width": 12, "heads": 3, "encoder_layers": 1, "decoder_layers": 2, "norm": "pre", "feed_forward": {"width": 17}
    },
}  # fmt: skip


def model_of(kind: str, **changes: Any) -> Any:
    torch.manual_seed(1)
    config: Any = parse(Recipe, {"model": {"kind": kind, **FAMILIES[kind], **changes}}).model
    return config.build(PORTS).double()


def last_loss(model: Any, source: tuple[Tensor, Tensor], target_BT: Tensor) -> Tensor:
    logits_BW = model.head(model(*source, target_BT[:, :-1])[:, -1])
    return functional.cross_entropy(logits_BW, target_BT[:, -1], reduction="sum")


def with_recurrence(cell: Cell, factor: float) -> None:
    """U = factor · I."""
    with torch.no_grad():
        cell.past.weight.copy_(factor * torch.eye(cell.width))


@pytest.mark.parametrize("factor", [0.5, 1.0, 1.5])
def test_a_linear_recurrence_multiplies_the_gradient_by_its_factor_at_every_step(factor: float) -> None:
    model = model_of("fixed-context", cell={"kind": "rnn"}, decoder_layers=1)
    with_recurrence(model.decoder.cells[0], factor)
    for weight in (model.decoder.cells[0].input.weight, model.bridge.linear.weight):
        nn.init.normal_(weight, std=1e-12)  # states so small that tanh' is 1
    flow = gradient_flow(model, *random_batch(PORTS, 7, rows=3, seed=1))
    assert flow.norms == pytest.approx([flow.own * factor**k for k in range(1, 7)], rel=1e-6)


@pytest.mark.parametrize("kind", FAMILIES)
def test_every_family_has_a_path_and_is_left_as_it_was(kind: str) -> None:
    model = model_of(kind)
    model.target_embedding.eval()
    modes = [module.training for module in model.modules()]
    flow = gradient_flow(model, *random_batch(PORTS, 6, rows=3, seed=1))
    assert len(flow.norms) == 5
    assert flow.own > 0
    assert flow.norms[0] > 0
    assert flow.point == path_of(model)
    assert [module.training for module in model.modules()] == modes
    assert all(weight.grad is None for weight in model.parameters())
    assert not any(module._forward_hooks for module in model.modules())


@pytest.mark.parametrize("kind", FAMILIES)
def test_rows_do_not_mix_and_frozen_weights_do_not_matter(kind: str) -> None:
    model = model_of(kind)
    (source_BS, lengths_B), target_BT = random_batch(PORTS, 5, rows=3, seed=1)
    together = gradient_flow(model, (source_BS, lengths_B), target_BT)
    model.requires_grad_(False)
    alone = [
        gradient_flow(model, (source_BS[i : i + 1], lengths_B[i : i + 1]), target_BT[i : i + 1]).norms for i in range(3)
    ]
    assert together.norms == pytest.approx(torch.tensor(alone, dtype=torch.float64).mean(0).tolist())


@pytest.mark.parametrize("kind", ["luong", "bahdanau"])
def test_the_gradient_of_a_state_is_what_a_small_change_of_it_does(kind: str) -> None:
    """Every part of the state after one step is moved a little, from outside, and the loss is looked at."""
    model, tiny, step = model_of(kind).eval(), 1e-6, 2
    source, target_BT = random_batch(PORTS, 5, rows=1, seed=1)

    def moved(part: int, place: int, by: float) -> float:
        calls = 0

        def change(name: str, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            nonlocal calls
            calls += 1
            if calls != step:
                return state
            parts = [each.clone() for each in state]
            parts[part][0, place] += by
            return tuple(parts)

        with torch.no_grad(), replace(model, path_of(model), change):
            return float(last_loss(model, source, target_BT))

    cell = model.get_submodule(path_of(model))
    slopes = [
        (moved(part, place, tiny) - moved(part, place, -tiny)) / (2 * tiny)
        for part in range(cell.parts)
        for place in range(cell.width)
    ]
    flow = gradient_flow(model, source, target_BT)
    assert flow.norms[5 - step - 1] == pytest.approx(float(torch.tensor(slopes).norm()), rel=1e-4)


def test_convolutions_reach_as_far_as_their_windows_and_no_further() -> None:
    flow = gradient_flow(model_of("convolution"), *random_batch(PORTS, 9, rows=2, seed=1))
    assert [norm > 0 for norm in flow.norms] == [True] * 4 + [False] * 4  # two layers above, two neighbours each
    assert flow.sentence.endswith("; beyond it is 0.")
    figure = ElementTree.fromstring(norms_figure({"convolution": flow}, "norm"))
    (line,) = figure.iter("polyline")
    assert len(line.attrib["points"].split()) == 4


def test_a_pattern_means_the_first_module_that_it_names() -> None:
    model = model_of("fixed-context")
    batch = random_batch(PORTS, 5, rows=2, seed=1)
    assert gradient_flow(model, *batch, "decoder.cells.*").point == "decoder.cells.0"
    assert gradient_flow(model, *batch, "*.cells.1").point == "decoder.cells.1"
    with pytest.raises(OptionError, match=r"no module .* is called 'nothing'; available: .*decoder\.cells\.0"):
        gradient_flow(model, *batch, "nothing")
    with pytest.raises(OptionError, match="Linear does not say where its past travels; give its anatomy a state_path"):
        path_of(nn.Linear(1, 1))


def test_random_batches_are_the_same_for_the_same_seed_and_hold_words_only() -> None:
    (source_BS, lengths_B), target_BT = random_batch(PORTS, 7, rows=2, seed=3)
    assert (source_BS.shape, lengths_B.tolist(), target_BT.shape) == ((2, 7), [7, 7], (2, 8))
    assert int(target_BT.min()) >= 4
    assert torch.equal(target_BT, random_batch(PORTS, 7, rows=2, seed=3)[1])


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_gradient_vanishes_through_recurrences_and_stays_through_attention(seed: int) -> None:
    before = torch.get_rng_state()
    flows = at_initialisation(seed=seed)
    assert torch.equal(before, torch.get_rng_state())
    ends = {name: flow.norms[-1] / flow.norms[0] for name, flow in flows.items()}
    assert all(len(flow.norms) == 50 for flow in flows.values())
    assert ends["RNN"] < 1e-3
    assert ends["RNN"] < ends["GRU"] < ends["LSTM"] < 1 / 3
    assert flows["Transformer"].spread < 3
    assert "orders of magnitude" in flows["RNN"].sentence
    assert "stays between" in flows["Transformer"].sentence


@pytest.mark.parametrize("config", [RnnConfig(), GruConfig(), LstmConfig()], ids=lambda config: config.kind)
def test_the_product_of_jacobians_is_the_jacobian_of_the_unrolled_loop(config: Any) -> None:
    torch.manual_seed(1)
    cell: Cell = config.build(5, 3).double()
    x_TI = torch.randn(6, 5, generator=torch.Generator().manual_seed(2)).double()

    def unrolled(state_C: Tensor, begin: int, end: int) -> Tensor:
        state = state_C.split(3)
        for x_J in cell.project(x_TI[begin:end]):
            state = cell(x_J, state)
        return torch.cat(state)

    settled_C = unrolled(torch.zeros(3 * cell.parts, dtype=torch.float64), 0, 2)
    expected = []
    for steps in range(1, 5):
        jacobian: Any = torch.autograd.functional.jacobian(lambda s, end=2 + steps: unrolled(s, 2, end), settled_C)
        expected.append(float(torch.linalg.svdvals(jacobian)[0]))
    assert jacobian_product(cell, 4, seed=2, settle=2).norms == pytest.approx(expected)


def test_known_jacobians() -> None:
    plain, gated = RnnConfig().build(5, 3), GruConfig().build(5, 3)
    with_recurrence(plain, 0.8)
    found = jacobian_product(plain, 30, scale=1e-9)
    assert found.norms == pytest.approx([0.8**k for k in range(1, 31)], rel=1e-4)
    assert found.factor == pytest.approx(0.8, rel=1e-4)
    nn.init.constant_(gated.input.bias[3:6].data, 40.0)  # z = 1: everything is kept
    assert jacobian_product(gated, 30).norms == pytest.approx([1.0] * 30)


def test_post_norm_has_large_gradients_at_the_top_however_deep_and_pre_norm_shares_them() -> None:
    found = {
        (norm, layers): depth_gradients(norm, layers, width=32, length=11, rows=5)
        for norm in ("pre", "post")
        for layers in (4, 16)
    }
    assert len(found["pre", 16].outputs.norms) == len(found["pre", 16].weights.norms) == 16
    assert found["post", 16].outputs.norms[0] < found["post", 16].outputs.norms[-1] / 3
    assert found["pre", 16].outputs.spread < 3
    top = {key: depth.weights.norms[-1] for key, depth in found.items()}
    assert top["pre", 16] < 0.75 * top["pre", 4]
    assert top["post", 16] > 0.75 * top["post", 4]
    assert "With post-norm the gradient of the layer's output grows" in found["post", 16].sentence
    json.dumps(found["pre", 4].as_dict(), allow_nan=False)


@pytest.mark.parametrize(
    "norms, sentence",
    [
        ((1.0, 0.1, 0.01), "It falls from 1.00 at step 1 to 0.0100 at step 3: 2.0 orders of magnitude, on average by a "
         "factor of 0.100 each time."),
        ((1.0, 2.0, 4.0), "It grows from 1.00 at step 1 to 4.00 at step 3: 0.6 orders of magnitude, on average by a "
         "factor of 2.00 each time."),
        ((1.0, 2.0, 1.5), "It stays between 1.00 and 2.00 from step 1 to 3, within a factor of 2.00."),
        ((1.0, 8.0, 1.5), "It varies between 1.00 and 8.00 from step 1 to 3, within a factor of 8.00."),
        ((1.0, 2.0, 0.0), "It stays between 1.00 and 2.00 from step 1 to 2, within a factor of 2.00; beyond it is 0."),
        ((0.0, 0.0, 0.0), "It is 0 at every step from 1 to 3."),
    ],
)  # fmt: skip
def test_sentences_say_what_the_numbers_say(norms: tuple[float, ...], sentence: str) -> None:
    found = Norms(norms, "step", "It")
    assert found.sentence == sentence
    json.dumps(found.as_dict(), allow_nan=False)


def test_the_figure_has_a_line_for_each() -> None:
    flows = {name: Norms((1.0, 0.1), "distance", "It") for name in ("one", "other")}
    figure = ElementTree.fromstring(norms_figure(flows, "norm"))
    assert len(list(figure.iter("polyline"))) == 2
    assert figure.attrib["aria-label"].startswith("norm against distance: one from 1.00 at 1 to 0.100 at 2")
