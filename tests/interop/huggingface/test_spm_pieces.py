"""SentencePiece models give the pieces, ids and texts that the sentencepiece library gives."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import pytest
import tokenizers as library
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.core.errors import RunError
from regard.core.symbols import Specials
from regard.data.modalities.text.tokenizers import Tokenizer
from regard.interop.huggingface.sentencepiece.files import Kind, read_pieces
from regard.interop.huggingface.sentencepiece.tokenizers import sentence_pieces
from tests.interop.huggingface.spm_makers import ENGLISH, KINDS, LLAMA_LIKE, OTHERS, spm, trained

SIGNS = "theaoilsn  né ßμдом山日🙂1２.,'-\t\n\u3000Ａﬁé▁ſ<>/\u00adكхz☃"
NAMES = ["<s>", "</s>", "<unk>", "<sep>", "ABAB", "<0x0A>", "<0xE2>"]
SPELLED = [*NAMES, "  ", "xyzq", "☃☃", "e\u0301", *ENGLISH, *OTHERS]
TEXTS = st.one_of(
    st.text(SIGNS, max_size=30),
    st.lists(st.sampled_from(SPELLED), max_size=8).map(" ".join),
    st.lists(st.sampled_from(SPELLED), max_size=8).map("".join),
)
Pair = tuple[Any, library.Tokenizer]


@pytest.fixture(scope="module", params=KINDS.values(), ids=KINDS.keys())
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    path = trained(tmp_path_factory.mktemp("spm") / "pieces.spm", ENGLISH + OTHERS, **request.param)
    raw = sentence_pieces(read_pieces(path))
    return spm.SentencePieceProcessor(model_file=str(path)), Tokenizer(raw).raw


@settings(max_examples=120, deadline=None)
@given(text=TEXTS)
def test_ids_and_texts_are_theirs(pair: Pair, text: str) -> None:
    theirs, raw = pair
    wanted = theirs.encode(text)
    found = raw.encode(text, add_special_tokens=False).ids
    assert found == wanted or tied(theirs, found, wanted)
    if theirs.unk_id() not in wanted:
        assert raw.decode(wanted) == theirs.decode(wanted)


def tied(theirs: Any, one: list[int], other: list[int]) -> bool:
    """Two ways to take a text apart that are worth the same, but for the rounding of sums: either is right."""
    texts = ["".join(map(theirs.id_to_piece, ids)) for ids in (one, other)]
    worth = [sum(map(theirs.get_score, ids)) for ids in (one, other)]
    return texts[0] == texts[1] and abs(worth[0] - worth[1]) < 1e-4


@settings(max_examples=60, deadline=None)
@given(seed=st.randoms(use_true_random=False))
def test_any_ids_are_decoded_alike(pair: Pair, seed: Any) -> None:
    theirs, raw = pair
    usable = [id for id in range(theirs.get_piece_size()) if not (theirs.is_unknown(id) or theirs.is_byte(id))]
    ids = seed.choices(usable, k=seed.randint(0, 7))
    assert raw.decode(ids) == theirs.decode(ids)


def test_the_comparison_has_teeth(pair: Pair) -> None:
    """Texts of the tests are taken apart into pieces of several signs, and unknown ones occur where there are some."""
    theirs, raw = pair
    made = raw.encode(" ".join([*ENGLISH, *OTHERS]), add_special_tokens=False)
    assert made.ids == theirs.encode(" ".join([*ENGLISH, *OTHERS]))
    assert sum(len(token) > 2 for token in made.tokens) > 20
    has_bytes = theirs.is_byte(3)
    assert (theirs.unk_id() in raw.encode("☃", add_special_tokens=False).ids) != has_bytes


def test_accents_that_stand_alone_are_composed(tmp_path: Path) -> None:
    words = ["tiếng", "Việt", "ệ", "ế"]
    path = trained(tmp_path / "pieces.spm", words)
    theirs, raw = spm.SentencePieceProcessor(model_file=str(path)), sentence_pieces(read_pieces(path))
    text = unicodedata.normalize("NFD", " ".join(words))
    assert raw.encode(text, add_special_tokens=False).ids == theirs.encode(text) == theirs.encode(" ".join(words))


def test_pieces_know_where_they_stand(tmp_path: Path) -> None:
    raw = sentence_pieces(read_pieces(trained(tmp_path / "pieces.spm", ENGLISH + OTHERS)))
    text = "the  ﬁne small 日本 ☃"
    pieces = Tokenizer(raw, Specials(-1, 1, 2, 0)).pieces(text)
    places = {piece.token: text[piece.start : piece.stop] for piece in pieces}
    assert (places["▁the"], places["▁small"], places["▁日本"], places["<unk>"]) == ("the", "small", "日本", "☃")


def test_the_file_is_read_as_the_library_reads_it(tmp_path: Path) -> None:
    path = trained(tmp_path / "pieces.model", ENGLISH, **LLAMA_LIKE)
    model, theirs = read_pieces(path), spm.SentencePieceProcessor(model_file=str(path))
    assert [piece.text for piece in model.pieces] == [theirs.id_to_piece(id) for id in range(len(model.pieces))]
    assert [piece.score for piece in model.pieces] == [theirs.get_score(id) for id in range(len(model.pieces))]
    assert len(model.of_kind(Kind.BYTE)) == 256
    assert (model.algorithm, model.byte_fallback, model.strips_spaces, model.adds_space) == ("bpe", True, False, True)


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.999], ids=str)
def test_a_file_that_was_cut_off(tmp_path: Path, kept: float) -> None:
    path = trained(tmp_path / "pieces.spm", ENGLISH)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * kept)])
    with pytest.raises(RunError, match=r"pieces\.spm is not a whole SentencePiece model \(it .*\); download it again"):
        read_pieces(path)


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"IQ== 0\nIg== 1\n", b"\x0a\x03\x0a\x01\xff", b"\x0a\x02\x18\x01", bytes(99)], ids=repr
)
def test_a_file_of_something_else(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tokenizer.model").write_bytes(content)
    with pytest.raises(RunError, match=r"tokenizer\.model is not a whole SentencePiece model \(.+\); download"):
        read_pieces(tmp_path / "tokenizer.model")


@settings(max_examples=60, deadline=None)
@given(content=st.binary(max_size=60))
def test_no_bytes_do_any_harm(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.spm"
    path.write_bytes(content)
    with pytest.raises(RunError):
        read_pieces(path)


def test_models_that_are_not_computed(tmp_path: Path) -> None:
    path = trained(tmp_path / "pieces.spm", ENGLISH, model_type="word", treat_whitespace_as_suffix=True)
    with pytest.raises(RunError) as caught:
        read_pieces(path)
    assert str(caught.value).splitlines() == [
        f"{path} cannot be followed: 2 problems",
        "  - its model_type is word; read are unigram and bpe",
        "  - treat_whitespace_as_suffix = true; only spaces before words are read",
    ]
