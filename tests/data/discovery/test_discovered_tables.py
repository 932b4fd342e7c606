"""Tables of a user's own: columns are judged by what is in them, and what is not certain is asked back."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from regard.core.config import parse
from regard.data import DATA
from regard.data.discovery.found import TextFacts
from regard.data.ledger import Ledger
from tests.data.discovery.looked import look, refusal, row, sentence, table, told, write


def test_texts_with_labels_are_classified(tmp_path: Path) -> None:
    write(tmp_path, {"mails.csv": table(100) + "a last mail,ham\na last mail,ham\n,ham\nno label here,\n"})
    found = look(tmp_path, "mails.csv")
    assert (found.task, found.labels) == ("classification", {"ham": 52, "spam": 50})
    assert found.data == {
        "kind": "labelled", "text": "text", "label": "label", "train": str(tmp_path / "mails.csv"),
        "validation_size": 9, "test_size": 10,
    }  # fmt: skip
    assert found.examples == {"train": 83, "validation": 9, "test": 10}
    assert (found.duplicates, found.skipped) == (1, 2)
    assert isinstance(found.inputs, TextFacts)
    assert found.inputs.words.median == 6
    for sentence_told in (
        "mails.csv: 104 rows, columns text, label",
        "2 labels: ham 52, spam 50",
        "text: median 6 words, 5 % have more than 6, longest 6",
        "1 row is there more than once",
        "1 row will be skipped: no text",
        "1 row will be skipped: no label",
        "'label' has few short values that recur: labels",
        "'text' has the texts",
        "no file is named for test: 10 examples of 102 set aside for it",
    ):
        assert sentence_told in told(found).splitlines()


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.tsv", table(60).replace(",", "\t"), {}),
        ("a.csv", table(60).replace(",", ";"), {"separator": ";"}),
        ("a.csv", table(60).replace(",", "\t"), {"separator": "\t"}),
        ("a.txt", table(60).replace(",", "\t"), {"separator": "\t"}),
        ("mails", table(60).replace(",", "\t"), {"separator": "\t"}),
        ("a.csv", table(60) + '"a, b\nand ""c""",ham\n', {"quotes": "enclose"}),
        ("a.tsv", table(60).replace(",", "\t") + '"so he said\tham\n', {"quotes": "plain"}),
        ("a.csv", "\ufeff" + table(60), {}),
        ("a [1]*.csv", table(60), {}),
        ("a.csv", "label,text,,\n" + "".join(f"{'xyz'[n % 3]},{sentence(n)},,\n" for n in range(60)) + "x,a,b,\n", {}),
        ("a.csv", table(60).replace("\n", "\r\n"), {}),
        ("a.csv.gz", gzip.compress(table(60).encode(), mtime=0), {}),
        ("a.csv", table(60, header=""), {"text": 1, "label": 2}),
        ("a.jsonl", "".join(row(text=sentence(number), label=number % 3) for number in range(60)), {}),
        ("a.csv", table(60, labels=("1", "2", "3", "4", "5")), {}),
        ("a.csv", table(60, header="Tweet,Emotion"), {"text": "Tweet", "label": "Emotion"}),
        ("a.csv", table(60, header="what was said,by whom"), {"text": "what was said", "label": "by whom"}),
    ],
)
def test_however_a_table_is_written_it_is_read_so(
    name: str, content: str | bytes, expected: dict[str, object], tmp_path: Path
) -> None:
    write(tmp_path, {name: content})
    found = look(tmp_path, name)
    named = {key: found.data[key] for key in ("text", "label", "separator", "quotes") if key in found.data}
    assert named == {"text": "text", "label": "label", **expected}
    assert found.task == "classification"


@pytest.mark.parametrize(
    ("header", "columns", "why"),
    [
        ("source,target", ("source", "target"), "by their names"),
        ("target,source", ("source", "target"), "by their names"),
        ("en,de", ("en", "de"), "by their names"),
        ("word,pronunciation", ("word", "pronunciation"), "by their names"),
        ("correction,misspelling", ("misspelling", "correction"), "by their names"),
        ("here,there", ("here", "there"), "since 'here' comes first"),
    ],
)
def test_two_columns_of_texts_are_translated(
    header: str, columns: tuple[object, ...], why: str, tmp_path: Path
) -> None:
    rows = [f"{sentence(number)},{sentence(number)[::-1]}" for number in range(50)]
    write(tmp_path, {"a.csv": "\n".join([header, *rows])})
    found = look(tmp_path, "a.csv")
    assert (found.task, found.data["kind"]) == ("translation", "pairs")
    assert (found.data["source_column"], found.data["target_column"]) == columns
    assert why in told(found)
    assert found.outputs is not None


def test_words_of_a_dictionary_are_pairs_and_their_first_line_is_no_list_of_names(tmp_path: Path) -> None:
    words = [sentence(number).split()[0] + chr(97 + number) for number in range(30)]
    rows = [f"{word}\t{word[::-1]}" for word in words]
    write(tmp_path, {"a.tsv": "\n".join(rows)})
    found = look(tmp_path, "a.tsv")
    assert (found.data["source_column"], found.data["target_column"]) == (1, 2)
    assert "no line of names (its first line looks like the others)" in told(found)
    other = look(tmp_path, "a.tsv", source_column="2", target_column="1")
    assert (other.data["source_column"], other.data["target_column"]) == (2, 1)


def test_a_column_of_texts_alone_is_a_language_model(tmp_path: Path) -> None:
    write(tmp_path, {"a.csv": "id,text\n" + "".join(f"{number},{sentence(number)}\n" for number in range(40))})
    found = look(tmp_path, "a.csv")
    assert (found.task, found.data["kind"], found.data["text"]) == ("language-model", "text-table", "text")
    assert "not used: id" in told(found)
    assert look(tmp_path, "a.csv", task="masked-language-model").task == "masked-language-model"
    write(tmp_path, {"b.csv": table(40)})
    assert look(tmp_path, "b.csv", task="language-model").data["text"] == "text"


def test_words_and_tags_in_lists_are_tagged(tmp_path: Path) -> None:
    rows = [row(tokens=sentence(number).split(), ner_tags=[0, 1, 2, 0, 1, 2], id=str(number)) for number in range(40)]
    write(tmp_path, {"a.jsonl": "".join(rows)})
    found = look(tmp_path, "a.jsonl")
    assert (found.task, found.data["words"], found.data["tags"]) == ("tagging", "tokens", "ner_tags")
    assert found.labels == {"0": 80, "1": 80, "2": 80}
    spaced = [f"{sentence(number)},D N V D N {'NV'[number % 2]}\n" for number in range(40)]
    write(tmp_path, {"c.csv": "words,tags\n" + "".join(spaced), "d.csv": "words,tags\n" + table(40, header="")})
    assert look(tmp_path, "c.csv").task == "tagging"
    assert look(tmp_path, "d.csv").task == "classification"
    assert "as many in each row, called words and tags" in refusal(tmp_path, "d.csv", task="tagging")
    write(tmp_path, {"b.jsonl": "".join(rows) + row(tokens=["a", "b"], ner_tags=[0], id="x")})
    assert "b.jsonl: line 41 has 2 words and 1 tags. Correct these lines" in refusal(tmp_path, "b.jsonl")


def test_questions_with_contexts_and_answers_are_answered(tmp_path: Path) -> None:
    rows = [
        row(id=number, question=f"what runs {number} steps", context=sentence(number),
            answers={"text": [sentence(number).split()[0]], "answer_start": [0]})
        for number in range(40)
    ]  # fmt: skip
    write(tmp_path, {"a.jsonl": "".join(rows)})
    found = look(tmp_path, "a.jsonl")
    assert (found.task, found.data["kind"], found.data["answer"]) == ("question-answering", "questions", "answers")


def test_two_texts_with_one_label_are_classified_together(tmp_path: Path) -> None:
    rows = [f"{sentence(number)},{sentence(number + 1)},{['yes', 'no', 'maybe'][number % 3]}" for number in range(60)]
    write(tmp_path, {"a.csv": "\n".join(["premise,hypothesis,label", *rows])})
    found = look(tmp_path, "a.csv")
    assert (found.data["text"], found.data["second"], found.data["label"]) == ("premise", "hypothesis", "label")
    write(tmp_path, {"b.csv": "\n".join(["this,that,judgement", *rows])})
    message = refusal(tmp_path, "b.csv")
    assert "b.csv: 2 columns have texts: 'this', 'that'" in message
    assert "  --text-column this --second-column that --label-column judgement (the label is about both)" in message
    assert "  --task translation --source-column this --target-column that" in message
    chosen = look(tmp_path, "b.csv", text_column="that", label_column="judgement")
    assert (chosen.data["text"], "second" in chosen.data) == ("that", False)
    both = look(tmp_path, "b.csv", text_column="this", second_column="that")
    assert (both.data["second"], both.data["label"]) == ("that", "judgement")


# -- what is not certain ----------------------------------------------------------------------------------------


def test_short_values_of_which_many_recur_are_asked_about(tmp_path: Path) -> None:
    rows = [f"{sentence(number)},w{number * 2 // 5}" for number in range(200)]
    write(tmp_path, {"a.csv": "\n".join(["text,thing", *rows])})
    message = refusal(tmp_path, "a.csv")
    assert "'thing': short values, 80 different ones in 200 rows" in message
    assert message.splitlines()[1:] == [
        "  --text-column text --label-column thing",
        "  --task translation --source-column text --target-column thing",
        "  --task language-model --text-column text",
    ]
    assert look(tmp_path, "a.csv", label_column="thing").task == "classification"
    assert look(tmp_path, "a.csv", task="translation").data["target_column"] == "thing"


def test_three_columns_of_texts_and_two_of_labels_are_asked_about(tmp_path: Path) -> None:
    rows = [f"{sentence(n)},{sentence(n)[::-1]},{sentence(n).upper()}" for n in range(40)]
    write(tmp_path, {"a.csv": "\n".join(["one,two,three", *rows])})
    assert "--task translation --source-column one --target-column two" in refusal(tmp_path, "a.csv")
    assert "3 columns of texts for a source and a target" in refusal(tmp_path, "a.csv", task="translation")
    found = look(tmp_path, "a.csv", source_column="two", target_column="one")
    assert (found.data["source_column"], found.data["target_column"]) == ("two", "one")
    rows = [f"{sentence(n)},{'ab'[n % 2]},{'cd'[n % 2]}" for n in range(40)]
    write(tmp_path, {"b.csv": "\n".join(["text,first kind,other", *rows])})
    message = refusal(tmp_path, "b.csv")
    assert "2 columns may be labels: 'first kind', 'other'" in message
    assert "  --label-column 'first kind'" in message
    assert "not used: first kind" in told(look(tmp_path, "b.csv", label_column="other"))


def test_a_label_of_its_own_for_every_row_is_refused_with_advice(tmp_path: Path) -> None:
    write(tmp_path, {"a.csv": "text,name\n" + "".join(f"{sentence(n)},n{n}x\n" for n in range(300))})
    message = refusal(tmp_path, "a.csv", label_column="name")
    assert "'name' has 300 different values in 300 rows, so there is little to learn about each" in message
    assert "--task translation --source-column X --target-column name" in message


@pytest.mark.parametrize("value", ["L{0}", "amber{0} birch{0}x"])
def test_columns_called_label_that_hold_none_are_asked_about(value: str, tmp_path: Path) -> None:
    """Neither left out in silence, for a language model, nor taken for texts to be written."""
    write(tmp_path, {"a.csv": "text,label\n" + "".join(f"{sentence(n)},{value.format(n)}\n" for n in range(300))})
    message = refusal(tmp_path, "a.csv")
    assert "'label' is called as labels are, but 300 of 300 values are different" in message
    assert "  --task language-model --text-column text" in message
    assert look(tmp_path, "a.csv", task="language-model", text_column="text").data["text"] == "text"
    assert look(tmp_path, "a.csv", task="translation").data["target_column"] == "label"


def test_tables_of_numbers_and_of_objects_are_told_for_what_they_are(tmp_path: Path) -> None:
    numbers = "label,a,b\n" + "".join(f"{n % 3},{n * 1.7:.2f},{n * 2.3:.2f}\n" for n in range(90))
    write(tmp_path, {"a.csv": numbers})
    message = refusal(tmp_path, "a.csv")
    assert "no column has texts, paths of pictures or sounds, or times; tables of measurements alone cannot" in message
    write(tmp_path, {"b.jsonl": "".join(row(id=str(n), translation={"en": sentence(n), "de": "x"}) for n in range(30))})
    message = refusal(tmp_path, "b.jsonl")
    assert "'translation' holds lists or objects, and no column has texts" in message
    assert "jq -c '.translation' b.jsonl > flat.jsonl" in message


def test_two_texts_that_are_a_pair_by_their_names_are_translated_whatever_numbers_are_beside(tmp_path: Path) -> None:
    rows = [f"{sentence(n)},{sentence(n)[::-1]},{n * 1.7:.1f}" for n in range(60)]
    write(tmp_path, {"a.csv": "\n".join(["word,pronunciation,frequency", *rows])})
    found = look(tmp_path, "a.csv")
    assert (found.task, found.data["target_column"]) == ("translation", "pronunciation")
    assert "not used: frequency" in told(found)
    assert look(tmp_path, "a.csv", text_column="word").task == "regression"


def test_names_of_a_pair_go_before_what_its_columns_look_like(tmp_path: Path) -> None:
    rows = [f"day {n} of month {n % 12 + 1},2020-{n % 12 + 1:02}-{n % 28 + 1:02},{n}" for n in range(100)]
    write(tmp_path, {"a.csv": "\n".join(["source,target,id", *rows]), "b.csv": "\n".join(["human,iso,id", *rows])})
    found = look(tmp_path, "a.csv")
    assert (found.data["source_column"], found.data["target_column"]) == ("source", "target")
    assert look(tmp_path, "b.csv", task="translation").data["target_column"] == "iso"
    assert "  --task translation --source-column human --target-column iso" in refusal(tmp_path, "b.csv")


@pytest.mark.parametrize(
    ("hints", "message"),
    [
        ({"label_column": "lable"},
         "no column 'lable' (did you mean 'label'?), which --label-column names; it has: text,"),
        ({"source_column": "text", "label_column": "label"}, "--label-column, --source-column do not go together"),
        ({"task": "translation", "label_column": "label"}, "--label-column has no effect with --task translation"),
        ({"task": "tagging"}, "tagging needs a column of words and one of tags"),
        ({"task": "question-answering"},
         "question answering needs the columns question, context and answer; it has text"),
        ({"task": "parsing"}, "seems to be a table of rows and columns, which is for classification, regression"),
        ({"task": "clasification"},
         "task 'clasification' (did you mean 'classification'?) cannot be set up from files"),
        ({"source_column": "text", "target_column": "text"}, "--source-column and --target-column both name 'text'"),
    ],
)
def test_wishes_that_do_not_fit_are_refused(hints: dict[str, str], message: str, tmp_path: Path) -> None:
    write(tmp_path, {"a.csv": table(40)})
    assert message in refusal(tmp_path, "a.csv", **hints)


# -- what is wrong ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "", "a.csv is empty; name a file with something in it"),
        ("a.csv", "text,label\n",
         "a.csv has a line of names (text, label) and no rows; there is nothing to learn from"),
        ("a.csv", table(9) + "a,b,c\n",
         "a.csv: its first line has 2 columns ('text', 'label'), but line 11 has 3 (of 11 rows)"),
        ("a.csv", table(9) + '"a b\n', "but line 11 has 1 (of 11 rows). Cells with a separator"),
        ("a.csv", "text,text\na,b\n", "its first line names 'text' more than once; rename one of them"),
        ("a.csv", table(40, labels=("ham",)),
         "a.csv: 'label' is the same in all rows, so there is nothing to classify by it"),
        ("a.jsonl", '{"text": "a"}\n[]\n{"text": \n', "but line 2: list instead of an object; line 3: broken JSON"),
        ("a.json", json.dumps([{"text": "a"}] * 3),
         "is one JSON list of 3 objects; one object a line is read here. Write it"),
        ("a.json", json.dumps({"rows": [{"text": "a"}]}, indent=1),
         "is one JSON object with rows; read are one object a l"),
        ("a.jsonl", row(text="a b", label="x") * 9 + row(text="b c", label="y") * 9 + row(text="d"),
         "line 19 has no 'label'. Give every object the keys"),
        ("a.csv", table(40).replace("ham", "x\0y"), "a.csv has a NUL byte in line 2 (byte"),
        ("a.csv", table(40).encode("utf-16"),
         "a.csv is in UTF-16, and only UTF-8 is read here. Convert it with: iconv -f UTF-16"),
        ("a.csv", table(40).encode("utf-16-le"), "seems to be in UTF-16LE"),
        ("a.csv", table(40, labels=("café", "thé")).encode("latin-1"),
         "it seems to be in ISO-8859-1 (Latin-1). Convert it"),
        ("a.csv", table(40, labels=("“a”", "b")).encode("cp1252"), "iconv -f WINDOWS-1252 -t UTF-8 a.csv > a.utf8.csv"),
        ("a.csv", "ж,да\nщ,нет\n".encode("cp1251") * 30, "its letters are in an older encoding, such as Windows-1251"),
        ("a.csv", bytes(range(256)) * 9, "a.csv is a binary file, not text; name a text file"),
        ("a.xlsx", b"PK\x03\x04", "a.xlsx is a workbook; save its sheet as CSV in UTF-8"),
        (
            "a.csv", gzip.compress(b"a,b\n", mtime=0),
            "a.csv is packed with gzip, which its name does not tell; call it a.csv.gz",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told_in_words(name: str, content: str | bytes, message: str, tmp_path: Path) -> None:
    write(tmp_path, {name: content})
    assert message in refusal(tmp_path, name)


def test_one_label_and_conflicting_and_single_ones_are_told(tmp_path: Path) -> None:
    write(tmp_path, {"a.csv": table(40, labels=("ham",))})
    assert "the only label in the rows is 'ham'" in refusal(tmp_path, "a.csv", label_column="label")
    write(tmp_path, {"b.csv": table(100, labels=("ham",) * 12 + ("spam",)) + f"{sentence(0)},spam\nalone,rare\n"})
    warnings = "\n".join(look(tmp_path, "b.csv").warnings)
    assert "1 label has one example only, from which little can be learned: rare" in warnings
    assert "91 % are ham: always predicting it is right that often" in warnings
    assert "1 input has different labels in different rows" in warnings


def test_so_few_rows_that_none_can_be_set_aside_are_told(tmp_path: Path) -> None:
    write(tmp_path, {"a.csv": table(12)})
    found = look(tmp_path, "a.csv")
    assert found.examples == {"train": 12}
    assert "12 different training examples: too few to set some aside for validation and test" in found.warnings[0]


# -- splits -----------------------------------------------------------------------------------------------------


def test_splits_are_known_by_their_names_in_a_list_in_a_folder_and_beside(tmp_path: Path) -> None:
    files = {"train.csv": table(40), "dev.csv": table(6), "test.csv": table(5)}
    write(tmp_path / "d", files | {"README.md": "notes", "sample_submission.csv": "id,label\n1,a\n"})
    names = {"train": "train.csv", "validation": "dev.csv", "test": "test.csv"}
    expected = {split: str(tmp_path / "d" / name) for split, name in names.items()}
    for given in (("train.csv", "test.csv", "dev.csv"), ("train.csv",), ("",)):
        found = look(tmp_path / "d", *given)
        assert {split: found.data[split] for split in names} == expected
        assert found.examples == {"train": 40, "validation": 6, "test": 5}
        assert not {"validation_size", "test_size"} & set(found.data)
    assert "left aside: sample_submission.csv" in told(found)
    assert "left aside: README.md" in told(found)
    assert "dev.csv validates what is learned, by its name" in told(found)
    assert "6 of 6 rows for validation are for training too, so scores on them would be too high" in told(found)
    alone = look(tmp_path / "d", "test.csv")
    assert alone.data["train"] == expected["test"]
    message = refusal(tmp_path / "d", "dev.csv", "test.csv")
    assert "all are named for validation or testing, and none for training" in message


def test_a_test_file_without_labels_is_refused_where_it_was_named_and_told_where_it_was_not(tmp_path: Path) -> None:
    write(tmp_path, {"train.csv": table(40), "test.csv": "id,text\n1,a b\n"})
    assert "test.csv does not go with" in refusal(tmp_path, "train.csv", "test.csv")
    found = look(tmp_path, "train.csv")
    assert "test.csv is beside train.csv, but is not used: it has no column 'label' (but id, text)" in found.warnings
    assert found.data["test_size"] == 4


def test_a_column_that_names_splits_divides_the_rows(tmp_path: Path) -> None:
    words = ("valid", "train", "train", "test", "train")
    rows = [f"{sentence(n)},{'ab'[n % 2]},{words[n % 5]}" for n in range(40)]
    write(tmp_path, {"a.csv": "\n".join(["text,label,split", *rows])})
    found = look(tmp_path)
    assert found.examples == {"train": 24, "validation": 8, "test": 8}
    path = str(tmp_path / "a.csv")
    assert found.data["train"] == {"file": path, "rows": "split=train"}
    assert found.data["validation"] == {"file": path, "rows": "split=valid"}
    assert "'split' says which split a row belongs to: train 24, valid 8, test 8" in found.reasons
    assert not found.warnings
    assert "not used" not in told(found)


def test_what_is_scored_later_needs_no_column_of_splits(tmp_path: Path) -> None:
    rows = [f"{sentence(n)},{'ab'[n % 2]},{'train' if n % 5 else 'test'}" for n in range(40)]
    write(tmp_path, {"a.csv": "\n".join(["text,label,split", *rows]), "new.csv": f"text,label\n{sentence(99)},a\n"})
    part = parse(DATA.resolve("labelled"), dict(look(tmp_path, "a.csv").data))
    table = part.table_for([str(tmp_path / "new.csv")])  # type: ignore[attr-defined]
    assert "rows" not in table
    corpus = parse(DATA.resolve("labelled"), table).load_test("new", Ledger())  # type: ignore[attr-defined]
    assert [one.label for one in corpus.splits["new"]] == ["a"]


@pytest.mark.parametrize(
    "words, why",
    [
        (("train", "train", "train", "test", "other"), "8 rows have something else in it"),
        (("train", "val", "validation", "train", "train"), "one value for each split is needed"),
        (("dev", "dev", "test", "dev", "test"), "one value for each split is needed, and one of them train"),
    ],
)
def test_a_column_that_names_splits_halfway_is_told(words: tuple[str, ...], why: str, tmp_path: Path) -> None:
    rows = [f"{sentence(n)},{'ab'[n % 2]},{words[n % 5]}" for n in range(40)]
    write(tmp_path, {"a.csv": "\n".join(["text,label,split", *rows])})
    (warning,) = look(tmp_path, text_column="text", label_column="label").warnings
    assert f"column 'split' seems to say which split a row belongs to; it is not read: {why}" in warning


def test_a_large_table_is_measured_in_evenly_taken_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.data.discovery.measuring.EvenSample.__init__.__defaults__", (64, 10**9))
    write(tmp_path, {"a.csv": table(1000)})
    found = look(tmp_path, "a.csv")
    assert isinstance(found.inputs, TextFacts)
    assert 32 <= found.inputs.measured <= 64
    assert found.inputs.distinct == found.inputs.examples == 1000
    assert found.labels == {"ham": 500, "spam": 500}
    whole = sum(len(sentence(number)) for number in range(1000))
    assert abs(found.inputs.characters_total - whole) < 0.05 * whole
