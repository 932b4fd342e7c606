"""The rules by which numbers are chosen: known points, and that they grow and shrink with what they depend on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from regard.core import rules


@pytest.mark.parametrize("width, heads", [(16, 1), (64, 4), (128, 4), (192, 4), (256, 4), (512, 8), (768, 12)])
def test_heads_of_known_widths(width: int, heads: int) -> None:
    assert rules.heads(width) == heads


@given(some.integers(1, 2000))
def test_heads_always_divide_the_width(width: int) -> None:
    assert width % rules.heads(width) == 0


def test_hidden_widths() -> None:
    assert rules.hidden_width(128) == 512
    assert rules.gated_hidden_width(512) == 1368  # 8/3 of it, in eighths
    assert rules.gated_hidden_width(1) == 8


@given(some.integers(1, 10**7))
def test_a_warm_up_is_a_small_part_of_training(steps: int) -> None:
    assert 1 <= rules.warmup(steps) <= max(1, steps // 20)
    assert 1 <= rules.paper_warmup(steps) <= max(1, steps // 10)
    assert 1 <= rules.validate_every(steps) <= max(1, steps // 10)


def test_the_papers_training_has_the_papers_warm_up() -> None:
    assert rules.paper_warmup(100_000) == 4000


@given(some.floats(0.01, 1000), some.floats(0.01, 1000), some.integers(1, 10**9), some.integers(1, 10**9))
def test_dropout_grows_with_how_often_an_example_is_seen(one: float, other: float, size: int, data: int) -> None:
    fewer, more = sorted((one, other))
    assert 0 <= rules.dropout(fewer, size, data) <= rules.dropout(more, size, data) <= 0.4
    assert rules.dropout(min(fewer, 1), size, data) == 0
    assert rules.dropout(more, size, data) <= rules.dropout(more, 2 * size, data)


@pytest.mark.parametrize(
    "epochs, parameters, positions, good",
    [(33, 2_500_000, 450_000, 0.32), (7, 3_200_000, 1_000_000, 0.23), (10, 1_400_000, 1_050_000, 0.15)],
)
def test_dropout_of_known_trainings(epochs: float, parameters: int, positions: int, good: float) -> None:
    assert rules.dropout(epochs, parameters, positions) == pytest.approx(good, abs=0.011)


@given(some.integers(1, 10**6), some.integers(1, 600))
def test_a_batch_holds_several_examples_and_an_epoch_several_batches(examples: int, length: int) -> None:
    batch = rules.batch_tokens(examples, examples * length)
    assert batch >= 8 * length
    assert batch <= max(8 * length, 2048)


@pytest.mark.parametrize(
    "words, distinct, length, kind",
    [(1, 50_000, 8.0, "character"), (9, 39, 1.6, "whitespace"), (20, 9000, 4.5, "bpe"), (20, 9000, 2.0, "bpe")],
)
def test_tokenizers_by_what_texts_consist_of(words: int, distinct: int, length: float, kind: str) -> None:
    assert rules.tokenizer_kind(words, distinct, length) == kind


@pytest.mark.parametrize("side, read", [(8, 8), (28, 28), (32, 32), (64, 64), (100, 52), (500, 64), (4000, 64)])
def test_large_pictures_are_read_smaller(side: int, read: int) -> None:
    assert rules.picture_side(side) == read


@given(some.integers(8, 4096))
def test_a_stem_leaves_few_positions_of_any_picture(side: int) -> None:
    read = rules.picture_side(side)
    channels, strides = rules.stem(read, 128)
    assert len(channels) == len(strides)
    for stride in strides:
        read = -(-read // stride)
    assert read <= 8


def test_reading_lengths() -> None:
    assert rules.reading_length(4, 0, 10_000) == 16
    assert rules.reading_length(42, 0, 10_000) == 64  # 1.39 tokens a word
    assert rules.reading_length(42, 0, 300) == 112  # 2.5: few pieces make short ones
    assert rules.reading_length(10_000, 0, 10_000) == 512
