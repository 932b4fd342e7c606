"""Optimisers against independent implementations, and their state through saving and loading."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.attention.heads import CrossAttention, HeadShape, SelfAttention
from regard.attention.softmax import ScaledDot
from regard.core.config import parse
from regard.core.ports import text_ports
from regard.layers.feed_forward import GatedFeedForward
from regard.models.transformer import TransformerConfig
from regard.training import OPTIMIZERS
from regard.training.muon import (
    POLYNOMIALS,
    Muon,
    MuonConfig,
    iterate_directly,
    iterate_on_gram,
    orthogonalise,
    stacked_parameters,
)
from regard.training.optimizers import AdamConfig, AdamWConfig, Optimizers


class Tiny(nn.Module):
    """A lookup, two matrices of one shape, one of another, and vectors."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 5)
        self.first = nn.Linear(5, 7)
        self.second = nn.Linear(5, 7)
        self.last = nn.Linear(7, 3)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        return self.last(torch.tanh(self.first(x)) * self.second(x))


def tiny() -> Tiny:
    torch.manual_seed(1)
    return Tiny()


def walk(model: nn.Module, optimizer: Any, steps: range) -> None:
    for step in steps:
        generator = torch.Generator().manual_seed(step)
        tokens = torch.randint(0, 11, (13,), generator=generator)
        target = torch.randn(13, 3, generator=generator)
        optimizer.zero_grad()
        (model(tokens) - target).square().sum().backward()
        optimizer.step()


def same(one: nn.Module, other: nn.Module, tolerance: float) -> bool:
    return all(
        torch.allclose(a, b, rtol=0, atol=tolerance) for a, b in zip(one.parameters(), other.parameters(), strict=True)
    )


def test_adam_equals_torchs_adam_with_the_papers_numbers() -> None:
    ours, theirs = tiny(), tiny()
    reference = torch.optim.Adam(theirs.parameters(), lr=0.01, betas=(0.9, 0.98), eps=1e-9)
    walk(ours, AdamConfig().build(ours, 0.01), range(20))
    walk(theirs, reference, range(20))
    assert same(ours, theirs, 1e-5)
    assert not same(ours, tiny(), 1e-2)


def test_adamw_equals_torchs_adamw() -> None:
    ours, theirs = tiny(), tiny()
    config = AdamWConfig(beta1=0.8, beta2=0.95, epsilon=1e-6, weight_decay=0.3)
    reference = torch.optim.AdamW(theirs.parameters(), lr=0.01, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.3)
    walk(ours, config.build(ours, 0.01), range(20))
    walk(theirs, reference, range(20))
    assert same(ours, theirs, 1e-5)


def test_adams_first_step_by_hand() -> None:
    model = nn.Linear(1, 1, bias=False)
    model.weight.data = torch.tensor([[3.0]])
    optimizers = AdamConfig().build(model, 0.25)
    model.weight.grad = torch.tensor([[-7.0]])
    optimizers.step()  # both moments are corrected to g and g²: a step of the rate against the sign
    assert model.weight.item() == pytest.approx(3.25)


@pytest.mark.parametrize("shape", [(3, 7, 7), (2, 5, 23), (2, 23, 5), (1, 64, 61)])
def test_orthogonalised_matrices_have_singular_values_near_one(shape: tuple[int, int, int]) -> None:
    torch.manual_seed(2)
    matrices_NAB = torch.randn(shape)
    found_NAB = orthogonalise(matrices_NAB)
    assert found_NAB.shape == shape
    values, before = torch.linalg.svdvals(found_NAB), torch.linalg.svdvals(matrices_NAB)
    clear = before > 0.02 * before.pow(8).sum(-1, keepdim=True) ** 0.125
    assert clear.float().mean() > 0.9
    assert bool(((values - 1).abs() < 0.1)[clear].all())  # singular vectors of nearly nothing stay small
    assert bool((values < 1.1).all())


def polynomial_on_singular_values(matrix_AB: Tensor) -> Tensor:
    """The same iteration, written as what it does to each singular value; singular vectors stay."""
    left, values, right = torch.linalg.svd(matrix_AB.double(), full_matrices=False)
    values = values / values.pow(8).sum() ** 0.125
    for a, b, c in POLYNOMIALS:
        values = a * values + b * values**3 + c * values**5
    return (left * values) @ right


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (7, 7)])
def test_orthogonalising_moves_singular_values_and_leaves_the_directions(shape: tuple[int, int]) -> None:
    torch.manual_seed(3)
    matrix_AB = torch.randn(shape)
    expected = polynomial_on_singular_values(matrix_AB)
    assert torch.allclose(orthogonalise(matrix_AB[None])[0].double(), expected, atol=1e-4)
    for size in (100, 1e-5):
        assert torch.allclose(orthogonalise(size * matrix_AB[None])[0].double(), expected, atol=1e-4)


@pytest.mark.parametrize("shape", [(13, 11), (13, 13), (7, 11)])
def test_both_ways_to_orthogonalise_agree(shape: tuple[int, int]) -> None:
    torch.manual_seed(7)
    matrices_NAB = torch.randn(3, *shape) / 10
    assert torch.allclose(iterate_on_gram(matrices_NAB), iterate_directly(matrices_NAB), atol=1e-4)


@pytest.mark.parametrize("shape", [(2, 32, 32), (2, 32, 80)])
def test_narrow_products_orthogonalise_nearly_as_well(shape: tuple[int, int, int]) -> None:
    torch.manual_seed(8)
    left, _, right = torch.linalg.svd(torch.randn(shape), full_matrices=False)
    matrices_NAB = left * torch.logspace(0, -1.5, 32) @ right  # singular values from 1 to 0.03
    with torch.autocast("cpu", torch.bfloat16):
        found_NAB = orthogonalise(matrices_NAB)
    assert found_NAB.dtype == torch.float32
    assert bool(((torch.linalg.svdvals(found_NAB) - 1).abs() < 0.25).all())  # 0.1 in wide numbers
    wide_NAB = orthogonalise(matrices_NAB)
    assert bool((torch.linalg.matrix_norm(found_NAB - wide_NAB) < 0.05 * torch.linalg.matrix_norm(wide_NAB)).all())


def test_singular_values_of_all_sizes_become_one() -> None:
    values = torch.logspace(-1.69, 0, 1000, dtype=torch.float64)
    for a, b, c in POLYNOMIALS:
        values = a * values + b * values**3 + c * values**5
    assert float((values - 1).abs().max()) < 0.1


def test_a_matrix_of_zeros_stays_one() -> None:
    assert not orthogonalise(torch.zeros(1, 3, 5)).any()


def test_two_muon_steps_by_hand() -> None:
    torch.manual_seed(4)
    start, gradients = torch.randn(3, 5), torch.randn(2, 3, 5)
    weight = nn.Parameter(start.clone())
    muon = Muon([weight], lr=0.1, momentum=0.75, weight_decay=0.5)
    expected, momentum = start.double(), torch.zeros(3, 5, dtype=torch.float64)
    for gradient in gradients:
        weight.grad = gradient.clone()
        muon.step()
        momentum = 0.75 * momentum + 0.25 * gradient
        direction = polynomial_on_singular_values(0.25 * gradient + 0.75 * momentum)  # Nesterov
        expected = expected * (1 - 0.1 * 0.5) - 0.1 * 0.2 * 5**0.5 * direction
        assert torch.allclose(weight.double(), expected, atol=1e-5)
    assert torch.allclose(muon.state[weight]["momentum"].double(), momentum, atol=1e-6)


def test_matrices_that_step_together_step_as_if_alone_and_those_without_gradient_rest() -> None:
    torch.manual_seed(5)
    starts = [torch.randn(3, 5), torch.randn(3, 5), torch.randn(5, 3), torch.randn(3, 5)]
    pulls = [torch.randn_like(start) for start in starts[:3]]

    def stepped(chosen: list[int]) -> list[Tensor]:
        weights = [nn.Parameter(starts[index].clone()) for index in chosen]
        for weight, index in zip(weights, chosen):
            weight.grad = pulls[index].clone() if index < 3 else None
        Muon(weights, lr=0.1, momentum=0.9, weight_decay=0.0).step()
        return [weight.detach() for weight in weights]

    together = stepped([0, 1, 2, 3])
    for index in range(3):
        assert torch.allclose(stepped([index])[0], together[index], atol=1e-6)
    assert torch.equal(together[3], starts[3])


def test_matrices_that_stand_on_one_another_step_as_if_each_were_alone() -> None:
    torch.manual_seed(6)
    gated = GatedFeedForward(4, 7, torch.relu)
    attention, cross = (kind(HeadShape(8, 4, groups=2), ScaledDot()) for kind in (SelfAttention, CrossAttention))
    model = nn.ModuleList([gated, attention, cross])
    for module, name, rows in (
        (gated, "inner", (7, 7)), (attention, "project", (8, 4, 4)), (cross, "project_memory", (4, 4))
    ):  # fmt: skip
        weight = module.get_submodule(name).weight
        weight.grad = torch.randn_like(weight)
        alone = [nn.Parameter(matrix.clone()) for matrix in weight.detach().split(rows)]
        for matrix, gradient in zip(alone, weight.grad.split(rows), strict=True):
            matrix.grad = gradient
        for matrices, stacked in ((alone, {}), ([weight], stacked_parameters(model))):
            Muon(matrices, lr=0.1, momentum=0.9, weight_decay=0.3, stacked=stacked).step()
        assert torch.allclose(weight, torch.cat(alone), atol=1e-6)


def test_muon_takes_the_matrices_inside_and_adamw_the_rest() -> None:
    config = {"encoder_layers": 1, "decoder_layers": 1, "width": 14, "heads": 2, "tied": "none"}
    model = parse(TransformerConfig, {**config, "position": {"kind": "relative-bias"}}).build(text_ports(17, 19))
    names = {weight: name for name, weight in model.named_parameters()}
    muon, adamw = MuonConfig(weight_decay=0.2, momentum=0.9, others=3.0).build(model, 0.5).members
    by_muon = {names[weight] for group in muon.param_groups for weight in group["params"]}
    by_adamw = {names[weight] for group in adamw.param_groups for weight in group["params"]}
    assert by_muon | by_adamw == set(names.values())
    assert not by_muon & by_adamw
    assert by_muon == {name for name in names.values() if name.endswith(".weight") and "norm" not in name} - {
        "source_embedding.weight", "target_embedding.weight", "head.weight",
    }  # fmt: skip
    assert {"encoder.position.bias_HC", "decoder.position.bias_HC"} <= by_adamw  # looked up, not multiplied
    assert (muon.param_groups[0]["lr"], muon.param_groups[0]["momentum"]) == (0.5, 0.9)
    assert adamw.param_groups[0]["lr"] == 1.5
    assert adamw.param_groups[0]["weight_decay"] == muon.param_groups[0]["weight_decay"] == 0.2


def test_frozen_weights_stay_where_they_are() -> None:
    for kind in OPTIMIZERS.kinds():
        model = tiny()
        model.first.requires_grad_(False)
        walk(model, OPTIMIZERS.resolve(kind)(kind=kind).build(model, 0.1), range(3))
        assert torch.equal(model.first.weight, tiny().first.weight)
        assert not torch.equal(model.second.weight, tiny().second.weight)


def test_scale_always_starts_from_the_base_rate() -> None:
    optimizers = MuonConfig().build(tiny(), 0.5)
    for factor in (0.1, 0.1, 2.0):
        optimizers.scale(factor)
        assert [group["lr"] for member in optimizers.members for group in member.param_groups] == [0.5 * factor] * 2


def built(kind: str) -> Callable[[nn.Module], Optimizers]:
    return lambda model: OPTIMIZERS.resolve(kind)(kind=kind).build(model, 0.05)


@pytest.mark.parametrize("kind", OPTIMIZERS.kinds())
def test_saved_and_restored_state_goes_on_to_the_bit(kind: str) -> None:
    model = tiny()
    optimizers = built(kind)(model)
    walk(model, optimizers, range(4))
    names = {weight: name for name, weight in model.named_parameters()}
    saved = {name: tensor.clone() for name, tensor in optimizers.tensors(names).items()}
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    walk(model, optimizers, range(4, 9))

    again = tiny()
    again.load_state_dict(weights)
    restored = built(kind)(again)
    restored.restore(saved, {weight: name for name, weight in again.named_parameters()})
    walk(again, restored, range(4, 9))
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))


def test_state_is_named_after_its_parameter() -> None:
    model = tiny()
    optimizers = MuonConfig().build(model, 0.05)
    names = {weight: name for name, weight in model.named_parameters()}
    assert optimizers.tensors(names) == {}
    walk(model, optimizers, range(1))
    found = optimizers.tensors(names)
    assert found["first.weight//momentum"].shape == (7, 5)
    assert found["embedding.weight//exp_avg_sq"].shape == (11, 5)
    assert found["first.bias//step"].item() == 1
    assert len(found) == 3 + 4 * 3  # a momentum for each matrix; two moments and a count for all else


@pytest.mark.parametrize("trained", ["weight", "bias"])
def test_muon_where_only_matrices_or_no_matrices_are_trained(trained: str) -> None:
    """Adapters are matrices alone, and the body under them is frozen."""
    model = nn.Linear(3, 5)
    for name, parameter in model.named_parameters():
        parameter.requires_grad = name == trained
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    optimizers = MuonConfig().build(model, 0.1)
    model(torch.ones(2, 3)).square().sum().backward()
    optimizers.scale(1.0)
    optimizers.step()
    moved = [name for name, parameter in model.named_parameters() if not torch.equal(parameter, before[name])]
    assert moved == [trained]
