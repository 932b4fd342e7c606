"""Characters and bytes by one look-up: the ids that the library gives, and only where it gives the same."""

from __future__ import annotations

from pathlib import Path

import pytest
import tokenizers as library
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from regard.core.symbols import UNK
from regard.data.modalities.text.sign_tables import sign_table
from regard.data.modalities.text.tokenizers import CharacterTokenizer, Tokenizer
from tests.tokenizer_kinds import every_kind

SEEN = ["The naïve cat's ΣΑΣ, «漢字» 🙂\n\tİ <eos> <unk>", "\x00 \u2028\r\n"] * 2
BY_TABLE = ["byte", "character"]
PARTS = {**every_kind(280), "lower-case characters": CharacterTokenizer(lower=True)}
ALL = {name: part.train(SEEN) for name, part in PARTS.items()}
TEXTS = st.lists(st.one_of(st.text(max_size=12), st.sampled_from([*SEEN, "<pad>", "<unk>", "Ġ", "Σ", "İ"])), max_size=5)


@pytest.mark.parametrize("tokenizer", ALL.values(), ids=ALL)
@settings(max_examples=80, deadline=None)
@given(texts=TEXTS)
def test_arrays_hold_the_ids_that_the_library_gives(tokenizer: Tokenizer, texts: list[str]) -> None:
    wanted = [made.ids for made in tokenizer.raw.encode_batch(texts, add_special_tokens=False)]
    assert [ids.tolist() for ids in tokenizer.encode_arrays(texts)] == wanted


def test_tables_are_made_where_they_hold(tmp_path: Path) -> None:
    assert [name for name, tokenizer in ALL.items() if sign_table(tokenizer.raw)] == list(BY_TABLE)
    for name in BY_TABLE:
        ALL[name].save(tmp_path / name)
        assert sign_table(Tokenizer.load(tmp_path / name).raw), "a tokenizer from a file has its table too"
    assert ALL["character"].encode_arrays(["☃"])[0].tolist() == [UNK]


@pytest.mark.parametrize("kind", BY_TABLE)
def test_a_tokenizer_that_does_more_has_no_table(kind: str) -> None:
    def copy() -> library.Tokenizer:
        raw = library.Tokenizer.from_str(ALL[kind].raw.to_str())
        raw.encode_special_tokens = True
        return raw

    assert sign_table(copy())
    reads_names, reads_words, cuts = copy(), copy(), copy()
    reads_names.encode_special_tokens = False
    reads_words.add_tokens(["cat"])
    cuts.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False)
    assert [sign_table(raw) for raw in (reads_names, reads_words, cuts)] == [None, None, None]
