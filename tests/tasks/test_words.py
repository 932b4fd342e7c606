"""Words to pieces and back: no word is lost or shifted, whatever it is made of and however long the sentence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from regard.data.modalities.text.tokenizers import Tokenizer
from regard.data.modalities.text.word_pieces import WordPieceTokenizer
from regard.tasks.spans.words import Pieces, all_windows, first_window, pieces_of, window_bounds
from tests.tokenizer_kinds import every_kind

TEXTS = ["the cat sleeps on mats that don't last", "a dog's tail, 12.5 long, is wagging"] * 3
PARTS = [*every_kind(300).values(), WordPieceTokenizer(vocabulary=90, min_frequency=1)]
TOKENIZERS = {part.kind: part.train(TEXTS) for part in PARTS}
STRANGE = ["\x00", "\u0301", "\u200d", "\u00a0", "\u3000", "日本", "▁", "##s", "[CLS]", "<eos>",
           "é", "İ", "ﬁ", "👩‍👩‍👧", "-"]  # fmt: skip
WORDS = some.lists(
    some.one_of(some.sampled_from(["the", "cat", "don't", "New York", *STRANGE]), some.text(min_size=1, max_size=6)),
    max_size=12,
)


def spoken(tokenizer: Tokenizer, words: list[str], tagged_piece: str = "first") -> list[str]:
    """The piece that speaks for each word; nothing for words without one."""
    (made,) = pieces_of(tokenizer, [words], tagged_piece)  # type: ignore[arg-type]
    return [tokenizer.token(int(made.ids[place])) if place >= 0 else "" for place in made.tagged_N]


def test_a_word_speaks_with_its_first_or_its_last_piece() -> None:
    words = ["cat", "wagging", "the", "dogs"]
    assert spoken(TOKENIZERS["byte"], words) == ["c", "w", "t", "d"]
    assert spoken(TOKENIZERS["byte"], words, "last") == ["t", "g", "e", "s"]
    assert spoken(TOKENIZERS["word"], words) == ["▁cat", "▁wagging", "▁the", "<unk>"]
    assert all(piece.startswith("##") for piece in spoken(TOKENIZERS["wordpiece"], ["sleeping", "longs"], "last"))


def test_the_space_before_a_text_does_not_speak() -> None:
    """Byte pairs put a space before the first word; where it is a piece of its own the word itself is heard."""
    assert spoken(TOKENIZERS["bpe"], ["zzz", "zzz"]) == ["z", "z"]


def test_a_word_without_pieces_does_not_shift_the_others() -> None:
    """BERT's rules take control characters and lone accents away."""
    assert spoken(TOKENIZERS["wordpiece"], ["\x00", "the", "\u0301", "cat", "\u200d"]) == ["", "the", "", "cat", ""]


@pytest.mark.parametrize("kind", TOKENIZERS)
@settings(max_examples=30, deadline=None)
@given(words=WORDS)
def test_every_piece_speaks_for_the_word_it_is_cut_from(kind: str, words: list[str]) -> None:
    """By characters, in order; and a tokenizer that knows every character leaves no word without one."""
    words = [word.encode("utf-8", "replace").decode() for word in words]
    tokenizer = TOKENIZERS[kind]
    (made,) = pieces_of(tokenizer, [words])
    assert len(made.tagged_N) == len(words)
    text, offsets = " ".join(words), tokenizer.raw.encode(" ".join(words), add_special_tokens=False).offsets
    position = 0
    for word, place in zip(words, made.tagged_N, strict=True):
        if place >= 0:
            start, stop = offsets[place]
            assert start < position + len(word)
            assert stop > position, (text, word, (start, stop))
        position += len(word) + 1
    placed = made.tagged_N[made.tagged_N >= 0]
    assert (np.diff(placed) > 0).all()
    if kind in ("byte", "character", "code", "bpe"):
        assert (made.tagged_N >= 0).all()


@settings(max_examples=120, deadline=None)
@given(
    sizes=some.lists(some.integers(0, 9), max_size=40),
    room=some.integers(1, 12),
    tagged_piece=some.sampled_from(["first", "last"]),
)
def test_windows_hear_every_word_once(sizes: list[int], room: int, tagged_piece: str) -> None:
    """Words of any number of pieces, none among them, and windows that may be shorter than a word."""
    ends = np.cumsum(sizes, dtype=np.int64)
    firsts = ends - np.array(sizes, np.int64)
    there = np.array(sizes, np.int64) > 0
    tagged = np.where(there, firsts if tagged_piece == "first" else ends - 1, -1)
    pieces = Pieces(np.arange(int(ends[-1]) if sizes else 0), tagged, firsts[there])
    heard = all_windows(pieces, room)
    words = np.concatenate([one.words for one in heard]) if heard else np.array([], np.int64)
    assert sorted(words.tolist()) == np.flatnonzero(there).tolist()
    for one in heard:
        assert 0 < one.stop - one.start <= room
        assert all(one.start <= tagged[word] < one.stop for word in one.words)
    if len(pieces.ids) <= room:
        assert len(heard) <= 1
        assert heard == [] or heard[0].words.tolist() == first_window(pieces, room).words.tolist()


def test_a_word_is_decided_where_it_has_most_context() -> None:
    pieces = Pieces(np.arange(20), np.arange(20), np.arange(20))
    heard = all_windows(pieces, 8)
    assert [(one.start, one.stop) for one in heard] == [(0, 8), (4, 12), (8, 16), (12, 20)]
    # 5: two before the end of the first window, one after the start of the second; 6 has 1 and 2; 9 has 2 and 1.
    assert [(one.words[0], one.words[-1]) for one in heard] == [(0, 5), (6, 9), (10, 13), (14, 19)]


def test_windows_begin_with_a_word_where_one_is_near() -> None:
    assert window_bounds(16, 8, np.array([0, 3, 9])) == [(0, 8), (3, 11), (8, 16)]
    assert window_bounds(0, 8, np.array([], np.int64)) == []


def test_in_training_the_start_of_a_sentence_is_read() -> None:
    pieces = Pieces(np.arange(9), np.array([0, 2, -1, 4, 7]), np.array([0, 2, 4, 7]))
    assert first_window(pieces, 5).words.tolist() == [0, 1, 3]
    assert (first_window(pieces, 5).start, first_window(pieces, 5).stop) == (0, 5)
