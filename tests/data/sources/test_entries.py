"""Splits named as a file, a folder, a pattern or a list, with options or without: the same for every kind of data."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from regard.core.config import parse
from regard.core.errors import DataError, RecipeError
from regard.data import DATA
from regard.data.corpus import Corpus, Pair
from regard.data.examples import Labelled, QuestionExample, Reference, Tagged, Unlabelled
from regard.data.ledger import Ledger
from regard.data.sources.entries import Entry, matching
from regard.data.texts import Text, TextInMemory, documents


def row(**cells: str) -> str:
    return json.dumps(cells) + "\n"


# By kind: how its files end, and what such a file holds with one word in it.
KINDS: dict[str, tuple[str, Any]] = {
    "pairs": (".tsv", lambda word: f"{word}\t{word.upper()}\n"),
    "labelled": (".csv", lambda word: f"text,label\n{word},x\n"),
    "text-table": (".csv", lambda word: f"text\n{word}\n"),
    "tagged": (".conll", lambda word: f"{word} X\n\n"),
    "questions": (".jsonl", lambda word: row(question="what", context=word, answer=word)),
    "trees": (".mrg", lambda word: f"(NP (NN {word}))\n"),
    "text": (".txt", lambda word: f"{word} "),
}
ASIDE = {"text": {"validation_share": 0.0}}


def fill(kind: str, folder: Path, *words: str) -> None:
    """A file for each word, called like it; "a/b" is in a folder."""
    suffix, content = KINDS[kind]
    for word in words:
        path = folder / f"{word}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content(path.stem), encoding="utf-8")


def load(kind: str, folder: Path, **settings: Any) -> Corpus[Any]:
    aside = ASIDE.get(kind, {"validation_size": 0})
    tree = {"kind": kind, "folder": str(folder), **aside, **settings}
    if "validation" in settings:
        tree = {key: value for key, value in tree.items() if key not in aside}
    return parse(DATA.resolve(kind), tree).load(1, Ledger())  # type: ignore[attr-defined]


def words(corpus: Corpus[Any], split: str = "train") -> list[str]:
    """The words that were put into the files."""
    told = {
        Pair: lambda one: one.source,
        Labelled: lambda one: one.text,
        Unlabelled: lambda one: one.text,
        Tagged: lambda one: one.words[0],
        QuestionExample: lambda one: one.context,
    }
    return ["".join(one.blocks()).strip() if isinstance(one, Text) else told[type(one)](one)
            for one in corpus.splits[split]]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_split_is_a_file_a_folder_a_pattern_or_a_list(kind: str, tmp_path: Path) -> None:
    suffix = KINDS[kind][0]
    fill(kind, tmp_path, "one", "books/b", "books/deep/a", "books/.hidden/c", "more/x", "more/y")
    (tmp_path / "books" / "notes.md").write_text("nothing of this kind")
    for given, found in {
        f"one{suffix}": ["one"],
        "books": ["b", "a"],
        "books/": ["b", "a"],
        f"books/*{suffix}": ["b"],
        f"books/**/[a-b]{suffix}": ["b", "a"],
        f"mor?/*{suffix}": ["x", "y"],
    }.items():
        assert words(load(kind, tmp_path, train=given)) == found, given
        assert words(load(kind, tmp_path, train={"file": given})) == found, given
    listed = [f"more/y{suffix}", {"file": "books"}, f"one{suffix}"]
    assert words(load(kind, tmp_path, train=listed)) == ["y", "b", "a", "one"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_split_is_named_in_the_same_way(kind: str, tmp_path: Path) -> None:
    suffix = KINDS[kind][0]
    fill(kind, tmp_path, "a", "b", "c", "news/d")
    names = {"train": f"a{suffix}", "validation": [f"b{suffix}"], "test": {"file": f"c{suffix}"}}
    corpus = load(kind, tmp_path, **names, other_splits={"news": "news"})
    assert {split: words(corpus, split) for split in corpus.splits} == {
        "train": ["a"], "validation": ["b"], "test": ["c"], "news": ["d"],
    }  # fmt: skip


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "text"])
def test_compressed_files_are_found_alone_and_in_folders(kind: str, tmp_path: Path) -> None:
    suffix, content = KINDS[kind]
    (tmp_path / f"a{suffix}.gz").write_bytes(gzip.compress(content("a").encode()))
    for given in (f"a{suffix}", f"a{suffix}.gz", "."):
        assert words(load(kind, tmp_path, train=given)) == ["a"]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "text"])
def test_weights_are_those_of_the_files(kind: str, tmp_path: Path) -> None:
    suffix = KINDS[kind][0]
    fill(kind, tmp_path, "a", "b", "books/c", "books/d")
    corpus = load(kind, tmp_path, train=[f"a{suffix}", {"file": "books", "weight": 0.5}])
    assert (words(corpus), corpus.weights) == (["a", "c", "d"], (1.0, 0.5, 0.5))
    assert load(kind, tmp_path, train=[{"file": "books", "weight": 1.0}]).weights == ()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "text"])
def test_a_test_split_that_is_set_aside_shares_no_input_with_another_split(kind: str, tmp_path: Path) -> None:
    suffix, content = KINDS[kind]
    rows = [content(f"w{number % 97}") for number in range(150)]
    header = rows[0].split("\n")[0] + "\n" if suffix == ".csv" else ""
    (tmp_path / f"a{suffix}").write_text(header + "".join(one.removeprefix(header) for one in rows), encoding="utf-8")
    corpus = load(kind, tmp_path, train=f"a{suffix}", validation_size=7, test_size=11)
    corpus.ledger.check()
    held = {split: {one.key() for one in own} for split, own in corpus.splits.items()}
    assert list(held) == ["train", "validation", "test"]
    assert corpus.set_aside == ("test", "validation")
    assert not (held["train"] | held["validation"]) & held["test"]
    assert not held["train"] & held["validation"]
    sizes = {split: len(own) for split, own in corpus.splits.items()}
    assert (sum(sizes.values()), sizes["validation"]) == (150, 7)
    assert 10 <= sizes["test"] <= 11
    assert corpus.ledger.splits == sizes
    bigger = load(kind, tmp_path, train=f"a{suffix}", validation_size=0, test_size=11)
    assert words(bigger, "test") == words(corpus, "test"), "what tests is drawn before what validates"
    with pytest.raises(RecipeError, match="test_size has no effect: it says how many examples are set aside, and data"):
        load(kind, tmp_path, train=f"a{suffix}", test=f"a{suffix}", test_size=11)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_named_nothing_there_and_nothing_matching_are_told_with_the_place(kind: str, tmp_path: Path) -> None:
    suffix = KINDS[kind][0]
    (tmp_path / "empty").mkdir()
    for nothing in ("", [], ()):
        with pytest.raises(DataError, match=rf"{kind!r} needs something to train on: --set data\.train=path/to/"):
            load(kind, tmp_path, train=nothing)
    with pytest.raises(DataError, match=r"data\.train = 'empty': no file in this folder ends in \.\w+") as caught:
        load(kind, tmp_path, train="empty")
    assert f"(looked for at {tmp_path / 'empty'})" in str(caught.value)
    with pytest.raises(DataError, match=rf"data\.train = 'empty/\*{suffix}': no file matches \(looked for at /"):
        load(kind, tmp_path, train=f"empty/*{suffix}")
    fill(kind, tmp_path, "a")
    with pytest.raises(DataError, match=rf"no file {tmp_path}/b{suffix}.*\n.*Check data\.other_splits\.news"):
        load(kind, tmp_path, train=f"a{suffix}", other_splits={"news": f"b{suffix}"})


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "text"])
def test_what_has_no_effect_is_refused(kind: str, tmp_path: Path) -> None:
    suffix = KINDS[kind][0]
    for settings, message in (
        ({"validation": f"b{suffix}", "validation_size": 5}, "validation_size has no effect: it says how many exampl"),
        ({"validation": {"file": f"b{suffix}", "weight": 2.0}}, r"weight has no effect on data\.validation"),
        ({"overlap": "warn"}, r"overlap has no effect: no split but data\.train is named; leave it out"),
        ({"corpora": []}, "corpora: unknown key"),
    ):
        with pytest.raises(RecipeError, match=message):
            parse(DATA.resolve(kind), {"kind": kind, "train": f"a{suffix}", **settings})
    named = {"train": f"a{suffix}", "validation": f"b{suffix}", "validation_size": 0, "overlap": "remove"}
    assert parse(DATA.resolve(kind), {"kind": kind, **named})


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"kind": "text", "train": {"file": "a.txt", "weight": 2.0}}, "unknown key 'weight'; valid here: file"),
        ({"kind": "text", "train": "a.txt", "validation": "b.txt", "validation_share": 0.2}, "validation_share has no"),
        ({"kind": "tagged", "train": "a.conll", "words": "tokens"}, "words has no effect: CoNLL columns are counted"),
        ({"kind": "tagged", "train": ["a.csv", "b.jsonl.gz"], "tag": 2}, "tag has no effect: tables name their column"),
        ({"kind": "tagged", "train": {"file": "a.csv", "tag": 2}}, r"train\.0: tag has no effect: tables name"),
        ({"kind": "pictures", "train": "a", "image": "file"}, "image has no effect: folders for each class have no"),
        ({"kind": "pictures", "train": "a", "label": "x"}, "label has no effect: folders for each class have no"),
        ({"kind": "pictures", "train": "a", "classes": ["x"]}, "classes has no effect: folders for each class nam"),
        ({"kind": "pictures", "train": ["a", "b.csv"], "classes": ["x"]}, "folders for each class and tables name"),
        ({"kind": "pictures", "train": "i-idx3", "verify": "header"}, "verify has no effect: idx files are always"),
        ({"kind": "pictures", "train": "i-idx3.gz", "label": "x"}, "label has no effect: idx files have no columns"),
        ({"kind": "pictures", "train": {"file": "a", "label": "x"}}, r"train\.0: label has no effect: folders for"),
        ({"kind": "labelled", "train": "a.csv", "second": "text"}, "text and second are the same, 'text'; they must"),
        ({"kind": "labelled", "train": {"file": "a.csv", "lable": "x"}}, r"unknown key 'lable' \(did you mean 'label'"),
        ({"kind": "labelled", "train": {"weight": 2.0}}, "file is missing: name a file, a folder or a pattern"),
        ({"kind": "questions", "train": [3]}, r"train\.0"),
    ],
)
def test_what_a_kind_does_not_know_is_refused(tree: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        parse(DATA.resolve(tree["kind"]), tree)


@pytest.mark.parametrize(
    "tree",
    [
        {"train": ["a", "b.csv"], "label": "x", "verify": "header"},
        {"train": ["a", "i-idx3"], "classes": ["x"], "verify": "header"},
        {"train": "*/some", "image": "x", "classes": ["x"], "verify": "header"},
        {"train": "my-idx-files", "classes": ["x"], "verify": "header"},
    ],
)
def test_what_has_an_effect_on_some_pictures_is_taken(tree: dict[str, Any]) -> None:
    """A folder may have any name, and a pattern stand for any file."""
    parse(DATA.resolve("pictures"), tree)


def test_a_file_may_have_columns_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t,y\na,1\n")
    (tmp_path / "b.csv").write_text("body,y\nb,2\n")
    corpus = load("labelled", tmp_path, text="t", label="y", train=["a.csv", {"file": "b.csv", "text": "body"}])
    assert [(one.text, one.label) for one in corpus.splits["train"]] == [("a", "1"), ("b", "2")]
    (tmp_path / "c.jsonl").write_text(row(q="who", context="me", answer="me"))
    assert load("questions", tmp_path, train={"file": "c.jsonl", "question": "q"}).splits["train"][0].question == "who"
    (tmp_path / "d.conll").write_text("1 the DET\n")
    (found,) = load("tagged", tmp_path, train={"file": "d.conll", "word": 2}).splits["train"]
    assert (found.words, found.tags) == (("the",), ("DET",))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_out_is_read_as_the_same(kind: str) -> None:
    suffix = KINDS[kind][0]
    for settings in (
        {"train": f"a{suffix}"},
        {"train": ["a", f"b*{suffix}"], "validation": f"c{suffix}", "folder": "here"},
        {"train": f"a{suffix}", "other_splits": {"news": [f"d{suffix}"]}},
        {},
    ):
        part = parse(DATA.resolve(kind), {"kind": kind, **settings})
        assert parse(DATA.resolve(kind), part.model_dump()) == part
        assert part.model_dump().get("train") == settings.get("train", [])


def test_paths_count_from_the_recipe_those_of_the_command_line_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    base = Path("/recipes")
    both = {"source": "a.en", "target": "a.de"}
    tree = {"kind": "pairs", "train": both, "test": "/t.tsv", "validation": "~/v.tsv"}
    part: Any = parse(DATA.resolve("pairs"), tree)
    found = part.located(base).model_dump()
    assert found["train"] == {"source": "/recipes/a.en", "target": "/recipes/a.de"}
    assert (found["test"], found["validation"]) == ("/t.tsv", str(Path.home() / "v.tsv"))
    assert part.located(base).located(Path("/elsewhere")) == part.located(base)
    mixed = part.located(base, ["train.source"]).model_dump()["train"]
    assert mixed == {"source": f"{tmp_path}/a.en", "target": "/recipes/a.de"}
    for given in ("train", ""):
        assert part.located(base, [given]).model_dump()["train"]["target"] == f"{tmp_path}/a.de"
    others: Any = parse(DATA.resolve("text"), {"kind": "text", "train": "*.txt", "other_splits": {"b": ["c", "d"]}})
    located = others.located(base, ["other_splits.b"]).model_dump()
    assert (located["train"], located["other_splits"]) == ("/recipes/*.txt", {"b": [f"{tmp_path}/c", f"{tmp_path}/d"]})


def test_a_folder_is_where_all_paths_count_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    part: Any = parse(DATA.resolve("text"), {"kind": "text", "folder": "data", "train": "a.txt"})
    located = part.located(Path("/recipes"), ["train"])
    assert (located.folder, located.train[0].file) == ("/recipes/data", "a.txt")
    assert part.located(Path("/recipes"), ["folder"]).folder == f"{tmp_path}/data"
    shipped: Any = parse(DATA.resolve("text"), {"kind": "text", "folder": ".", "train": "a.txt"})
    assert shipped.located(Path("/recipes"), ["folder"]).folder == str(tmp_path), "--set data.folder=."
    unset = part.model_copy(update={"folder": ""})
    assert unset.located(Path("/recipes")) == unset


def test_patterns_are_looked_for_from_their_plain_beginning(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "deep/er/c.txt", "deep/d.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert [path.name for path in matching(tmp_path / "**" / "*.txt")] == ["a.txt", "b.txt", "c.txt"]
    assert [path.name for path in matching(tmp_path / "deep" / "*" / "*")] == ["c.txt"]
    assert matching(tmp_path / "nowhere" / "*.txt") == []


@pytest.mark.parametrize("kind", ["labelled", "text"])
def test_the_name_of_a_folder_is_no_pattern(kind: str, tmp_path: Path) -> None:
    folder, suffix = tmp_path / "my [1] *", KINDS[kind][0]
    fill(kind, folder, "a", "b[c]", "more/d")
    cases = {f"[ab]{suffix}": ["a"], f"b[c]{suffix}": ["b[c]"], f"**/*{suffix}": ["a", "b[c]", "d"]}
    for given, found in cases.items():
        assert words(load(kind, folder, train=given)) == found
        tree = {"kind": kind, "train": given, **ASIDE.get(kind, {"validation_size": 0})}
        part: Any = parse(DATA.resolve(kind), tree)
        assert words(part.located(folder).load(1, Ledger())) == found
    if kind == "labelled":
        (folder / "e.csv.gz").write_bytes(gzip.compress(b"text,label\ne,x\n"))
        assert words(load(kind, folder, train="e.csv")) == ["e"]


@pytest.mark.parametrize(
    "example",
    [
        Pair("a", "b", 3, "f"),
        Labelled("a", "x", "", "g", 3, "f"),
        Labelled("a", "x", "b"),
        Unlabelled("a", 3, "f"),
        Tagged(("a", "b"), ("X", "Y"), 3, "f"),
        QuestionExample("q", "c d", (Reference("c", 0), Reference("d", 2)), 3, "f"),
    ],
)
def test_an_example_is_the_same_after_a_way_through_json(example: Any) -> None:
    assert type(example).from_record(json.loads(json.dumps(example.record()))) == example


def test_anything_can_be_labelled() -> None:
    """Duplicates are told by an example's key, whatever that is."""
    one, other = Labelled(b"\x00\x01", "cat", line=1), Labelled(b"\x00\x01", "cat", line=2)
    assert one.key() == other.key() == b"\x00\x01"
    assert (one.answer(), one.raw) == ("cat", b"\x00\x01")


def test_texts_of_examples_are_documents_and_pairs_are_none() -> None:
    labelled = Corpus({"train": (Labelled("a", "x", "b", line=1, origin="f"),)}, Ledger())
    assert documents(labelled).splits["train"] == (TextInMemory("f", "a"), TextInMemory("f", "b"))
    with pytest.raises(DataError, match=r"learns from running text, and the split 'train' has Pairs; choose data"):
        documents(Corpus({"train": (Pair("a", "b"),)}, Ledger()))
    with pytest.raises(DataError, match="weights of files have no effect"):
        documents(Corpus({"train": (Labelled("a", "x"),)}, Ledger(), weights=(2.0,)))
    given = Corpus({"train": (TextInMemory("f", "a"),)}, Ledger())
    assert documents(given) is given


def test_texts_of_tables_are_read_by_name_and_by_number(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id;body\n1;one\n2;\n3;three\n")
    (tmp_path / "b.txt").write_text("four\n'five\n")
    entries = [{"file": "a.csv", "separator": ";", "text": "body"}, {"file": "b.txt", "separator": "\t", "text": 1}]
    corpus = load("text-table", tmp_path, train=entries)
    assert words(corpus) == ["one", "three", "four", "'five"]
    assert [(one.line, one.reason) for one in corpus.ledger.exceptions] == [(3, "no body")]
    held = documents(corpus).splits["train"]
    assert held[1] == TextInMemory(str(tmp_path / "a.csv"), "three")


def test_labelled_tables_are_read_by_number_and_with_separators_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text('ham\tyes\nspam\t"no\n')
    numbers = {"text": 2, "label": 1, "separator": "\t", "quotes": "plain"}
    corpus = load("labelled", tmp_path, train="a.txt", **numbers)
    found = [(one.text, one.label, one.line) for one in corpus.splits["train"]]
    assert found == [("yes", "ham", 1), ('"no', "spam", 2)]
    for settings, message in (
        ({"text": 2}, "text = 2 and label = 'label': give names, or numbers for a table without a line of names"),
        ({"text": "label"}, "text and label are the same, 'label'; they must differ"),
        ({"train": {"file": "b.csv", "text": 1}}, r"b\.csv: text = 1 and label = 'label': give names, or numbers"),
    ):
        with pytest.raises(RecipeError, match=message):
            load("labelled", tmp_path, **{"train": "a.csv", **settings})
    (tmp_path / "c.jsonl").write_text(row(text="a", label="b"))
    for settings, message in (
        ({"text": 2, "label": 1}, r"c\.jsonl: its lines are JSON objects, which have keys and no order; name the keys"),
        ({"separator": ","},
         r"c\.jsonl: its lines are JSON objects, so data\.separator and data\.quotes have no effect"),
    ):
        with pytest.raises(DataError, match=message):
            load("labelled", tmp_path, train="c.jsonl", **settings)


def test_a_folder_for_each_class_holds_labelled_texts(tmp_path: Path) -> None:
    for name, text in {
        "train/pos/a.txt": "good\n", "train/pos/deep/b": "fine\nvery", "train/neg/c.txt": "bad",
        "train/neg/d.txt": " \n", "train/neg/.hidden": "no", "train/.cache/x": "no", "test/pos/e.txt": "good",
    }.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    corpus = load("labelled", tmp_path, train="train", test="test")
    corpus.ledger.check()
    assert [(one.text, one.label, one.line) for one in corpus.splits["train"]] == [
        ("bad", "neg", 1), ("good", "pos", 3), ("fine\nvery", "pos", 4),
    ]  # fmt: skip
    told = [(one.what, one.line, one.reason, one.detail) for one in corpus.ledger.exceptions]
    assert told[0] == ("skipped", 2, "no text", str(tmp_path / "train/neg/d.txt"))
    assert told[1][:3] == ("in_two_splits", 3, "also in test")
    with pytest.raises(DataError, match=r"a folder for each class, which have no columns, so data\.text has no effect"):
        load("labelled", tmp_path, train="train", text="body")
    (tmp_path / "train/pos/f.txt").write_bytes(b"caf\xe9")
    with pytest.raises(DataError, match=r"train: 1 of 5 files cannot be read as texts: .*f\.txt is not valid UTF-8"):
        load("labelled", tmp_path, train="train")
    (tmp_path / "train/pos/g.PNG").write_bytes(b"\x89PNG\r\n")
    with pytest.raises(DataError, match=r"train: 1 of 6 files are pictures, such as .*g\.PNG, and texts are read here"):
        load("labelled", tmp_path, train="train")


def test_pairs_have_two_streams_of_texts_and_others_one() -> None:
    pairs = Corpus({"train": (Pair("a", "A"), Pair("b", "B"))}, Ledger())
    assert [list(stream) for stream in pairs.training_texts(joint=False)] == [["a", "b"], ["A", "B"]]
    assert [list(stream) for stream in pairs.training_texts(joint=True)] == [["a", "A", "b", "B"]]
    asked = Corpus({"train": (QuestionExample("q", "c"),)}, Ledger())
    assert [list(stream) for stream in asked.training_texts(joint=False)] == [["q", "c"]]
    with pytest.raises(DataError, match="a tokenizer learns from texts, and these examples"):
        Corpus({"train": (Picture(),)}, Ledger()).training_texts(joint=True)


class Picture:
    """An example without texts."""

    line, origin = 1, "a.png"

    def key(self) -> int:
        return 7

    def answer(self) -> str:
        return "cat"


def test_an_entry_is_written_as_briefly_as_it_can_be_read() -> None:
    assert Entry(file="a").written() == "a"
