"""Tokenizers give back what they took apart, read no special symbol from a text, and train reproducibly."""

import os
import re
import subprocess
import sys

import pytest
import tokenizers as library
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.core.config import parse
from regard.core.errors import RecipeError, RunError
from regard.core.symbols import EOS, PAD, SOS, UNK
from regard.data import TOKENIZERS
from regard.data.modalities.text.tokenizers import (
    BpeTokenizer,
    ByteTokenizer,
    CharacterTokenizer,
    CodeTokenizer,
    Tokenizer,
    WordTokenizer,
)
from regard.data.modalities.text.whitespace import WhitespaceTokenizer

TEXTS = [
    "two young , white males are outside .",
    "two males are young .",
    "l'homme n'est pas là , l'eau non plus",
    "don't touch the man's t-shirt ( 3.5 ) !",
    "Ein Mädchen , zwei Mädchen",
    "<unk> <eos> <unk> <eos><eos>",
] * 3
BPE = BpeTokenizer(vocabulary=400).train(TEXTS)
BYTE = ByteTokenizer().train(TEXTS)
WORD = WordTokenizer().train(TEXTS)
CHARACTER = CharacterTokenizer().train(TEXTS)
WHITESPACE = WhitespaceTokenizer().train(TEXTS)
ALL = {"bpe": BPE, "byte": BYTE, "word": WORD, "character": CHARACTER, "whitespace": WHITESPACE}

FRAGMENTS = ["<eos>", "<pad>", "<sos>", "<unk>", " ", "  ", "\n", "\t", "two", "Ġ", "▁", "'", "\u2028"]
ANY_TEXT = st.lists(st.one_of(st.text(max_size=11), st.sampled_from(FRAGMENTS)), max_size=7).map("".join)


@pytest.mark.parametrize("kind", ["bpe", "byte"])
@settings(max_examples=200, deadline=None)
@given(text=ANY_TEXT)
def test_bytes_and_byte_pairs_give_back_any_text(kind, text):
    tokenizer = ALL[kind]
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert tokenizer.decode([SOS, *ids, EOS, PAD]) == text
    assert all(id > UNK for id in ids)


KNOWN_WORDS = [" two", " l'homme", " don't", " man's", " t-shirt", " 3.5", " Mädchen", " ,", " <eos>", " "]


@settings(max_examples=200, deadline=None)
@given(text=st.lists(st.sampled_from(KNOWN_WORDS)).map("".join))
def test_words_give_back_texts_of_known_words_with_any_number_of_spaces(text):
    for form in (text, text.removeprefix(" ")):
        ids = WORD.encode(form)
        assert UNK not in ids
        assert WORD.decode(ids) == form


@settings(max_examples=200, deadline=None)
@given(text=st.text(alphabet=sorted(set("".join(TEXTS)))))
def test_characters_give_back_texts_of_known_characters(text):
    assert CHARACTER.decode(CHARACTER.encode(text)) == text
    assert UNK not in CHARACTER.encode(text)


@pytest.mark.parametrize("tokenizer", ALL.values(), ids=ALL)
def test_the_training_texts_come_back_alone_and_in_a_batch(tokenizer):
    batch = tokenizer.encode_batch(TEXTS)
    assert batch == [tokenizer.encode(text) for text in TEXTS]
    assert tokenizer.decode_batch(batch) == TEXTS
    assert tokenizer.encode("") == []
    assert tokenizer.decode([]) == ""


@pytest.mark.parametrize("tokenizer", ALL.values(), ids=ALL)
def test_special_symbols_have_the_first_ids_and_are_never_read_from_a_text(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "tokenizer.json")
    for one in (tokenizer, Tokenizer.load(tmp_path / "tokenizer.json")):
        assert [one.token(id) for id in range(4)] == ["<pad>", "<sos>", "<eos>", "<unk>"]
        text = "<eos> <unk> <eos><eos>"
        assert not set(one.encode(text)) & {PAD, SOS, EOS, UNK}
        assert one.decode(one.encode(text)) == text


@pytest.mark.parametrize("tokenizer", ALL.values(), ids=ALL)
def test_saved_and_loaded_is_the_same(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = Tokenizer.load(tmp_path / "tokenizer.json")
    assert loaded.size == tokenizer.size
    assert loaded.encode_batch(TEXTS) == tokenizer.encode_batch(TEXTS)
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "tokenizer.json").read_bytes()


def test_the_first_word_has_the_same_piece_as_elsewhere():
    first, later = BPE.encode("two males"), BPE.encode("males two")
    assert first[0] == later[-1]
    assert WORD.encode("two males") == WORD.encode("males two")[::-1]


def test_unknown_words_and_characters_are_shown_where_they_stand():
    assert WORD.decode(WORD.encode("zebras are young zebras")) == "<unk> are young <unk>"
    assert CHARACTER.decode(CHARACTER.encode("two 漢 males")) == "two <unk> males"


def test_words_are_split_at_elisions_contractions_and_signs():
    def cut(text):
        return [text[piece.start : piece.stop] for piece in WORD.pieces(text)]

    assert cut("l'homme n’est pas d'accord") == ["l'", "homme", "n’", "est", "pas", "d'", "accord"]
    assert cut("don't, man's t-shirt 3.5 (1,000)!") == [
        "don", "'t", ",", "man", "'s", "t-shirt", "3.5", "(", "1,000", ")", "!",
    ]
    assert cut("she 'll , he 's") == ["she", "'ll", ",", "he", "'s"]


def test_between_two_spaces_nothing_is_split():
    text = "(S (NP PRP$ NN ) (, ,) :-) ''"
    tokenizer = WhitespaceTokenizer(min_frequency=1).train([text])
    assert len(tokenizer.encode(text)) == len(text.split())
    assert tokenizer.decode(tokenizer.encode(f"{text} (NP-SBJ  NN")) == f"{text} <unk>  NN"
    assert UNK not in WhitespaceTokenizer(min_frequency=1).train(["a\t<unk>"]).encode("a\t<unk>")


@pytest.mark.parametrize("tokenizer", ALL.values(), ids=ALL)
def test_every_piece_starts_in_its_word(tokenizer):
    text = "two  Mädchen , l'homme €uro"
    stretches = [found.span() for found in re.finditer(r"[^ ]+", text)]
    covered = set()
    for piece in tokenizer.pieces(text):
        if piece.start < piece.stop:
            assert any(begin <= piece.start and piece.stop <= end for begin, end in stretches), piece
            covered.update(range(piece.start, piece.stop))
    assert covered == {index for index, sign in enumerate(text) if sign != " "}
    assert len(tokenizer.pieces(text)) == len(tokenizer.encode(text))


def test_tokens_are_readable():
    assert BPE.token(BPE.encode("two")[0]).startswith("▁t")
    assert [BYTE.token(id) for id in BYTE.encode("a ä")] == ["a", "▁", "\\xc3", "\\xa4"]
    assert BYTE.size == 260
    assert BYTE.encode("a") == [4 + ord("a")]
    with pytest.raises(IndexError, match="id 260 is not in a vocabulary of 260"):
        BYTE.token(260)


def test_size_is_what_the_data_give_and_frequencies_and_limits_hold():
    assert BpeTokenizer(vocabulary=5000).train(TEXTS).size < 5000
    assert BpeTokenizer(vocabulary=300).train(TEXTS).size == 300
    assert WordTokenizer(vocabulary=9).train(TEXTS).size == 9
    assert WordTokenizer(min_frequency=4).train(["rare"] * 3 + ["often"] * 4).size == 4 + 1 + 1
    assert BpeTokenizer().train([]).size == 260
    assert CharacterTokenizer(lower=True).train(["aA"]).size == 5
    lower = BpeTokenizer(vocabulary=300, lower=True).train(TEXTS)
    assert lower.decode(lower.encode("Two MÄDCHEN")) == "two mädchen"


def test_a_vocabulary_smaller_than_the_bytes_is_refused():
    with pytest.raises(RecipeError, match="vocabulary: Input should be greater than or equal to 260, found"):
        parse(BpeTokenizer, {"vocabulary": 100})


def test_training_in_another_process_gives_the_same_file(tmp_path):
    code = (
        "import sys, pathlib; from regard.data.modalities.text.tokenizers import *;"
        "texts = sys.stdin.read().split(chr(10));"
        "folder = pathlib.Path(sys.argv[1]);"
        "BpeTokenizer(vocabulary=400).train(texts).save(folder / 'bpe');"
        "WordTokenizer().train(texts).save(folder / 'word')"
    )
    for name in ("one", "two"):
        hashing = {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": str(ord(name[0]))}
        subprocess.run([sys.executable, "-c", code, str(tmp_path / name)], input="\n".join(TEXTS), text=True,
                       check=True, env={**os.environ, **hashing})
    for kind, tokenizer in (("bpe", BPE), ("word", WORD)):
        tokenizer.save(tmp_path / kind)
        here = (tmp_path / kind).read_bytes()
        assert here == (tmp_path / "one" / kind).read_bytes() == (tmp_path / "two" / kind).read_bytes()


def test_a_missing_or_foreign_tokenizer_file_is_named(tmp_path):
    with pytest.raises(RunError, match=r"no tokenizer at .*tokenizer\.json; the run folder is not complete"):
        Tokenizer.load(tmp_path / "tokenizer.json")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(RunError, match="is not a tokenizer file of the tokenizers library"):
        Tokenizer.load(tmp_path / "tokenizer.json")
    BPE.save(tmp_path / "tokenizer.json")
    text = (tmp_path / "tokenizer.json").read_text().replace("<pad>", "<s>")
    (tmp_path / "tokenizer.json").write_text(text)
    with pytest.raises(RunError, match=r"the ids 0 to 3 are .*'<s>'.* it was not made by Regard"):
        Tokenizer.load(tmp_path / "tokenizer.json")


def test_the_table_of_tokenizers_resolves():
    assert [TOKENIZERS.resolve(kind)().kind for kind in TOKENIZERS.kinds()] == list(TOKENIZERS.kinds())


def test_code_keeps_its_lines_and_names() -> None:
    code = "def read_lines(path):\n    return [line for line in open(path)]\n\n\nclass A:\n    x = 1_000\n" * 4
    tokenizer = CodeTokenizer(vocabulary=500, min_frequency=1).train([code])
    tokens = [piece.token for piece in tokenizer.pieces("    x = 10\n    return read_lines(path)\n")]
    line = ["▁", "▁", "▁", "▁", "x", "▁=", "▁1", "0", "\n▁▁▁▁"]
    assert tokens == [*line, "return", "▁read", "_lines", "(", "path", ")", "\n"]
    assert tokenizer.decode(tokenizer.encode(code)) == code
    assert tokenizer.decode(tokenizer.encode("\tλ = «🙂»\r\n\r\n  ")) == "\tλ = «🙂»\r\n\r\n  "


def test_byte_pairs_with_a_mask_read_gaps_as_words() -> None:
    made = BpeTokenizer(vocabulary=300, mask=True).train(["the cat sat on the mat", "the dog sleeps on a mat"] * 5)
    mask = made.specials.mask
    assert made.token(mask) == "<mask>"
    assert mask not in made.encode("the <mask> sleeps")  # a text that merely spells it
    reader = library.Tokenizer.from_str(made.raw.to_str())
    gap = reader.encode("the <mask> on a mat", add_special_tokens=False).ids
    assert gap == [*made.encode("the"), mask, *made.encode("on a mat")]
    assert made.decode(id if id != mask else made.encode("cat")[0] for id in gap).startswith("the c")
