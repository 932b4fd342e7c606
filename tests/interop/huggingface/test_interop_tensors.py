"""Shapings by hand, and the law that what is joined can be parted again, also without contents."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from regard.interop.huggingface.tensors import (
    Flattened,
    Halved,
    HalvedBias,
    Interleaved,
    PairedHalves,
    Pairing,
    Row,
    Same,
    Shaping,
    Stacked,
    Transposed,
)
from regard.layers.positions import sinusoids

SHAPINGS: dict[str, tuple[Shaping, tuple[Tensor, ...]]] = {
    "same": (Same(), (torch.randn(3, 5),)),
    "transposed": (Transposed(), (torch.randn(3, 5),)),
    "paired halves": (PairedHalves(3), (torch.randn(3 * 14, 5),)),
    "paired halves of a bias": (PairedHalves(3), (torch.randn(3 * 14),)),
    "rows taking turns": (Interleaved(0), (torch.randn(7, 5),)),
    "columns taking turns": (Interleaved(1), (torch.randn(3, 6),)),
    "row": (Row(), (torch.randn(1, 5),)),
    "row of a row": (Row(axes=2), (torch.randn(1, 1, 5),)),
    "flattened": (Flattened((2, 5)), (torch.randn(7, 3, 2, 5),)),
    "halved": (Halved(), (torch.randn(3, 5), torch.randn(3, 5))),
    "stacked": (
        Stacked((6, 4, 7), (PairedHalves(3), PairedHalves(1), Same())),
        (torch.randn(6, 5), torch.randn(4, 5), torch.randn(7, 5)),
    ),
}


@pytest.mark.parametrize(("shaping", "theirs"), SHAPINGS.values(), ids=SHAPINGS.keys())
def test_what_is_joined_can_be_parted(shaping: Shaping, theirs: tuple[Tensor, ...]) -> None:
    ours = shaping.join(theirs)
    assert all(torch.equal(one, again) for one, again in zip(theirs, shaping.part(ours), strict=True))
    assert torch.equal(shaping.join(shaping.part(ours)), ours)
    hollow = shaping.part(ours.to("meta"))
    assert [one.shape for one in hollow] == [one.shape for one in theirs]


def test_halves_become_pairs_within_each_head() -> None:
    rows = torch.arange(8.0)[:, None]  # two heads of four rows
    assert PairedHalves(2).join([rows]).flatten().tolist() == [0, 2, 1, 3, 4, 6, 5, 7]
    assert Transposed().join([torch.tensor([[1.0, 2.0, 3.0]])]).tolist() == [[1.0], [2.0], [3.0]]


def test_two_heads_averaged_are_one_on_both_states() -> None:
    first, second = (torch.randn(3, 5), torch.randn(3, 5))
    one_bias, other_bias = torch.randn(3), torch.randn(3)
    states_22, both = torch.randn(2, 5), Halved().join([first, second])
    averaged = (first @ states_22[0] + one_bias + second @ states_22[1] + other_bias) / 2
    bias = HalvedBias().join([one_bias, other_bias])
    assert torch.allclose(both @ states_22.flatten() + bias, averaged, atol=1e-6)
    parts = HalvedBias().part(bias)
    assert torch.equal(HalvedBias().join(parts), bias)
    assert [one.shape for one in HalvedBias().part(bias.to("meta"))] == [(3,), (3,)]


def test_a_pairing_inside_a_model() -> None:
    inner = Pairing("project", ("q", "k"), Stacked((1, 1), (Same(), Same())))
    assert inner.inside("layers.2.", "model.h.2.") == Pairing(
        "layers.2.project", ("model.h.2.q", "model.h.2.k"), inner.shaping
    )


def test_sines_and_cosines_take_turns() -> None:
    assert Interleaved(0).join([torch.arange(5)]).tolist() == [0, 3, 1, 4, 2]
    angles_SC = torch.arange(4)[:, None] / 10000 ** (torch.arange(3) / 3)
    halves_SD = torch.cat((angles_SC.sin(), angles_SC.cos()), dim=1)
    assert torch.allclose(Interleaved(1).join([halves_SD]), sinusoids(torch.arange(4), 6), atol=1e-6)
