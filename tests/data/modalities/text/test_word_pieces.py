"""WordPiece: BERT's rules, its symbols under our ids, and which pieces make a word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from regard.core.config import parse
from regard.core.symbols import EOS, PAD, SOS, UNK
from regard.data import DATA, TOKENIZERS
from regard.data.ledger import Ledger
from regard.data.modalities.text.token_files import token_file
from regard.data.modalities.text.tokenizers import BpeTokenizer, Tokenizer
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.data.modalities.text.word_pieces import MASK, WordPieceTokenizer, continues_word
from regard.data.texts import TextInMemory

TEXTS = ["The walking cat talked, walked and walks.", "Talking cats walk; a café talks!"] * 4
PIECES = WordPieceTokenizer(vocabulary=70).train(TEXTS)


def test_the_symbols_stand_where_ours_do() -> None:
    assert [PIECES.token(id) for id in (PAD, SOS, EOS, UNK, MASK)] == ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]
    assert PIECES.specials.mask == MASK
    assert PIECES.specials.known() == (0, 1, 2, 3, 4)


def test_a_text_comes_back_up_to_case_accents_and_spaces() -> None:
    assert PIECES.decode(PIECES.encode("  The  café\ttalked ,walked ")) == "the cafe talked, walked"
    cased = WordPieceTokenizer(vocabulary=80, lower=False).train(TEXTS)
    assert cased.decode(cased.encode("The café")) == "The café"
    assert cased.encode("The") != cased.encode("the")


def test_a_text_that_spells_a_symbol_is_just_text() -> None:
    ids = PIECES.encode("the [MASK] [SEP]")
    assert not {SOS, EOS, MASK, PAD} & set(ids)
    assert UNK in PIECES.encode("東"), "what was never seen is shown as unknown"
    assert PIECES.decode([SOS, *PIECES.encode("the cat"), UNK, EOS, PAD]) == "the cat [UNK]"


def test_training_is_reproducible_and_files_bring_it_back(tmp_path: Path) -> None:
    for _ in range(5):
        assert WordPieceTokenizer(vocabulary=70).train(TEXTS).raw.to_str() == PIECES.raw.to_str()
    PIECES.save(tmp_path / "tokenizer.json")
    loaded = Tokenizer.load(tmp_path / "tokenizer.json", WordPieceTokenizer().specials())
    assert loaded.encode(TEXTS[0]) == PIECES.encode(TEXTS[0])
    assert loaded.specials == PIECES.specials


def test_the_tokenizer_of_running_text_is_found_again_with_its_mask() -> None:
    corpus: Any = parse(DATA.resolve("world-english"), {"kind": "world-english", "train_size": 60}).load(3, Ledger())
    config: Any = parse(TOKENIZERS.resolve("wordpiece"), {"kind": "wordpiece", "vocabulary": 200})
    first, second = (Vocabularies.train(config, corpus).target for _ in range(2))
    assert first.specials.mask == second.specials.mask == MASK
    assert first.raw.to_str() == second.raw.to_str()


def test_blocks_give_the_tokens_of_the_whole_text() -> None:
    text = " ".join(TEXTS * 1500)
    assert len(list(TextInMemory("long", text).blocks())) > 2
    tokens = token_file([TextInMemory("long", text)], PIECES).open()
    assert tokens.tolist() == [EOS, *PIECES.encode(text), EOS]


def test_pieces_that_go_on_with_a_word() -> None:
    goes_on, ids = continues_word(PIECES), PIECES.encode("the talkeds , cats")
    assert len(goes_on) == PIECES.size
    assert [PIECES.token(id).startswith("##") for id in ids] == goes_on[ids].tolist()
    assert goes_on[ids].any()
    assert not goes_on[[SOS, EOS, UNK, MASK]].any()
    bpe = BpeTokenizer(vocabulary=280).train(TEXTS)
    ids = bpe.encode("the unheard cat")
    assert continues_word(bpe)[ids].tolist() == [not bpe.token(id).startswith("▁") for id in ids]
    assert (~continues_word(bpe)[ids]).sum() == 3, "three words"


def test_the_small_world_is_there_as_running_text() -> None:
    sizes = {"train_size": 30, "validation_size": 4, "test_size": 3}
    part: Any = parse(DATA.resolve("world-english"), {"kind": "world-english", **sizes})
    corpus = part.load(5, Ledger())
    assert all(text.lines for own in corpus.splits.values() for text in own)
    lines = {split: "".join(texts[0].blocks()).split("\n") for split, texts in corpus.splits.items()}
    assert {split: len(own) for split, own in lines.items()} == {"train": 30, "validation": 4, "test": 3}
    assert not set(lines["train"]) & set(lines["test"])
    assert all(line == line.strip() and line for own in lines.values() for line in own)
    assert "".join(part.load(5, Ledger()).splits["test"][0].blocks()).split("\n") == lines["test"]
    assert "".join(part.load(6, Ledger()).splits["test"][0].blocks()).split("\n") != lines["test"]


@pytest.mark.parametrize("vocabulary", [40, 70])
def test_the_vocabulary_is_as_large_as_asked(vocabulary: int) -> None:
    assert WordPieceTokenizer(vocabulary=vocabulary).train(TEXTS * 3).size <= vocabulary
