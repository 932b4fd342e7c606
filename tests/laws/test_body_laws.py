"""What must be true of every family as a body that heads of tasks stand on."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.core.inputs import Inputs, States
from regard.core.ports import INPUT, Arrays, Nodes
from regard.core.seams import Body
from regard.layers.headed import Headed, TokenHead, without_decoder
from tests.laws.families import DecoderOnly
from tests.laws.subjects import ARRAY_READERS, ENCODERS, GRAPH_READERS, SUBJECTS, SYMBOLS, Subject


def graphs(lengths: tuple[int, ...]) -> Inputs:
    """A ring with a chord each, its nodes in any order, and two numbers for every two nodes."""
    generator, most = torch.Generator().manual_seed(5), max(lengths)
    edges_BNN = torch.zeros(len(lengths), most, most, dtype=torch.bool)
    for row, length in enumerate(lengths):
        order = torch.randperm(length, generator=generator)
        edges_BNN[row, order, order.roll(1)] = True
        edges_BNN[row, order[0], order[2]] = True
    pairs = torch.randn(len(lengths), most, most, 2, generator=generator)
    return Inputs(
        torch.randn(len(lengths), most, 5, generator=generator), torch.tensor(lengths),
        edges_M3=(edges_BNN | edges_BNN.mT).nonzero(), pairs_BNNC=pairs + pairs.transpose(1, 2),
    )  # fmt: skip


TEXTS = Inputs(
    torch.tensor([[5, 9, 4, 8, 2, 0, 0], [7, 12, 8, 10, 6, 11, 2], [11, 3, 2, 0, 0, 0, 0]]), torch.tensor([5, 7, 3])
)
SERIES = Inputs(torch.randn(3, 2, 8, generator=torch.Generator().manual_seed(7)), torch.tensor([5, 8, 3]))
PICTURES = Inputs(torch.randn(3, 2, 6, 4, generator=torch.Generator().manual_seed(8)))
GRAPHS = graphs((5, 7, 3))
EVERY = (*SUBJECTS, *ENCODERS, *ARRAY_READERS, *GRAPH_READERS)
BODIES = [subject for subject in EVERY if isinstance(subject.build(), Body)]

every_body = pytest.mark.parametrize("subject", BODIES, ids=lambda subject: subject.name)


def inputs_of(subject: Subject) -> Inputs:
    """Three of what it reads; the last axis of their values is that of tokens, steps or columns, but for graphs, whose
    nodes stand along the second."""
    port = subject.ports[INPUT]
    if isinstance(port, Nodes):
        return GRAPHS if port.pairs else replace(GRAPHS, pairs_BNNC=None)
    if isinstance(port, Arrays):
        return SERIES if len(port.shape) == 1 else PICTURES
    return TEXTS


def node_axis(inputs: Inputs) -> int:
    """Along which axis of the values the positions stand."""
    return -1 if inputs.edges_BNN is None else 1


def states(model: Any, inputs: Inputs) -> States:
    with torch.no_grad():
        return model.represent(inputs)


def real(found: States) -> Tensor:
    """real_BN: which positions are not padding."""
    rows, positions, _ = found.x_BND.shape
    if found.lengths_B is None:
        return torch.ones(rows, positions, dtype=torch.bool)
    return torch.arange(positions) < found.lengths_B[:, None]


def padded_otherwise(inputs: Inputs) -> Inputs:
    """Other values behind the end of each input."""
    values, axis = inputs.values, node_axis(inputs)
    beyond_BN = torch.arange(values.shape[axis]) >= inputs.real_lengths_B[:, None]
    beyond = beyond_BN.view(len(values), *[1] * (values.dim() - 2), -1).transpose(-1, axis)
    others = torch.randn_like(values) if values.is_floating_point() else torch.randint_like(values, 3, SYMBOLS)
    changed = replace(inputs, values=torch.where(beyond, others, values))
    if inputs.edges_BNN is None:
        return changed
    outside_BNN = beyond_BN[:, :, None] | beyond_BN[:, None]
    pairs = inputs.pairs_BNNC
    return replace(
        changed, edges_M3=(inputs.edges_BNN | outside_BNN).nonzero(),
        pairs_BNNC=None if pairs is None else torch.where(outside_BNN[..., None], torch.randn_like(pairs), pairs),
    )  # fmt: skip


def alone(inputs: Inputs, row: int) -> Inputs:
    """One of them, without padding."""
    own = inputs.values[row : row + 1]
    if inputs.lengths_B is None:
        return Inputs(own)
    length = int(inputs.lengths_B[row])
    short = own.narrow(node_axis(inputs), 0, length)
    if inputs.edges_BNN is None:
        return Inputs(short, inputs.lengths_B[row : row + 1])
    pairs = inputs.pairs_BNNC
    return Inputs(
        short, inputs.lengths_B[row : row + 1], edges_M3=inputs.edges_BNN[row : row + 1, :length, :length].nonzero(),
        pairs_BNNC=None if pairs is None else pairs[row : row + 1, :length, :length],
    )  # fmt: skip


def test_every_shipped_family_is_a_body() -> None:
    others = [subject.name for subject in EVERY if subject not in BODIES]
    built = [subject.build() for subject in EVERY if subject.name in others]
    assert all(isinstance(model, DecoderOnly) or type(model).__module__.startswith("tests") for model in built), others


@every_body
def test_it_says_how_wide_its_states_are(subject: Subject) -> None:
    model: Any = subject.build()
    inputs = inputs_of(subject)
    found = states(model, inputs)
    assert found.x_BND.shape[::2] == (3, model.width)
    if inputs is TEXTS:
        assert found.x_BND.shape[1] == 7
        assert found.lengths_B is TEXTS.lengths_B
    assert not model.max_length or found.x_BND.shape[1] <= model.max_length


@every_body
def test_padding_has_no_influence(subject: Subject) -> None:
    model, inputs = subject.build(), inputs_of(subject)
    found = states(model, inputs)
    other = states(model, inputs if inputs.lengths_B is None else padded_otherwise(inputs))
    torch.testing.assert_close(other.x_BND[real(other)], found.x_BND[real(found)])


@every_body
def test_batched_equals_alone(subject: Subject) -> None:
    model, inputs = subject.build(), inputs_of(subject)
    together = states(model, inputs)
    for row in range(3):
        single = states(model, alone(inputs, row))
        own = together.x_BND[row][real(together)[row]]
        torch.testing.assert_close(own, single.x_BND[0], atol=1e-5, rtol=1e-5)


@every_body
def test_rows_without_padding_need_no_lengths(subject: Subject) -> None:
    model, inputs = subject.build(), alone(inputs_of(subject), 1)
    found = states(model, replace(inputs, lengths_B=None))
    assert found.lengths_B is None
    torch.testing.assert_close(found.x_BND, states(model, inputs).x_BND, atol=1e-5, rtol=1e-5)


@every_body
def test_it_sees_what_it_declares(subject: Subject) -> None:
    """Another token in the middle, or another end of an array: a causal body changes no earlier state, any other its
    left neighbour's."""
    model: Any = subject.build()
    inputs = alone(inputs_of(subject), 1)
    values, axis = inputs.values.clone(), node_axis(inputs)
    place = 3 if axis == 1 or not values.is_floating_point() else -1
    values.select(axis, place).sub_(2 if axis == -1 else torch.arange(5.0))
    before, after = states(model, inputs).x_BND[0], states(model, replace(inputs, values=values)).x_BND[0]
    changed = (before - after).abs().amax(dim=-1) > 1e-7
    assert changed[place]
    if model.causal:
        assert not changed[:place].any()
    else:
        beside = place - 1 if inputs.edges_BNN is None else int(inputs.edges_BNN[0, place].float().argmax())
        assert changed[beside], "a neighbour does not see it"


@every_body
def test_what_it_reads_with_is_all_that_reading_needs(subject: Subject) -> None:
    """Without the rest the states are the same, every weight that is left is used, and none of the rest is kept."""
    whole: Any = subject.build()
    inputs = inputs_of(subject)
    body = without_decoder(copy.deepcopy(whole))
    assert torch.equal(states(body, inputs).x_BND, states(whole, inputs).x_BND)
    model = Headed(body, TokenHead(whole.width, 3, 0.0)).train()
    model(inputs).square().sum().backward()
    idle = [name for name, weight in model.named_parameters() if weight.grad is None]
    assert [name for name in idle if "pooler" not in name and "recompute" not in name] == []
    assert not hasattr(body, "head")


def test_a_stranger_that_names_no_reading_part_is_refused() -> None:
    with pytest.raises(Exception, match="cannot take the head of a task"):
        without_decoder(nn.Linear(2, 2))
