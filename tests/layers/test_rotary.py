"""Rotary frequencies by hand, stretched or not, and the fast turning against the plain one."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from regard.core.config import parse, to_toml
from regard.core.errors import RecipeError
from regard.layers.positions import Rotary, RotaryConfig
from regard.layers.rotary import (
    linear_frequencies,
    llama3_frequencies,
    rotary_frequencies,
    rotate_complex,
    rotate_pairs,
    unscaled,
    yarn_frequencies,
)


def test_frequencies_by_hand() -> None:
    assert rotary_frequencies(4, 100.0).tolist() == pytest.approx([1.0, 0.1])
    assert torch.equal(unscaled(rotary_frequencies(4, 100.0)), rotary_frequencies(4, 100.0))
    assert linear_frequencies(torch.tensor([1.0, 0.5]), 4.0).tolist() == [0.25, 0.125]


def test_only_slow_frequencies_are_divided() -> None:
    turns = torch.tensor([9.0, 4.0, 2.5, 1.0, 0.3])  # in a first training of 64 positions
    scaled = llama3_frequencies(turns * 2 * math.pi / 64, factor=8.0, low=1.0, high=4.0, trained=64)
    shares = (scaled / (turns * 2 * math.pi / 64)).tolist()
    assert shares == pytest.approx([1.0, 1.0, 0.5 / 8 + 0.5, 1 / 8, 1 / 8])


def test_yarn_divides_the_slow_ones_by_the_numbers_of_their_pairs() -> None:
    """Eight pairs, base 10,000, 64 positions: 4 turns at pair 8 ln(64 / 8π) / ln 10⁴ = 0.81, 0.5 at 2.62; so 0 to 3."""
    frequencies_C = rotary_frequencies(16, 10000.0)
    scaled = yarn_frequencies(frequencies_C, 10000.0, factor=8.0, fast=4.0, slow=0.5, trained=64)
    shares = (scaled / frequencies_C).tolist()
    assert shares == pytest.approx([1.0, 1 / 24 + 2 / 3, 2 / 24 + 1 / 3, *[1 / 8] * 5], rel=1e-5)


def test_yarn_makes_queries_and_keys_longer() -> None:
    x_BHTK = torch.randn(1, 2, 5, 6)
    for length, expected in ((0.0, 0.1 * math.log(4.0) + 1), (1.3, 1.3)):
        scaling = {"kind": "yarn", "factor": 4.0, "length": length}
        rotary: Any = parse(RotaryConfig, {"scaling": scaling}).build(12, 2)
        turned = rotary.rotate(x_BHTK)
        assert torch.allclose(turned.norm(dim=-1), expected * x_BHTK.norm(dim=-1), atol=1e-5)
        slowly = expected * rotate_pairs(x_BHTK, rotary.angles(5, 6, x_BHTK.device))
        assert torch.allclose(turned, slowly, atol=1e-5)


@pytest.mark.parametrize("kind", ["none", "linear", "llama3", "yarn"])
def test_a_scaling_is_a_choice_of_a_recipe(kind: str) -> None:
    config = parse(RotaryConfig, {"base": 500.0, "scaling": {"kind": kind}})
    assert f'kind = "{kind}"' in to_toml(config)
    angles_TC = config.build(40, 5).angles(7, 16, torch.device("cpu"))  # type: ignore[operator]
    expected = config.scaling.scale(rotary_frequencies(16, 500.0), 500.0)  # type: ignore[attr-defined]
    assert torch.equal(angles_TC[3], 3 * expected)
    assert RotaryConfig().scaling.kind == "none"


def test_scalings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(RecipeError, match=r"scaling.factor: Input should be greater than 0"):
        parse(RotaryConfig, {"scaling": {"kind": "linear", "factor": 0.0}})
    with pytest.raises(RecipeError, match=r"low is 4.0 and high 4.0; low must be the lower one"):
        parse(RotaryConfig, {"scaling": {"kind": "llama3", "low": 4.0}})
    with pytest.raises(RecipeError, match=r"scaling.kind: unknown scaling kind 'longrope'"):
        parse(RotaryConfig, {"scaling": {"kind": "longrope"}})
    with pytest.raises(RecipeError, match=r"slow is 32.0 and fast 32.0; slow must be the lower one"):
        parse(RotaryConfig, {"scaling": {"kind": "yarn", "slow": 32.0}})


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_turning_is_rotating_pairs(dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    angles_TC = torch.arange(7).float()[:, None] * rotary_frequencies(10, 10000.0)
    turns_TC = torch.polar(torch.ones_like(angles_TC), angles_TC)
    turns_TC = turns_TC.to(torch.complex128) if dtype == torch.float64 else turns_TC
    wide = torch.randn(2, 7, 3 * 10 + 1, dtype=dtype)
    crooked = wide[..., 1:].unflatten(-1, (3, 10)).transpose(1, 2)  # rows of odd length that begin at an odd place
    spread = torch.randn(2, 3, 10, 7, dtype=dtype).transpose(-1, -2)
    for x_BHTK in (torch.randn(2, 3, 7, 10, dtype=dtype), crooked, spread):
        turned = rotate_complex(x_BHTK, turns_TC)
        assert turned.dtype == dtype
        exact = rotate_pairs(x_BHTK.double(), angles_TC.double())
        tolerance = {torch.float64: 1e-6, torch.float32: 1e-5}.get(dtype, 2e-2)
        assert torch.allclose(turned.double(), exact, atol=tolerance)


def test_turns_are_kept_and_grow() -> None:
    rotary, x_BHTK = Rotary(), torch.randn(1, 2, 5, 6)
    first = rotary.rotate(x_BHTK)
    held = rotary.turns(5, x_BHTK)
    assert rotary.turns(64, x_BHTK) is held
    far = rotary.rotate(x_BHTK, 1000)
    angles_TC = torch.arange(1000, 1005).float()[:, None] * rotary_frequencies(6, 10000.0)
    assert torch.allclose(far, rotate_pairs(x_BHTK, angles_TC), atol=1e-5)
    assert torch.equal(rotary.rotate(x_BHTK), first)
    assert not rotary.state_dict()


def test_turns_kept_from_decoding_serve_training() -> None:
    rotary, x_BHTK = Rotary(), torch.randn(1, 2, 5, 6, requires_grad=True)
    with torch.inference_mode():
        rotary.rotate(x_BHTK.detach())
    rotary.rotate(x_BHTK).square().sum().backward()
    assert x_BHTK.grad is not None
    assert torch.allclose(x_BHTK.grad, 2 * x_BHTK.detach(), atol=1e-5), "a turn keeps every length"
