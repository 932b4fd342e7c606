"""What must be true of every family as a body that heads of tasks stand on."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.core.inputs import Inputs
from regard.core.seams import Body
from regard.layers.headed import Headed, TokenHead, without_writing
from tests.laws.families import DecoderOnly
from tests.laws.subjects import ENCODERS, SUBJECTS, SYMBOLS, Subject

TOKENS_BS = torch.tensor([[5, 9, 4, 8, 2, 0, 0], [7, 12, 8, 10, 6, 11, 2], [11, 3, 2, 0, 0, 0, 0]])
LENGTHS_B = torch.tensor([5, 7, 3])
BEYOND_BS = torch.arange(7) >= LENGTHS_B[:, None]
BODIES = [subject for subject in (*SUBJECTS, *ENCODERS) if isinstance(subject.build(), Body)]

every_body = pytest.mark.parametrize("subject", BODIES, ids=lambda subject: subject.name)


def states(model: Any, tokens_BS: Tensor = TOKENS_BS, lengths_B: Tensor = LENGTHS_B) -> Tensor:
    with torch.no_grad():
        return model.represent(Inputs(tokens_BS, lengths_B)).x_BND


def test_every_shipped_family_is_a_body() -> None:
    others = [subject.name for subject in (*SUBJECTS, *ENCODERS) if subject not in BODIES]
    built = [subject.build() for subject in (*SUBJECTS, *ENCODERS) if subject.name in others]
    assert all(isinstance(model, DecoderOnly) or type(model).__module__.startswith("tests") for model in built), others


@every_body
def test_it_says_how_wide_its_states_are(subject: Subject) -> None:
    model: Any = subject.build()
    assert states(model).shape == (3, 7, model.width)


@every_body
def test_padding_has_no_influence(subject: Subject) -> None:
    model = subject.build()
    other_BS = torch.where(BEYOND_BS, torch.randint_like(TOKENS_BS, 3, SYMBOLS), TOKENS_BS)
    torch.testing.assert_close(states(model, other_BS)[~BEYOND_BS], states(model)[~BEYOND_BS])


@every_body
def test_batched_equals_alone(subject: Subject) -> None:
    model = subject.build()
    together = states(model)
    for row, length in enumerate(LENGTHS_B.tolist()):
        alone = states(model, TOKENS_BS[row : row + 1, :length], LENGTHS_B[row : row + 1])
        torch.testing.assert_close(together[row : row + 1, :length], alone, atol=1e-5, rtol=1e-5)


@every_body
def test_its_sight_is_what_it_declares(subject: Subject) -> None:
    """Another last token: with sight on both sides the first state may change, else it must not."""
    model: Any = subject.build()
    other_BS = TOKENS_BS.clone()
    other_BS[1, 3] = 4
    before, after = states(model)[1], states(model, other_BS)[1]
    changed = (before - after).abs().amax(dim=-1) > 1e-7
    assert changed[3]
    if model.causal:
        assert not changed[:3].any()
    else:
        assert changed[2], "a neighbour on its left does not see it"


@every_body
def test_what_it_reads_with_is_all_that_reading_needs(subject: Subject) -> None:
    """Without the rest the states are the same, every weight that is left is used, and none of the rest is kept."""
    whole: Any = subject.build()
    body = without_writing(copy.deepcopy(whole))
    assert torch.equal(states(body), states(whole))
    model = Headed(body, TokenHead(whole.width, 3, 0.0)).train()
    model(Inputs(TOKENS_BS, LENGTHS_B)).square().sum().backward()
    idle = [name for name, weight in model.named_parameters() if weight.grad is None]
    assert [name for name in idle if "pooler" not in name and "recompute" not in name] == []
    assert not hasattr(body, "head")


def test_a_stranger_that_names_no_reading_part_is_refused() -> None:
    with pytest.raises(Exception, match="is no body that a head can stand on"):
        without_writing(nn.Linear(2, 2))
