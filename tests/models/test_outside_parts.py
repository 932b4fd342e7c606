"""Parts from outside inside the families of the house: networks, heads and mechanisms that they have never heard of."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.attention import AttentionContext, HeadsPart, MechanismPart
from regard.attention.heads import CrossAttention, HeadShape, SelfAttention
from regard.attention.softmax import ScaledDot
from regard.core.config import parse
from regard.core.errors import RecipeError
from regard.core.ports import text_ports
from regard.core.seams import Mechanism
from regard.layers import FeedForwardPart
from regard.runs.recipe import Recipe
from regard.training.muon import stacked_parameters

PORTS = text_ports(13, 13, shared=True)
TINY: dict[str, dict[str, Any]] = {
    "gpt": {"kind": "gpt", "layers": 3, "width": 8, "heads": 2, "position": {"kind": "learned", "max_length": 40}},
    "llama": {"kind": "llama", "layers": 3, "width": 8, "heads": 2, "groups": 1, "max_length": 30},
    "bert": {"kind": "bert", "layers": 3, "width": 8, "heads": 2, "position": {"kind": "learned", "max_length": 40}},
    "transformer": {
        "kind": "transformer", "encoder_layers": 3, "decoder_layers": 3, "width": 8, "heads": 2,
        "position": {"kind": "learned", "max_length": 40},
    },
}  # fmt: skip


def built(family: str, **parts: Any) -> Any:
    torch.manual_seed(1)
    model = parse(Recipe, {"model": {**TINY[family], **parts}}).model
    return model.build(PORTS).eval()


def read(model: Any) -> Tensor:
    tokens_BT, lengths_B = torch.arange(10).view(2, 5), torch.tensor([5, 5])
    kind = model.config.kind
    if kind == "transformer":
        return model(tokens_BT, lengths_B, tokens_BT)
    return model(tokens_BT, lengths_B) if kind == "bert" else model(tokens_BT)


class Quiet(nn.Module):
    """A network that says nothing about itself, and whose layers have names of their own."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.only = nn.Linear(width, width)

    def forward(self, x_BTD: Tensor) -> Tensor:
        return torch.tanh(self.only(x_BTD))


class QuietConfig(FeedForwardPart):
    def build(self, model_width: int, dropout: float) -> nn.Module:
        return Quiet(model_width)


class Speaking(Quiet):
    def residual_outputs(self) -> tuple[nn.Linear, ...]:
        return (self.only,)


class SpeakingConfig(FeedForwardPart):
    def build(self, model_width: int, dropout: float) -> nn.Module:
        return Speaking(model_width)


@pytest.mark.parametrize("family", list(TINY))
def test_a_network_that_says_nothing_about_itself_serves_every_family(family: str) -> None:
    model = built(family, feed_forward={"kind": f"{__name__}:QuietConfig"})
    assert bool(read(model).isfinite().all())
    assert any(isinstance(module, Quiet) for module in model.modules())


@pytest.mark.parametrize("family", ["gpt", "llama"])
def test_a_network_that_declares_what_it_writes_starts_smaller(family: str) -> None:
    def spread(kind: str) -> float:
        model = built(family, width=64, feed_forward={"kind": f"{__name__}:{kind}"})
        return float(model.stack.layers[0].feed_forward.only.weight.detach().std())

    assert spread("QuietConfig") / spread("SpeakingConfig") == pytest.approx(math.sqrt(2 * 3), rel=0.1)


class Told(ScaledDot):
    """Remembers what it was told when it was built."""

    def __init__(self, context: AttentionContext) -> None:
        super().__init__()
        self.context = context


class ToldConfig(MechanismPart):
    def build(self, context: AttentionContext) -> Mechanism:
        return Told(context)


def told(model: nn.Module) -> list[AttentionContext]:
    return [module.context for module in model.modules() if isinstance(module, Told)]


@pytest.mark.parametrize(("family", "causal", "longest"), [("gpt", True, 40), ("llama", True, 30), ("bert", False, 40)])
def test_a_mechanism_is_told_its_place(family: str, causal: bool, longest: int) -> None:
    found = told(built(family, attention={"kind": f"{__name__}:ToldConfig"}))
    assert found == [AttentionContext(4, 4, 2, longest, layer, 3, causal) for layer in range(3)]


def test_the_mechanisms_of_both_sides_are_told_their_places() -> None:
    model = built("transformer", attention={"kind": f"{__name__}:ToldConfig"}, decoder_layers=2, key_width=6)
    assert told(model.encoder) == [AttentionContext(6, 6, 2, 40, layer, 3) for layer in range(3)]
    assert told(model.decoder) == [
        AttentionContext(6, 6, 2, 40, layer, 2, causal) for layer in range(2) for causal in (True, False)
    ]


class SharedQueryKey(SelfAttention):
    """Queries and keys by one matrix (Kitaev et al. 2020): what is similar looks at one another."""

    def __init__(self, shape: HeadShape, mechanism: Mechanism, **options: Any) -> None:
        super().__init__(shape, mechanism, **options)
        _, keys, values = self.shape.splits
        self.project = nn.Linear(shape.width, keys + values)

    def projected(self, x_BTD: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        shared_BTJ, v_BTJ = self.project(x_BTD).split(self.shape.splits[1:], dim=-1)
        return shared_BTJ, shared_BTJ, v_BTJ

    def stacked_matrices(self) -> dict[Tensor, tuple[int, ...]]:
        return {self.project.weight: self.shape.splits[1:]}


class SharedQueryKeyConfig(HeadsPart):
    def self_attention(self, shape: HeadShape, mechanism: Mechanism, **options: Any) -> SelfAttention:
        return SharedQueryKey(shape, mechanism, **options)

    def cross_attention(self, shape: HeadShape, mechanism: Mechanism, **options: Any) -> CrossAttention:
        return CrossAttention(shape, mechanism, **options)


@pytest.mark.parametrize("family", ["gpt", "bert", "transformer"])
def test_heads_come_from_a_table(family: str) -> None:
    model = built(family, projection={"kind": f"{__name__}:SharedQueryKeyConfig"})
    assert bool(read(model).isfinite().all())
    own = [module for module in model.modules() if isinstance(module, SharedQueryKey)]
    assert own
    assert all(len(module.project.weight) == 16 for module in own)
    assert set(stacked_parameters(model).values()) == {(8, 8)}


def test_a_part_of_another_table_is_refused_with_the_base_that_is_needed() -> None:
    with pytest.raises(RecipeError, match=r"a subclass of regard\.attention\.MechanismPart is needed"):
        parse(Recipe, {"model": {**TINY["gpt"], "attention": {"kind": f"{__name__}:QuietConfig"}}})
