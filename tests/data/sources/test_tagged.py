"""Tagged sentences: what is read from columns and lists, and what is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from regard.core.errors import DataError
from regard.data.examples import Tagged
from regard.data.ledger import Ledger
from regard.data.sources.files import Found
from regard.data.sources.tagged import TaggedFiles, WorldTags
from regard.data.world import splits as draw


def read(path: Path, text: str, **settings: object) -> tuple[list[Tagged], Ledger]:
    path.write_text(text, encoding="utf-8")
    ledger = Ledger()
    part = TaggedFiles(train=str(path), **settings)  # type: ignore[arg-type]
    found = part.read(Found(part.train[0], (path,)), "train", ledger)
    ledger.check()
    return found, ledger


def test_the_first_and_the_last_column_are_word_and_tag(tmp_path: Path) -> None:
    text = "-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\n\nPeter NNP B-NP B-PER\n"
    found, ledger = read(tmp_path / "train.conll", text)
    assert [(one.words, one.tags, one.line) for one in found] == [
        (("EU", "rejects"), ("B-ORG", "O"), 3),
        (("Peter",), ("B-PER",), 7),
    ]
    assert ledger.counts("train", str(tmp_path / "train.conll")).kept == 2
    assert ledger.notes[0].endswith("comments or marks of documents: 1")


def test_columns_are_chosen_by_number(tmp_path: Path) -> None:
    text = "# sent_id = 1\n1\tthe\tDET\tDT\n2\tcat\tNOUN\tNN\n\n"
    found, _ = read(tmp_path / "train.tsv", text, word=2, tag=3)
    assert found == [Tagged(("the", "cat"), ("DET", "NOUN"), 2, str(tmp_path / "train.tsv"))]


def test_contractions_of_universal_dependencies_are_no_words(tmp_path: Path) -> None:
    text = "# text = du pain\n1-2\tdu\t_\t_\n1\tde\tde\tADP\n2\tle\tle\tDET\n2.1\tx\tx\tVERB\n3\tpain\tpain\tNOUN\n"
    found, ledger = read(tmp_path / "fr.conllu", text, word=2, tag=4)
    assert [one.words for one in found] == [("de", "le", "pain")]
    assert ledger.notes[0].endswith("marks of documents: 3")


def test_a_hash_within_a_sentence_is_a_word(tmp_path: Path) -> None:
    found, _ = read(tmp_path / "a.txt", "# a comment\nwe O\n# O\n1 O\n")
    assert found[0].words == ("we", "#", "1")


def test_only_spaces_and_tabs_part_columns(tmp_path: Path) -> None:
    """A no-break space is a word of many a corpus, and with tabs a word may have spaces in it."""
    found, _ = read(tmp_path / "a.txt", "a O\n\u00a0 O\nb  B-X\n\nNew York\tB-LOC\n")
    assert [one.words for one in found] == [("a", "\u00a0", "b"), ("New York",)]
    assert found[0].tags == ("O", "O", "B-X")


def test_every_row_without_its_tag_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="needs 2 columns as in most lines") as caught:
        read(tmp_path / "a.txt", "a\nb O\nc O\n\nd\ne O\n")
    assert "line 1 has 1; line 5 has 1. Correct these lines, or name the columns with data.word" in str(caught.value)
    with pytest.raises(DataError, match="line 2 has an empty tag"):
        read(tmp_path / "b.txt", "a\tO\nb\t\n")
    with pytest.raises(DataError, match="at least 3 columns, a word and its tag among them, but line 2 has 2"):
        read(tmp_path / "c.txt", "a x O\nb O\n", tag=3)
    with pytest.raises(DataError, match="word and tag are both in column 1, and its lines have 1"):
        read(tmp_path / "d.txt", "a\nb\n")


def test_lists_and_texts_of_tables(tmp_path: Path) -> None:
    rows = [{"tokens": ["the", "cat"], "ner": ["O", "B-X"]}, {"tokens": ["\u00a0", 7], "ner": [0, 1]}, {"tokens": "a b",
            "ner": "x y"}, {"tokens": [], "ner": []}]  # fmt: skip
    text = "".join(json.dumps(row) + "\n" for row in rows)
    found, ledger = read(tmp_path / "a.jsonl", text, words="tokens", tags="ner")
    assert [one.words for one in found] == [("the", "cat"), ("\u00a0", "7"), ("a", "b")]
    assert [one.tags for one in found] == [("O", "B-X"), ("0", "1"), ("x", "y")]
    assert [(one.line, one.reason) for one in ledger.exceptions] == [(4, "no tokens")]
    table, _ = read(tmp_path / "a.csv", 'words,tags\n"the, cat",DET NOUN\n')
    assert table[0].words == ("the,", "cat")
    assert table[0].tags == ("DET", "NOUN")


def test_lists_of_unequal_length_are_named_together(tmp_path: Path) -> None:
    rows = [{"words": ["a"], "tags": []}, {"words": ["a"], "tags": ["O"]}, {"words": ["a", ""], "tags": ["O", "O"]}]
    with pytest.raises(DataError) as caught:
        read(tmp_path / "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert "line 1 has 1 words and 0 tags; line 3 has an empty word. Correct these lines" in str(caught.value)


def test_compressed_files_are_split_like_others(tmp_path: Path) -> None:
    lines = "".join(f"word{number} {'AB'[number % 2]}\n\n" for number in range(40))
    (tmp_path / "train.conll.gz").write_bytes(gzip.compress(lines.encode()))
    corpus = TaggedFiles(train=str(tmp_path / "train.conll"), validation_size=4).load(1, Ledger())
    assert {split: len(own) for split, own in corpus.splits.items()} == {"train": 36, "validation": 4}
    assert next(corpus.training_texts(True)[0]).startswith("word")


def test_the_small_world_knows_its_tags() -> None:
    corpus = WorldTags(train_size=30, validation_size=3, test_size=2, compositional_size=1).load(5, Ledger())
    assert [len(own) for own in corpus.splits.values()] == [30, 3, 2, 1]
    truth = draw(30, 3, 2, 1, 5)
    for split, own in corpus.splits.items():
        assert [(one.source, one.tags) for one in own] == [
            (pair.source, pair.source_tags) for pair in getattr(truth, split)
        ]
    assert {"DET", "NOUN", "VERB"} <= {tag for one in corpus.splits["train"] for tag in one.tags}
