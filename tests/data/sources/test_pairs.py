"""Corpora from files: splits that are kept apart, named where they are not, and errors with a remedy."""

from collections import Counter

import pytest

from regard.core.config import parse, read_toml, to_toml
from regard.core.errors import DataError, RecipeError
from regard.data import DATA
from regard.data.ledger import Ledger
from regard.data.sources.pairs import PairFiles
from regard.data.sources.world import SmallWorld

STEMS = {"train": "train", "validation": "val", "test": "test2016"}


def fill(folder, **splits):
    """Writes ``name.en`` and ``name.de`` from lines such as "a=b"."""
    for name, rows in splits.items():
        for side, suffix in enumerate(("en", "de")):
            lines = [row.split("=")[side] for row in rows]
            (folder / f"{name}.{suffix}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def parallel(stem, **options):
    return {"source": f"{stem}.en", "target": f"{stem}.de", **options}


def load(folder, *splits, seed=1, **settings):
    """The named splits, from their files in a folder."""
    named = {split: parallel(STEMS[split]) for split in splits or STEMS}
    return checked(PairFiles(folder=str(folder), **{**named, **settings}), seed)


def checked(part, seed=1):
    corpus = part.load(seed, Ledger())
    corpus.ledger.check()
    return corpus


def sources(corpus, split):
    return [pair.source for pair in corpus.splits[split]]


def entries(corpus):
    return [(entry.what, entry.split, entry.line, entry.reason) for entry in corpus.ledger.exceptions]


def refusal(settings):
    with pytest.raises(RecipeError) as caught:
        parse(PairFiles, settings)
    return str(caught.value)


def test_splits_are_read_and_what_stands_in_two_is_named(tmp_path):
    fill(tmp_path, train=["a=A", "b=B", "c=C", "b=B", "d=D"], val=["b=B", "v=V"], test2016=["c=other", "v=V"])
    corpus = load(tmp_path)
    assert [len(corpus.splits[split]) for split in ("train", "validation", "test")] == [5, 2, 2]
    assert entries(corpus) == [
        ("duplicated", "train", 4, "the same as an earlier example"),
        ("in_two_splits", "train", 2, "also in validation"),
        ("in_two_splits", "train", 4, "also in validation"),
        ("in_two_splits", "train", 3, "also in test, with another answer"),
        ("in_two_splits", "validation", 2, "also in test"),
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
    corpus = load(tmp_path, "train")
    train, validation = sources(corpus, "train"), sources(corpus, "validation")
    assert 9 <= len(validation) <= 11
    assert not set(train) & set(validation)
    assert Counter(train + validation) == Counter(row.split("=")[0] for row in rows)
    assert "were set aside for validation (seed 1)" in corpus.ledger.notes[0]
    assert corpus.ledger.total("kept", ["validation"]) == len(validation)
    assert sources(load(tmp_path, "train"), "validation") == validation
    assert sources(load(tmp_path, "train", seed=2), "validation") != validation
    assert "; a tenth at most, so not the 1,000 of data.validation_size" in corpus.ledger.notes[0]
    five = load(tmp_path, "train", validation_size=5)
    assert len(five.splits["validation"]) == 5
    assert "a tenth" not in five.ledger.notes[0]
    assert "validation" not in load(tmp_path, "train", validation_size=0).splits


def test_too_few_pairs_for_a_validation_split_are_refused_with_a_remedy(tmp_path):
    fill(tmp_path, train=["a=A"] * 3)
    with pytest.raises(DataError, match=r"3 training examples with 1 different inputs are too few .*_size=0"):
        load(tmp_path, "train")


def test_several_files_keep_their_weights_through_removal(tmp_path):
    fill(tmp_path, big=["a=A", "b=B"], test=["b=B"])
    (tmp_path / "small.tsv").write_text("c\tC\nd\tD\n")
    (tmp_path / "more.jsonl").write_text('{"fr": "e", "target": "E"}\n')
    tree = {
        "kind": "pairs", "folder": str(tmp_path), "overlap": "remove",
        "train": [parallel("big"), {"file": "small.tsv", "weight": 2.5}],
        "validation": {"file": "more.jsonl", "source_column": "fr"},
        "test": parallel("test"),
    }  # fmt: skip
    part = parse(PairFiles, tree)
    corpus = checked(part)
    assert sources(corpus, "train") == ["a", "c", "d"]
    assert corpus.weights == (1.0, 2.5, 2.5)
    assert sources(corpus, "validation") == ["e"]
    (tmp_path / "recipe.toml").write_text(to_toml(part))
    assert parse(PairFiles, read_toml(tmp_path / "recipe.toml")) == part


@pytest.mark.parametrize(
    ("name", "text", "columns", "found"),
    [
        ("a.tsv", "a\tA\nb\tB\n", {}, "aA bB"),
        ("a.tsv", "target\tsource\nA\ta\n", {}, "aA"),
        ("a.tsv", "en\tde\n", {}, "ende"),  # other words are a pair, and not taken for names
        ("a.tsv", "source\ttarget\n", {"source_column": 1, "target_column": 2}, "sourcetarget"),
        ("a.tsv", "x\tA\ta\ny\tB\tb\n", {"source_column": 3, "target_column": 2}, "aA bB"),
        ("a.tsv", "de\tid\ten\nA\t1\ta\n", {"source_column": "en", "target_column": "de"}, "aA"),
        ("a.csv", '"a","A"\nb,B\n', {}, "aA bB"),
        ("a.csv", "target,x,source\nA,,a\n", {}, "aA"),
        ("a.csv", "en,de\na,A\n", {"source_column": "en", "target_column": "de"}, "aA"),
        ("a.csv", "a;A\nb;B\n", {"separator": ";"}, "aA bB"),
        ("a.csv", "target;source\nA;a\n", {"separator": ";"}, "aA"),
        ("a.txt", "a\tA\nb\t'B\n", {"separator": "\t"}, "aA b'B"),
        ("a.csv", 'a,"A\nb,B\n', {"quotes": "plain"}, 'a"A bB'),
        ("a.tsv", 'a\t"A\tÄ"\n', {"quotes": "enclose"}, "aA\tÄ"),
        ("a.jsonl", '{"source": "a", "target": "A"}\n', {}, "aA"),
        ("a.json", '{"en": "a", "de": "A"}\n', {"source_column": "en", "target_column": "de"}, "aA"),
    ],
)
def test_columns_of_tables_by_name_by_number_and_by_themselves(name, text, columns, found, tmp_path):
    (tmp_path / name).write_text(text)
    for settings in ({"train": name, **columns}, {"train": {"file": name, **columns}}):
        corpus = checked(PairFiles(folder=str(tmp_path), validation_size=0, **settings))
        assert " ".join(f"{one.source}{one.target}" for one in corpus.splits["train"]) == found


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"train": {"fiel": "a.tsv"}}, "train.0: unknown key 'fiel' (did you mean 'file'?); valid here: file, "),
        ({"train": [{"source": "a.en"}]}, "train.0: name a file with both sides, or both source and target as two"),
        ({"train": {"file": "a.tsv", "source": "en"}}, "the columns of a file are named with source_column and target"),
        ({"train": {**parallel("a"), "source_column": 1, "target_column": 2}}, "have no effect on parallel files"),
        ({"train": parallel("a"), "source_column": "en"}, "source_column has no effect: all pairs are in parallel fil"),
        ({"train": "a.csv", "separator": ""}, "separator = '' is not one character; give one"),
        ({"train": parallel("a"), "quotes": "plain"}, "quotes has no effect: all pairs are in parallel files"),
        ({"train": {"file": "a.tsv", "weight": 0.0}}, "train.0.weight: Input should be greater than 0"),
        ({"train": 60000}, "train: a file, a folder, a pattern, or a list of them is expected, found 60000"),
        ({"train": ["a.tsv", ""]}, "train: a list of files has an empty name in it; take it out"),
        ({"train": "a.tsv", "source_column": 1}, "give names, or numbers for a table without a line of names"),
        ({"train": {"file": "a.tsv", "source_column": "en"}, "source_column": 1, "target_column": 2},
         "a.tsv: source_column = 'en' and target_column = 2: give names, or numbers"),
        ({"train": "a.tsv", "source_column": 0, "target_column": 1}, "are counted from 1"),
        ({"train": "a.tsv", "source_column": "x", "target_column": "x"}, "are the same, 'x'; they must differ"),
        ({"train": "a.tsv", "validation": {"file": "b.tsv", "weight": 2.0}}, "weight has no effect on data.validation"),
        ({"train": "a.tsv", "other_splits": {"news": [{"file": "b.tsv", "weight": 1.0}]}}, "no effect on data.other_s"),
        ({"train": "a.tsv", "other_splits": {"test": "b.tsv"}}, "other_splits.test: this split has a key of its own"),
        ({"train": "a.tsv", "other_splits": {"news": []}}, "other_splits.news names no file"),
        ({"train": "a.tsv", "validation": "b.tsv", "validation_size": 9}, "validation_size has no effect: it says how"),
        ({"train": "a.tsv", "overlap": "remove"}, "overlap has no effect: no split but data.train is named; leave it"),
        ({"train": "/a.tsv", "folder": "b"}, "folder has no effect: all files are named by absolute paths"),
    ],
)
def test_what_is_described_wrongly_or_has_no_effect_is_refused_in_words(settings, words):
    assert words in refusal(settings)


def test_further_splits_have_names_of_their_own(tmp_path):
    fill(tmp_path, train=["a=A"], val=["b=B"], test2016=["c=C"], news=["d=D"])
    corpus = load(tmp_path, other_splits={"news": parallel("news")})
    assert {split: sources(corpus, split) for split in corpus.splits} == {
        "train": ["a"], "validation": ["b"], "test": ["c"], "news": ["d"],
    }  # fmt: skip


def test_what_is_written_out_is_short_and_read_as_the_same():
    tree = {"kind": "pairs", "train": [{"file": "a.tsv"}], "validation": ["b.tsv", parallel("c")], "test": []}
    part = parse(PairFiles, tree)
    assert part.model_dump() == {
        "kind": "pairs", "source_column": "auto", "target_column": "auto", "folder": ".", "overlap": "warn",
        "separator": "auto", "quotes": "auto", "rows": "",
        "train": "a.tsv", "validation": ["b.tsv", parallel("c")], "test": [],
        "test_size": 0,
    }  # fmt: skip
    assert parse(PairFiles, part.model_dump()) == part


def test_no_folder_says_how_to_name_one():
    with pytest.raises(DataError, match=r"--set data\.folder=path/to/folder \(with train\.en, train\.de"):
        load("")


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
    assert lines[4].startswith("Check data.validation, data.test. Paths in a recipe count from data.folder, by default")


def test_nothing_to_train_on_and_a_file_listed_twice_are_refused(tmp_path):
    fill(tmp_path, train=["=A", "="], val=["b=B"])
    reasons = r"\(line 1: the source is empty; line 2: both sides are empty\); check data\.train"
    with pytest.raises(DataError, match=rf"there is nothing to train on in .*train\.en {reasons}"):
        load(tmp_path, "train", "validation")
    with pytest.raises(DataError, match=r"val\.en is listed twice for train; list it once and give it"):
        load(tmp_path, train=[parallel("val"), parallel("val")], test=())
    other = {"source": "val.en", "target": "train.de"}
    with pytest.raises(DataError, match=r"val\.en is the source of two entries of train, with .*val\.de and with"):
        load(tmp_path, train=[parallel("val"), other], test=())


def test_a_file_that_cannot_hold_both_sides_is_refused_with_the_way_to_name_two(tmp_path):
    fill(tmp_path, train=["a=A"])
    with pytest.raises(DataError, match=r"data\.train names .*train\.en: a file of both sides must end in \.csv, \.t"):
        checked(PairFiles(folder=str(tmp_path), train="train.en"))


def test_parallel_files_are_named_one_by_one(tmp_path):
    fill(tmp_path, train=["a=A"])
    with pytest.raises(DataError, match=r"data\.train: source and target name one file each, so .*\*\.en and "):
        checked(PairFiles(folder=str(tmp_path), train=parallel("*")))


def test_a_table_may_differ_in_one_column(tmp_path):
    (tmp_path / "a.csv").write_text("en,de,fr\na,A,x\n")
    entries = [{"file": "a.csv", "source_column": "fr"}]
    corpus = checked(
        PairFiles(folder=str(tmp_path), train=entries, source_column="en", target_column="de", validation_size=0)
    )
    assert [(one.source, one.target) for one in corpus.splits["train"]] == [("x", "A")]


def test_keys_of_json_are_not_counted(tmp_path):
    (tmp_path / "a.jsonl").write_text("{}\n")
    with pytest.raises(DataError, match="JSON objects, which have keys and no order; name the keys with source_column"):
        checked(PairFiles(folder=str(tmp_path), train="a.jsonl", source_column=1, target_column=2))


def test_the_small_world_gives_gold_alignments_and_a_sound_ledger():
    sizes = {"train_size": 97, "validation_size": 11, "test_size": 13, "compositional_size": 7}
    corpus = SmallWorld(**sizes).load(3, Ledger())
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
