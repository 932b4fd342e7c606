"""A mixture of experts against a plain loop over positions, by hand, and where it must equal one network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.core.config import parse
from regard.core.errors import RecipeError
from regard.core.penalties import collected_penalties
from regard.layers.feed_forward import GatedFeedForward
from regard.layers.mixture.balance import BiasBalance, Routed, sequence_imbalance
from regard.layers.mixture.experts import Experts, ExpertsConfig
from regard.layers.mixture.grouped_products import grouped_linear
from regard.layers.mixture.routing import Rules

WIDTH, HIDDEN = 7, 5


def made(**settings: Any) -> Experts:
    torch.manual_seed(3)
    layer: Any = parse(ExpertsConfig, {"width": HIDDEN, **settings}).build(WIDTH, 0.0)
    with torch.no_grad():
        for weight in layer.parameters():
            nn.init.normal_(weight, std=0.5)
        if isinstance(layer.balance, BiasBalance):
            layer.balance.bias_E.copy_(torch.randn(layer.experts) * 0.3)
    return layer


def network(x_D: Tensor, inner: Tensor, outer: Tensor) -> Tensor:
    gate, through = (inner @ x_D).chunk(2)
    return outer @ (functional.silu(gate) * through)


def plainly(layer: Experts, x_BTD: Tensor) -> Tensor:
    """Position by position, expert by expert."""
    rules, bias_E = layer.rules, getattr(layer.balance, "bias_E", torch.zeros(layer.experts))
    inner, outer = layer.inner.weight.chunk(layer.experts), layer.outer.weight.chunk(layer.experts)
    answers = []
    for x_D in x_BTD.flatten(0, 1):
        logits_E = layer.router.weight @ x_D
        scores_E = logits_E.sigmoid() if rules.scores == "sigmoid" else logits_E.softmax(0)
        wanted = (scores_E + bias_E).tolist()
        size = layer.experts // rules.groups
        members = [range(group * size, (group + 1) * size) for group in range(rules.groups)]
        worth = [sum(sorted((wanted[one] for one in own), reverse=True)[: rules.group_best]) for own in members]
        opened = sorted(range(rules.groups), key=worth.__getitem__, reverse=True)[: rules.active_groups]
        allowed = [one for group in opened for one in members[group]]
        chosen = sorted(allowed, key=wanted.__getitem__, reverse=True)[: rules.active]
        total = sum(scores_E[one] for one in chosen) if rules.normalised else 1.0
        answer: Any = sum(
            rules.scale * scores_E[one] / total * network(x_D, inner[one], outer[one]) for one in chosen
        )
        if layer.shared is not None:
            answer = answer + network(x_D, layer.shared.inner.weight, layer.shared.outer.weight)
        answers.append(answer)
    return torch.stack(answers).view_as(x_BTD)


KINDS: dict[str, dict[str, Any]] = {
    "mixtral": {"experts": 5, "active": 2},
    "one active": {"experts": 5, "active": 1, "normalised": False},
    "all active": {"experts": 3, "active": 3},
    "deepseek-v2": {"experts": 6, "active": 3, "groups": 3, "active_groups": 2, "normalised": False, "shared": 2},
    "deepseek-v3": {
        "experts": 8, "active": 3, "scores": "sigmoid", "groups": 4, "active_groups": 2, "group_best": 2,
        "scale": 2.5, "shared": 1, "balance": {"kind": "bias"},
    },
}  # fmt: skip
every_kind = pytest.mark.parametrize("settings", KINDS.values(), ids=KINDS.keys())


@every_kind
def test_answers_and_gradients_are_those_of_a_plain_loop(settings: dict[str, Any]) -> None:
    layer = made(**settings)
    generator = torch.Generator().manual_seed(5)
    x_BTD, weight_BTD = (torch.randn(3, 11, WIDTH, generator=generator) for _ in range(2))
    found = []
    for answer in (layer, lambda x: plainly(layer, x)):
        own_BTD = x_BTD.clone().requires_grad_()
        layer.zero_grad()
        y_BTD = answer(own_BTD)
        (y_BTD * weight_BTD).sum().backward()
        found.append([y_BTD.detach(), own_BTD.grad, *(one.grad.clone() for one in layer.parameters())])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)
        assert other.abs().max() > 1e-3, "a gradient that is 0 would hide a mistake"


@every_kind
def test_a_graph_for_any_data_computes_the_same(settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    layer, x_BTD = made(**settings), torch.randn(2, 7, WIDTH)
    with torch.no_grad():
        sorted_BTD = layer(x_BTD)
        monkeypatch.setattr(torch.compiler, "is_exporting", lambda: True)
        torch.testing.assert_close(layer(x_BTD), sorted_BTD, atol=1e-5, rtol=1e-5)


def test_compiled_experts_are_counted_and_balanced_as_others() -> None:
    layer, x_BTD = made(experts=5, active=2, balance={"kind": "loss"}).train(), torch.randn(2, 7, WIDTH)
    found = []
    for own in (layer, torch.compile(layer, backend="eager")):
        with collected_penalties() as penalties:
            y_BTD = own(x_BTD)
        found.append((y_BTD, penalties[0], layer.step_counts()))
        layer.end_step(layer.step_counts())
    assert all(torch.equal(one, other) for one, other in zip(found[0][:2], found[1][:2], strict=True))
    assert found[0][2] == found[1][2]
    assert found[0][2]["positions"] == 14


def test_one_expert_is_an_ordinary_network() -> None:
    layer, dense = made(experts=1, active=1), GatedFeedForward(WIDTH, HIDDEN, functional.silu)
    dense.load_state_dict({"inner.weight": layer.inner.weight, "outer.weight": layer.outer.weight})
    x_BTD = torch.randn(2, 3, WIDTH)
    torch.testing.assert_close(layer(x_BTD), dense(x_BTD))


@pytest.mark.parametrize("scores", ["softmax", "sigmoid"])
def test_equal_experts_are_one_network(scores: str) -> None:
    layer, dense = made(experts=5, active=3, scores=scores), GatedFeedForward(WIDTH, HIDDEN, functional.silu)
    with torch.no_grad():
        layer.inner.weight.copy_(dense.inner.weight.repeat(5, 1))
        layer.outer.weight.copy_(dense.outer.weight.repeat(5, 1))
    x_BTD = torch.randn(2, 13, WIDTH)
    torch.testing.assert_close(layer(x_BTD), dense(x_BTD), atol=1e-5, rtol=1e-5)


def test_nothing_is_dropped_where_all_choose_the_same() -> None:
    layer = made(experts=8, active=2)
    x_BTD = torch.randn(1, 1, WIDTH).expand(2, 17, WIDTH)
    y_BTD = layer(x_BTD)
    torch.testing.assert_close(y_BTD, plainly(layer, x_BTD[:, :1]).expand_as(y_BTD)[:1].expand_as(y_BTD))


def test_padding_gets_no_expert_and_counts_for_nothing() -> None:
    layer = made(experts=5, active=2, shared=1, balance={"kind": "loss"})
    x_BTD, lengths_B = torch.randn(3, 6, WIDTH), torch.tensor([6, 2, 0])
    padded_BT = torch.arange(6) >= lengths_B[:, None]
    found = []
    for fill in (0.0, 100.0):
        with collected_penalties() as penalties:
            y_BTD = layer.train()(x_BTD.masked_fill(padded_BT[..., None], fill), lengths_B)
        found.append((y_BTD, penalties[0], layer.step_counts()))
        layer.end_step(layer.step_counts())
    for one, other in zip(*(own[:2] for own in found), strict=True):
        assert torch.equal(one, other)
    assert not found[0][0][padded_BT].any()
    assert found[0][2] == found[1][2]
    assert found[0][2]["positions"] == 8
    assert sum(found[0][2][f"load.{expert}"] for expert in range(5)) == 16
    alone = layer(x_BTD[1:2, :2])
    torch.testing.assert_close(found[0][0][1:2, :2], alone)


def test_dividing_a_batch_leaves_penalty_and_counts_as_they_are() -> None:
    layer = made(experts=5, active=2, balance={"kind": "loss", "weight": 0.5}).train()
    x_BTD = torch.randn(5, 7, WIDTH)

    def asked(*parts: Tensor) -> tuple[float, dict[str, float]]:
        with collected_penalties() as penalties:
            for part in parts:
                layer(part)
        counts = layer.step_counts()
        layer.end_step(counts)
        return float(torch.stack(penalties).sum().detach()), counts

    (whole, counted), (divided, counted_too) = asked(x_BTD), asked(x_BTD[:2], x_BTD[2:])
    assert whole == pytest.approx(divided, rel=1e-6)
    assert counted == pytest.approx(counted_too, rel=1e-6)


@pytest.mark.parametrize("state", ["evaluation", "nobody listens"])
def test_only_training_is_counted(state: str) -> None:
    layer = made(experts=3, active=1).train(state != "evaluation")
    if state == "evaluation":
        with collected_penalties() as penalties:
            layer(torch.randn(2, 3, WIDTH))
        assert len(penalties) == 1, "validations tell how balanced it is"
    else:
        layer(torch.randn(2, 3, WIDTH))
    assert layer.step_counts()["positions"] == 0
    assert layer.end_step(layer.step_counts()) == {}


def test_the_loss_of_balance_by_hand() -> None:
    """Two sequences of two and one positions, two experts, one active: f = 2 · shares of choices, P = means."""
    scores_NE = torch.tensor([[0.75, 0.25], [0.5, 0.5], [0.2, 0.8]])
    routed = Routed(scores_NE, torch.tensor([[0], [0], [1]]), torch.tensor([0, 0, 1]), 2)
    first = 2 * (2 * 0.625 + 0 * 0.375)  # two positions, times f₀ P₀ + f₁ P₁
    assert float(sequence_imbalance(routed)) == pytest.approx(first + 2 * 0.8)
    even = Routed(torch.full((4, 2), 0.5), torch.tensor([[0], [1], [0], [1]]), torch.zeros(4, dtype=torch.long), 1)
    assert float(sequence_imbalance(even)) == pytest.approx(4.0)


def test_the_bias_moves_towards_an_equal_load_and_figures_say_how_far_it_is() -> None:
    layer = made(experts=4, active=2, balance={"kind": "bias", "rate": 0.25})
    assert isinstance(layer.balance, BiasBalance)
    layer.balance.bias_E.copy_(torch.tensor([0.0, 1.0, 0.0, 0.0]))
    loads = {"load.0": 6.0, "load.1": 4.0, "load.2": 2.0, "load.3": 4.0}
    figures = layer.end_step({**loads, "entropy": 8 * 1.386294, "positions": 8.0})
    assert layer.balance.bias_E.tolist() == [-0.25, 1.0, 0.25, 0.0]
    assert (figures["load_lowest"], figures["load_highest"]) == (0.5, 1.5)
    assert [figures[f"load.{expert}"] for expert in range(4)] == [1.5, 1.0, 0.5, 1.0]
    assert figures["router_entropy"] == pytest.approx(1.0, abs=1e-6)
    assert figures["load_entropy"] == pytest.approx(0.952820, abs=1e-5)  # −Σ p ln p of 3/8, 2/8, 1/8, 2/8, over ln 4


def test_the_bias_chooses_and_does_not_weigh() -> None:
    rules, scores_NE = Rules(active=2, scores="sigmoid"), torch.tensor([[0.5, 0.3, 0.1, 0.4]])
    experts_NU = rules.chosen(scores_NE + torch.tensor([0.0, 0.0, 1.0, 0.0]))
    assert experts_NU.tolist() == [[2, 0]]
    torch.testing.assert_close(rules.weights(scores_NE, experts_NU), torch.tensor([[1 / 6, 5 / 6]]))


def test_groups_are_chosen_by_their_best() -> None:
    scores_NE = torch.tensor([[0.9, 0.0, 0.5, 0.6, 0.4, 0.3]])
    assert Rules(active=2, groups=3, active_groups=1).chosen(scores_NE).tolist() == [[0, 1]]
    assert Rules(active=2, groups=3, active_groups=1, group_best=2).chosen(scores_NE).tolist() == [[3, 2]]


def test_groups_of_rows_are_multiplied_by_their_own_matrix() -> None:
    x_ND, weight_EFD = torch.randn(7, 3, dtype=torch.double), torch.randn(4, 2, 3, dtype=torch.double)
    x_ND.requires_grad_()
    weight_EFD.requires_grad_()
    counts = (2, 0, 4, 1)
    y_NF = grouped_linear(x_ND, weight_EFD, counts)
    owners = torch.tensor([0, 0, 2, 2, 2, 2, 3])
    torch.testing.assert_close(y_NF, torch.einsum("nd,nfd->nf", x_ND, weight_EFD[owners]))
    assert torch.autograd.gradcheck(lambda x, weight: grouped_linear(x, weight, counts), (x_ND, weight_EFD))


def test_in_narrow_numbers_the_router_stays_exact() -> None:
    layer, x_BTD = made(experts=5, active=2), torch.randn(2, 9, WIDTH)
    calls: list[Tensor] = []
    chosen: Callable[[Tensor], Tensor] = layer.balance.preferences
    layer.balance.preferences = lambda scores: chosen(calls.append(scores) or scores)  # type: ignore[func-returns-value, method-assign]
    wide = layer(x_BTD)
    with torch.autocast("cpu", torch.bfloat16):
        narrow = layer(x_BTD)
    assert torch.equal(*calls)
    torch.testing.assert_close(narrow.float(), wide, atol=0.1, rtol=0.05)
    narrow.sum().backward()
    assert layer.inner.weight.grad.dtype == torch.float32


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"experts": 2, "active": 3}, "3 active experts of 2 are too many; lower active"),
        ({"experts": 8, "groups": 3}, "8 experts do not divide into 3 groups; change one of them"),
        ({"groups": 4, "active_groups": 5}, "5 active groups of 4 are too many; lower active_groups"),
        (
            {"active": 3, "groups": 4, "active_groups": 1},
            "1 groups of 2 experts have no 3 active ones; raise active_groups",
        ),
        (
            {"groups": 4, "active_groups": 2, "group_best": 3},
            "group_best = 3, but a group has 2 experts; lower it",
        ),
    ],
    ids=["active", "groups", "active groups", "room", "best"],
)
def test_numbers_that_do_not_fit_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        parse(ExpertsConfig, settings)


def test_widths_that_are_not_said_make_the_active_experts_as_large_as_one_network() -> None:
    settled = parse(ExpertsConfig, {"active": 3, "shared": 1}).settled(96)
    assert (settled.width, settled.dense_width) == (64, 256)
    first = parse(ExpertsConfig, {"dense": 1}).settled(96)
    assert type(first.at_layer(0).build(96, 0.0)) is GatedFeedForward
    assert type(first.at_layer(1).build(96, 0.0)) is Experts
