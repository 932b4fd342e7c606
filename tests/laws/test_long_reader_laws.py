"""What must be true of every model that reads a text part by part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.core.errors import RecipeError
from regard.core.inputs import Inputs
from regard.core.seams import Body
from tests.laws.overfitting import check_overfits
from tests.laws.saving import check_saved_and_loaded
from tests.laws.subjects import LONG_READERS, PORTS, SYMBOLS, Subject, close

TOKENS_BS = torch.tensor([[1, 5, 9, 4, 2, 0, 0, 0], [1, 7, 12, 8, 10, 6, 4, 2], [1, 11, 2, 0, 0, 0, 0, 0]])
LENGTHS_B = torch.tensor([5, 8, 3])
BEYOND_BS = torch.arange(8) >= LENGTHS_B[:, None]

every_reader = pytest.mark.parametrize("subject", LONG_READERS, ids=lambda subject: subject.name)


def states(model: Any, tokens_BS: Tensor = TOKENS_BS, lengths_B: Tensor = LENGTHS_B) -> Tensor:
    with torch.no_grad():
        return model.represent(Inputs(tokens_BS, lengths_B)).x_BND


@every_reader
def test_padding_is_invisible_and_batched_equals_alone(subject: Subject) -> None:
    model = subject.build()
    assert isinstance(model, Body)
    before = states(model)
    other_BS = torch.where(BEYOND_BS, torch.randint_like(TOKENS_BS, 3, SYMBOLS), TOKENS_BS)
    assert torch.equal(states(model, other_BS)[~BEYOND_BS], before[~BEYOND_BS])
    for row, length in enumerate(LENGTHS_B.tolist()):
        alone = states(model, TOKENS_BS[row : row + 1, :length], LENGTHS_B[row : row + 1])
        close(before[row : row + 1, :length], alone)
    assert bool(before.isfinite().all())


@every_reader
def test_every_position_knows_of_every_other(subject: Subject) -> None:
    """Past and future alike, of its own text alone, also from part to part."""
    model = subject.build()
    before = states(model)
    for position in range(8):
        changed_BS = TOKENS_BS.clone()
        changed_BS[1, position] = 3
        moved_BS = (states(model, changed_BS) - before).abs().amax(-1)
        assert (moved_BS[1] > 1e-6).all()
        assert not moved_BS[[0, 2]].any()


@every_reader
def test_which_part_a_token_is_in_is_known(subject: Subject) -> None:
    model = subject.build(noise=2.0)  # with small weights summaries are read evenly, wherever they stand
    part = int(subject.table["part"])
    swapped_BS = TOKENS_BS.clone()
    swapped_BS[1, :part], swapped_BS[1, part : 2 * part] = TOKENS_BS[1, part : 2 * part], TOKENS_BS[1, :part]
    moved = (states(model, swapped_BS)[1, 2 * part :] - states(model)[1, 2 * part :]).abs().amax()
    assert moved > 1e-5


@every_reader
def test_saved_and_loaded_is_the_same(subject: Subject, tmp_path: Path) -> None:
    check_saved_and_loaded(subject.build(seed=1), subject.build(seed=2), states, tmp_path / "weights")


@every_reader
def test_one_batch_can_be_overfitted(subject: Subject) -> None:
    """What is asked at the first token stands in the last part."""
    torch.manual_seed(1)
    model: Any = subject.build(noise=0.0)
    head = torch.nn.Linear(12, SYMBOLS)
    tokens_BS = torch.tensor([[1, 5, 5, 5, 5, 5, 5, last] for last in (4, 7, 9)])

    def loss() -> Tensor:
        first_BD = model.represent(Inputs(tokens_BS, torch.tensor([8, 8, 8]))).x_BND[:, 0]
        return torch.nn.functional.cross_entropy(head(first_BD), tokens_BS[:, -1])

    check_overfits([*model.parameters(), *head.parameters()], 300, loss)


def test_positions_that_are_fewer_than_a_part_has_are_refused() -> None:
    places = {"kind": "learned", "max_length": 32}
    table = {"kind": "hierarchical", "part": 64, "width": 12, "heads": 3, "position": places}
    with pytest.raises(RecipeError, match=r"model\.part = 64 tokens are read together, and .* has 32 places"):
        Subject("short", table).config.build(PORTS)
