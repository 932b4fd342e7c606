"""Reversible layers: gradients are those of the plain way, dropout included, and memory does not grow with depth."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from regard.core.config import parse
from regard.core.errors import RecipeError
from regard.core.ports import text_ports
from regard.inspection.attention_costs.peak_memory import memory_of
from regard.layers.reversible import ReversibleStack, random_state
from regard.runs.recipe import Recipe

PORTS = text_ports(17, 17, shared=True)


def made(**changes: Any) -> Any:
    torch.manual_seed(1)
    table = {"kind": "gpt", "residual": "reversible", "layers": 3, "width": 12, "heads": 3, "dropout": 0.3,
             "position": {"kind": "relative-bias"}, **changes}  # fmt: skip
    model = parse(Recipe, {"model": table}).model.build(PORTS)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.2 * torch.randn_like(weight))
    return model


def gradients(model: Any, tokens_BT: torch.Tensor) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Of a random product with the logits; the draws of dropout are always the same."""
    model.zero_grad()
    torch.manual_seed(7)
    logits_BTW = model.head(model(tokens_BT))
    pull = torch.randn(logits_BTW.shape, generator=torch.Generator().manual_seed(3))
    (logits_BTW * pull).sum().backward()
    return logits_BTW.detach(), {name: weight.grad.clone() for name, weight in model.named_parameters()}


def test_gradients_are_those_of_states_that_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokens_BT = made().train(), torch.randint(17, (2, 7))
    found, ours = gradients(model, tokens_BT)

    def kept(self: Any, x_RTJ: Any, mask: Any, lengths_R: Any) -> Any:
        for layer in self.layers:
            x_RTJ = layer(x_RTJ, mask, self.position, None, lengths_R)
        return x_RTJ

    monkeypatch.setattr(ReversibleStack, "_reversibly", kept)
    expected, theirs = gradients(model, tokens_BT)
    torch.testing.assert_close(found, expected)
    assert set(ours) == set(theirs)
    for name, gradient in theirs.items():
        torch.testing.assert_close(ours[name], gradient, atol=1e-4, rtol=1e-3, msg=name)
        assert gradient.abs().max() > 0, name


def test_random_numbers_go_on_as_if_nothing_was_made_again() -> None:
    model, tokens_BT = made().train(), torch.randint(17, (2, 7))
    loss = model(tokens_BT).sum()
    before, _ = random_state(torch.device("cpu"))
    loss.backward()
    assert torch.equal(random_state(torch.device("cpu"))[0], before)


def test_frozen_weights_have_no_gradient() -> None:
    model = made().train()
    model.stack.layers[1].requires_grad_(False)
    model(torch.randint(17, (2, 7))).sum().backward()
    assert all(weight.grad is None for weight in model.stack.layers[1].parameters())
    assert all(weight.grad is not None for weight in model.stack.layers[0].parameters())


def test_memory_does_not_grow_with_depth() -> None:
    """Beyond the gradients: ten layers more would keep ten times what two keep."""
    tokens_BT = torch.randint(17, (4, 64))
    peaks: dict[tuple[str, int], int] = {}
    for residual in ("pre", "reversible"):
        for layers in (2, 12):
            model = made(residual=residual, layers=layers, width=48).train()
            weights = sum(weight.nbytes for weight in model.parameters())
            _, taken = memory_of(lambda: model(tokens_BT).sum().backward(), torch.device("cpu"))  # noqa: B023
            peaks[residual, layers] = taken.peak - weights
    grown = {residual: peaks[residual, 12] - peaks[residual, 2] for residual in ("pre", "reversible")}
    assert grown["reversible"] < 0.15 * grown["pre"]


def test_experts_are_refused() -> None:
    with pytest.raises(RecipeError, match=r'residual = "reversible" throws away what feed_forward\.kind = .experts.'):
        made(feed_forward={"kind": "experts", "experts": 4})
    with pytest.raises(RecipeError, match='choose residual = "pre"'):
        made(kind="llama", feed_forward={"kind": "experts", "experts": 4})
