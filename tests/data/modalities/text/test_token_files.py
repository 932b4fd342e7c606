"""Token files: block by block gives what the whole text gives, and the second time nothing is tokenised."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.core.symbols import EOS
from regard.data import texts
from regard.data.modalities.text import token_files
from regard.data.modalities.text.token_files import TokenFile, encoded, token_file
from regard.data.modalities.text.tokenizers import BpeTokenizer, Tokenizer
from regard.data.texts import FileText, TextInMemory
from tests.tokenizer_kinds import every_kind

PROSE = (
    "The old cat's friends don't sleep; they sat on l'herbe (3.14 m²), and said: \"naïve 🙂\".\n\n"
    "  Twice,\tit rained.\n"
)
PARTS = {**every_kind(300), "lower bpe": BpeTokenizer(vocabulary=300, lower=True)}
TOKENIZERS = {name: part.train([PROSE]) for name, part in PARTS.items()}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("tokenizer", TOKENIZERS.values(), ids=TOKENIZERS)
@given(text=st.text(alphabet="ab cd' \n\t.,3é-", max_size=400))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_blocks_give_the_pieces_of_the_whole(
    tokenizer: Tokenizer, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "BLOCK", 32)
    monkeypatch.setattr(token_files, "BATCH", 70)
    made = [id for ids, _, _ in encoded([TextInMemory("text", text)], tokenizer) for id in ids]
    assert made == [EOS, *tokenizer.encode(text), *([EOS] if text else [])]


def made_of(*own: texts.Text, tokenizer: Tokenizer = TOKENIZERS["character"]) -> TokenFile:
    return token_file(own, tokenizer)


def test_documents_are_parted_and_counted() -> None:
    made = made_of(TextInMemory("a", "the cat"), TextInMemory("b", "sat", ends=False), TextInMemory("c", " on"))
    tokens = made.open().tolist()
    encode = TOKENIZERS["character"].encode
    assert tokens == [EOS, *encode("the cat"), EOS, *encode("sat"), *encode(" on"), EOS]
    assert (made.characters, made.documents, made.tokens) == (13, 2, len(tokens))


def test_no_batch_is_much_larger_than_it_should_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a corpus larger than memory can be tokenised, whether its lines or its files are documents."""
    monkeypatch.setattr(texts, "BLOCK", 64)
    monkeypatch.setattr(token_files, "BATCH", 300)
    own = [TextInMemory(str(number), PROSE * 7) for number in range(5)]
    for lines in (False, True):
        chosen = [text.by_lines() if lines else text for text in own]
        sizes = [characters for _, characters, _ in encoded(chosen, TOKENIZERS["bpe"])][1:]
        assert len(sizes) > 5
        assert all(300 <= size < 300 + 2 * 64 + len(PROSE) for size in sizes[:-1])
        counted = sum(len(line) + 1 for line in (PROSE * 7).split("\n") if line.strip()) if lines else len(PROSE * 7)
        assert sum(sizes) == 5 * counted


def test_lines_as_documents() -> None:
    made = made_of(TextInMemory("a", "cat\n\n  \nsat", lines=True))
    encode = TOKENIZERS["character"].encode
    assert made.open().tolist() == [EOS, *encode("cat"), EOS, *encode("sat"), EOS]
    assert made.documents == 2


def test_the_second_time_nothing_is_tokenised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "text.txt"
    path.write_text(PROSE, encoding="utf-8")
    text = FileText(path, 0, path.stat().st_size)
    first = made_of(text)
    with monkeypatch.context() as without:
        without.setattr(token_files, "encoded", lambda *_, **__: pytest.fail("tokenised again"))
        assert made_of(text) == first
    path.write_text(PROSE + PROSE, encoding="utf-8")
    other = made_of(FileText(path, 0, path.stat().st_size))
    assert other.path != first.path, "the file has changed"
    assert made_of(text, tokenizer=TOKENIZERS["bpe"]).path != first.path, "another tokenizer"


def test_a_truncated_file_is_made_again() -> None:
    text = TextInMemory("a", PROSE)
    first = made_of(text)
    before = first.open().tolist()
    first.path.write_bytes(first.path.read_bytes()[:-2])
    assert made_of(text).open().tolist() == before


def test_numbers_are_as_narrow_as_the_vocabulary() -> None:
    assert made_of(TextInMemory("a", PROSE)).open().dtype == np.uint16


def test_an_interrupted_writing_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def breaks(*_: object, **__: object) -> object:
        yield [1, 2, 3], 3, 0
        raise KeyboardInterrupt

    monkeypatch.setattr(token_files, "encoded", breaks)
    with pytest.raises(KeyboardInterrupt):
        made_of(TextInMemory("a", PROSE))
    assert not list((tmp_path / "cache").rglob("*.bin"))
