"""What must be true of every model that reads a text from both sides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention import softmax
from regard.attention.masks import padding
from regard.core.errors import NoMatrix
from regard.core.taps import attention_points, record
from regard.layers.embeddings import output_matrix, output_states
from regard.layers.vocabulary_loss import vocabulary_loss
from tests.laws.overfitting import check_overfits
from tests.laws.saving import check_saved_and_loaded
from tests.laws.subjects import ENCODERS, SYMBOLS, Subject, close

TOKENS_BS = torch.tensor([[1, 5, 9, 4, 2, 0, 0], [1, 7, 12, 8, 10, 6, 2], [1, 11, 2, 0, 0, 0, 0]])
LENGTHS_B = torch.tensor([5, 7, 3])
BEYOND_BS = torch.arange(7) >= LENGTHS_B[:, None]

pytestmark = pytest.mark.usefixtures("without_gradients")
every_encoder = pytest.mark.parametrize("subject", ENCODERS, ids=lambda subject: subject.name)


def logits(model: Any, tokens_BS: Tensor = TOKENS_BS, lengths_B: Tensor = LENGTHS_B) -> Tensor:
    return model.head(model(tokens_BS, lengths_B))


@every_encoder
def test_padding_is_invisible(subject: Subject) -> None:
    model = subject.build()
    before = logits(model)
    other_BS = torch.where(BEYOND_BS, torch.randint_like(TOKENS_BS, 3, SYMBOLS), TOKENS_BS)
    assert torch.equal(logits(model, other_BS)[~BEYOND_BS], before[~BEYOND_BS])


@every_encoder
def test_batched_equals_alone(subject: Subject) -> None:
    model = subject.build()
    together = logits(model)
    for row, length in enumerate(LENGTHS_B.tolist()):
        alone = logits(model, TOKENS_BS[row : row + 1, :length], LENGTHS_B[row : row + 1])
        close(together[row : row + 1, :length], alone)


@every_encoder
def test_every_position_reads_every_other(subject: Subject) -> None:
    """Past and future alike, of its own text alone."""
    model = subject.build()
    before = logits(model)
    for position in range(7):
        changed_BS = TOKENS_BS.clone()
        changed_BS[1, position] = 3
        moved_BS = (logits(model, changed_BS) - before).abs().amax(-1)
        assert (moved_BS[1] > 1e-6).all()  # over two layers, where one shows its neighbourhood alone
        assert not moved_BS[[0, 2]].any()


@every_encoder
def test_lengths_and_a_mask_say_the_same(subject: Subject) -> None:
    model: Any = subject.build()
    assert torch.equal(model(TOKENS_BS, padding(LENGTHS_B, 7)), model(TOKENS_BS, LENGTHS_B))


@every_encoder
def test_saved_and_loaded_is_the_same(subject: Subject, tmp_path: Path) -> None:
    check_saved_and_loaded(subject.build(seed=1), subject.build(seed=2), logits, tmp_path / "weights")


@every_encoder
def test_one_batch_can_be_overfitted(subject: Subject) -> None:
    """Behind every mask another word; only what stands around tells which."""
    model: Any = subject.build(noise=0.0)
    shown_BS, answers_N = TOKENS_BS.clone(), TOKENS_BS[:, 1]
    shown_BS[:, 1] = 3

    def loss() -> Tensor:
        states_ND = model.head.transform(model(shown_BS, LENGTHS_B)[:, 1])
        matrix_WD = output_matrix(model.head.words)
        return vocabulary_loss(output_states(model.head.words, states_ND), matrix_WD, answers_N).smoothed / 3

    check_overfits(model.parameters(), 200, loss)


@every_encoder
def test_fused_equals_reference(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    model, found = subject.build(), []
    for limit in (0, 1 << 60):
        monkeypatch.setattr(softmax, "PLAIN_UP_TO_SCORES", limit)
        found.append(logits(model)[~BEYOND_BS])
    close(found[0], found[1])


@every_encoder
def test_taps_show_what_is_read_and_never_padding(subject: Subject) -> None:
    model = subject.build()
    with record(model, "*") as seen:
        logits(model)
    assert list(seen) == list(attention_points(model)) == ["layers.0.attention", "layers.1.attention"]
    for attention in seen.values():
        if not attention.mechanism.has_matrix:
            with pytest.raises(NoMatrix):
                _ = attention.weights
            continue
        weights_BHTS = attention.weights
        real_BTH = weights_BHTS.sum(-1).transpose(1, 2)[~BEYOND_BS]  # padding may see nothing at all
        close(real_BTH, torch.ones_like(real_BTH))
        assert not weights_BHTS.masked_select(BEYOND_BS[:, None, None, :]).any()
