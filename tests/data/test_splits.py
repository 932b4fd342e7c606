"""Corpora from files: splits that are kept apart, named where they are not, and errors with a remedy."""

from collections import Counter

import pytest

from regard.core.config import parse, read_toml, to_toml
from regard.core.errors import DataError, RecipeError
from regard.data import DATA
from regard.data.ledger import Ledger
from regard.data.sources import CorpusFiles, PairFiles, SmallWorld


def fill(folder, **splits):
    """Writes ``name.en`` and ``name.de`` from lines such as "a=b"."""
    for name, rows in splits.items():
        for side, suffix in enumerate(("en", "de")):
            lines = [row.split("=")[side] for row in rows]
            (folder / f"{name}.{suffix}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def load(folder, seed=1, **settings):
    corpus = PairFiles(folder=str(folder), **settings).load(seed, Ledger())
    corpus.ledger.check()
    return corpus


def sources(corpus, split):
    return [pair.source for pair in corpus.splits[split]]


def entries(corpus):
    return [(entry.what, entry.split, entry.line, entry.reason) for entry in corpus.ledger.exceptions]


def test_splits_are_read_and_what_stands_in_two_is_named(tmp_path):
    fill(tmp_path, train=["a=A", "b=B", "c=C", "b=B", "d=D"], val=["b=B", "v=V"], test2016=["c=other", "v=V"])
    corpus = load(tmp_path)
    assert [len(corpus.splits[split]) for split in ("train", "validation", "test")] == [5, 2, 2]
    assert entries(corpus) == [
        ("duplicated", "train", 4, "same source and target as earlier"),
        ("in_two_splits", "train", 2, "source and target stand also in validation"),
        ("in_two_splits", "train", 4, "source and target stand also in validation"),
        ("in_two_splits", "train", 3, "the source stands also in test"),
        ("in_two_splits", "validation", 2, "source and target stand also in test"),
    ]
    assert corpus.ledger.exceptions[3].detail == f"{tmp_path / 'test2016.en'} line 1"
    assert corpus.weights == ()


def test_remove_takes_them_out_of_training_only(tmp_path):
    fill(tmp_path, train=["a=A", "b=B", "c=C", "b=B", "d=D"], val=["b=B", "v=V"], test2016=["c=other", "v=V"])
    corpus = load(tmp_path, overlap="remove")
    assert sources(corpus, "train") == ["a", "d"]
    assert sources(corpus, "validation") == ["b", "v"]
    assert corpus.ledger.splits == {"train": 2, "validation": 2, "test": 2}
    assert corpus.ledger.total("skipped", ["train"]) == 3


def test_validation_is_set_aside_by_seed_and_shares_no_source_with_training(tmp_path):
    rows = [f"s{number % 80}=t{number}" for number in range(113)]
    fill(tmp_path, train=rows)
    corpus = load(tmp_path, validation="", test="")
    train, validation = sources(corpus, "train"), sources(corpus, "validation")
    assert 9 <= len(validation) <= 11
    assert not set(train) & set(validation)
    assert Counter(train + validation) == Counter(row.split("=")[0] for row in rows)
    assert "were set aside for validation (seed 1)" in corpus.ledger.notes[0]
    assert corpus.ledger.total("kept", ["validation"]) == len(validation)
    assert sources(load(tmp_path, validation="", test=""), "validation") == validation
    assert sources(load(tmp_path, seed=2, validation="", test=""), "validation") != validation
    assert len(load(tmp_path, validation="", test="", validation_size=5).splits["validation"]) == 5
    assert "validation" not in load(tmp_path, validation="", test="", validation_size=0).splits


def test_too_few_pairs_for_a_validation_split_are_refused_with_a_remedy(tmp_path):
    fill(tmp_path, train=["a=A"] * 3)
    with pytest.raises(DataError, match=r"3 training pairs with 1 different sources are too few .*_size=0"):
        load(tmp_path, validation="", test="")


def test_several_corpora_with_weights_keep_their_weights_through_removal(tmp_path):
    fill(tmp_path, big=["a=A", "b=B"], test=["b=B"])
    (tmp_path / "small.tsv").write_text("c\tC\nd\tD\n")
    (tmp_path / "more.jsonl").write_text('{"fr": "e", "target": "E"}\n')
    corpora = [
        {"source": f"{tmp_path}/big.en", "target": f"{tmp_path}/big.de"},
        {"file": f"{tmp_path}/small.tsv", "weight": 2.5},
        {"file": f"{tmp_path}/more.jsonl", "source_key": "fr", "split": "validation"},
        {"source": f"{tmp_path}/test.en", "target": f"{tmp_path}/test.de", "split": "test"},
    ]
    part = parse(PairFiles, {"kind": "pairs", "corpora": corpora, "overlap": "remove"})
    corpus = part.load(1, Ledger())
    assert sources(corpus, "train") == ["a", "c", "d"]
    assert corpus.weights == (1.0, 2.5, 2.5)
    assert sources(corpus, "validation") == ["e"]
    (tmp_path / "recipe.toml").write_text(to_toml(part))
    assert parse(PairFiles, read_toml(tmp_path / "recipe.toml")) == part


@pytest.mark.parametrize(
    "corpus, words",
    [
        ({"fiel": "a.tsv"}, "corpora.0: unknown key 'fiel' (did you mean 'file'?); valid here: source,"),
        ({"source": "a.en"}, "corpora.0: a corpus needs either file, or both source and target"),
        ({"file": "a.txt"}, "a.txt: a file of both sides must end in .tsv, .jsonl, .ndjson or .json"),
        ({"file": "a.tsv", "weight": 0.0}, "corpora.0.weight: Input should be greater than 0"),
    ],
)
def test_a_corpus_that_is_described_wrongly_is_refused_in_words(corpus, words):
    with pytest.raises(RecipeError) as caught:
        parse(PairFiles, {"corpora": [corpus]})
    assert words in str(caught.value)


def test_no_folder_says_how_to_name_one():
    with pytest.raises(DataError, match=r"--set data\.folder=path/to/folder \(with files such as train\.en"):
        PairFiles().load(1, Ledger())


def test_all_missing_files_are_named_at_once_with_the_remedy(tmp_path):
    fill(tmp_path, train=["a=A"], valid=["b=B"])
    with pytest.raises(DataError) as caught:
        load(tmp_path)
    lines = str(caught.value).splitlines()
    similar = "similar names in that folder: valid.en, valid.de, train.en"
    assert lines[0] == f"no file {tmp_path / 'val.en'}; {similar}"
    assert [line.split(";")[0].rpartition("/")[2] for line in lines[1:4]] == [
        "val.de", "test2016.en", "test2016.de",
    ]
    assert 'leave a split out with data.validation="" or data.test=""' in lines[4]


def test_nothing_to_train_on_and_a_file_listed_twice_are_refused(tmp_path):
    fill(tmp_path, train=["=A", "="], val=["b=B"])
    with pytest.raises(DataError, match="no training pairs: every line was empty"):
        load(tmp_path, test="")
    again = CorpusFiles(source=f"{tmp_path}/val.en", target=f"{tmp_path}/val.de")
    with pytest.raises(DataError, match=r"val\.en is listed twice for train; list it once and give it"):
        load(tmp_path, train="val", test="", corpora=(again,))
    other = CorpusFiles(source=f"{tmp_path}/val.en", target=f"{tmp_path}/train.de")
    with pytest.raises(DataError, match=r"val\.en is the source of two corpora of train, with .*val\.de and with"):
        load(tmp_path, train="val", test="", corpora=(other,))


def test_a_weight_on_what_is_not_trained_on_is_refused(tmp_path):
    fill(tmp_path, train=["a=A"], val=["b=B"], more=["c=C"])
    idle = CorpusFiles(source=f"{tmp_path}/more.en", target=f"{tmp_path}/more.de", split="test", weight=2.0)
    with pytest.raises(DataError, match=r"not for training: .*more\.en \(test\); leave their weights out"):
        load(tmp_path, test="", corpora=(idle,))


def test_the_small_world_gives_gold_alignments_and_a_sound_ledger():
    corpus = SmallWorld(train=97, validation=11, test=13, compositional=7).load(3, Ledger())
    assert {split: len(pairs) for split, pairs in corpus.splits.items()} == {
        "train": 97, "validation": 11, "test": 13, "compositional": 7,
    }
    assert set(corpus.gold) == {"validation", "test", "compositional"}
    for pair, gold in zip(corpus.splits["test"], corpus.gold["test"]):
        assert gold.sure <= gold.possible
        assert all(word in pair.source for word in gold.source_words)
        assert all(i < len(gold.source_words) and j < len(gold.target_words) for i, j in gold.possible)


def test_the_table_of_data_parts_resolves():
    assert [DATA.resolve(kind)().kind for kind in DATA.kinds()] == list(DATA.kinds())


def test_multi30k_reads_whole(shared):
    corpus = load(shared("data/multi30k/tok"))
    assert corpus.ledger.total("read") == 29_000 + 1014 + 1000
    assert len(corpus.splits["validation"]) == 1014
