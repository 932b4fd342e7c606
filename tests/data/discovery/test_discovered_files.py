"""Files of other kinds: parallel ones, running text, columns, trees, SQuAD's, and folders for each class."""

from __future__ import annotations

import gzip
import io
import json
import struct
from itertools import pairwise
from pathlib import Path

import pytest
from PIL import Image

from regard.data.discovery.found import PictureFacts, TextFacts
from tests.data.discovery.looked import WORDS, look, refusal, row, sentence, table, told, write


def lines(count: int, *, other: bool = False) -> str:
    return "".join(f"{sentence(number)[::-1] if other else sentence(number)}\n" for number in range(count))


# -- parallel files ---------------------------------------------------------------------------------------------


def test_packed_parallel_files_are_read(tmp_path: Path) -> None:
    write(tmp_path, {"a.en.gz": gzip.compress(lines(30).encode(), mtime=0), "a.de": lines(30, other=True)})
    assert look(tmp_path, "a.en.gz", "a.de").examples == {"train": 25, "validation": 2, "test": 3}


def test_two_parallel_files_are_translated_from_the_first_named(tmp_path: Path) -> None:
    write(tmp_path, {"train.de": lines(50) + "\nx\n", "train.en": lines(50, other=True) + "\n\n"})
    found = look(tmp_path, "train.en", "train.de")
    both = {"source": str(tmp_path / "train.en"), "target": str(tmp_path / "train.de")}
    assert (found.task, found.data["kind"], found.data["train"]) == ("translation", "pairs", both)
    assert "from en to de, since train.en is named first" in told(found)
    assert "1 pair will be skipped: the source is empty" in told(found)
    assert "1 pair will be skipped: both sides are empty" in told(found)
    assert found.examples == {"train": 41, "validation": 4, "test": 5}
    assert look(tmp_path, "train.en", "train.de", task="embedding").task == "embedding"


def test_splits_of_parallel_files_are_found_beside_and_in_folders(tmp_path: Path) -> None:
    files = {
        f"{stem}.{side}": lines(size, other=side == "de")
        for stem, size in (("train", 40), ("val", 7), ("test2016", 5), ("test2017", 6))
        for side in ("de", "en")
    }
    write(tmp_path / "m", files)
    named = look(tmp_path / "m", "train.de", "train.en")
    assert named.examples == {"train": 40, "validation": 7, "test": 5, "test2017": 6}
    folder = look(tmp_path, "m", source_column="de")
    assert folder.data == named.data
    assert set(folder.data["other_splits"]) == {"test2017"}
    message = refusal(tmp_path, "m")
    assert "m has parallel files for de, en; which is the source, and which the target? Say so" in message
    assert "  --source-column de --target-column en" in message
    assert "there is no side 'fr'; the files end in de, en" in refusal(tmp_path, "m", source_column="fr")


@pytest.mark.parametrize(
    ("first", "second"), [("train.src", "train.tgt"), ("src-train.txt", "tgt-train.txt"), ("a.target", "a.source")]
)
def test_files_that_are_called_source_and_target_are_so_in_any_order(first: str, second: str, tmp_path: Path) -> None:
    write(tmp_path, {first: lines(30), second: lines(30, other=True)})
    source = first if "src" in first else second
    for names in ((first, second), (second, first)):
        assert look(tmp_path, *names).data["train"]["source"] == str(tmp_path / source)
    assert look(tmp_path).data["train"]["source"] == str(tmp_path / source)


def test_any_two_files_are_parallel_where_they_are_called_alike_or_the_user_says_so(tmp_path: Path) -> None:
    write(tmp_path, {"a.smiles": lines(30), "a.names": lines(30, other=True), "b.txt": lines(30), "c.txt": lines(31)})
    assert "since both have one name and the same number of lines" in told(look(tmp_path, "a.smiles", "a.names"))
    assert look(tmp_path, "a.names", "b.txt").task == "language-model"
    assert look(tmp_path, "a.names", "b.txt", task="translation").data["train"]["target"] == str(tmp_path / "b.txt")
    assert "b.txt has 30 lines, but" in refusal(tmp_path, "b.txt", "c.txt", task="translation")


def test_a_lost_line_is_looked_for(tmp_path: Path) -> None:
    rows = [sentence(number)[: 5 + number * 7 % 20] + "\n" for number in range(200)]
    write(tmp_path, {"a.en": "".join(rows), "a.de": "".join(rows[:120] + rows[121:])})
    message = refusal(tmp_path, "a.en", "a.de")
    assert "a.en has 200 lines, but" in message
    assert "a.de has 199; line i of one file must belong to line i of the other" in message
    assert "(by the lengths, they seem shifted from about line 121 on)" in message


# -- running text -----------------------------------------------------------------------------------------------


def test_a_text_is_a_language_model(tmp_path: Path) -> None:
    write(tmp_path, {"book.txt": lines(300)})
    found = look(tmp_path, "book.txt")
    assert (found.task, found.data) == (
        "language-model",
        {"kind": "text", "train": str(tmp_path / "book.txt"), "validation_share": 0.1, "test_share": 0.1},
    )
    assert isinstance(found.inputs, TextFacts)
    assert (found.inputs.unit, found.inputs.examples, found.inputs.characters_total) == ("line", 300, len(lines(300)))
    assert found.inputs.alphabet == len(set(lines(300)))
    assert look(tmp_path, "book.txt", task="masked-language-model").task == "masked-language-model"
    assert "running text, where --label-column has no effect" in refusal(tmp_path, "book.txt", label_column="x")
    message = refusal(tmp_path, "book.txt", task="classification")
    assert "seems to be running text, which is for language-model, masked-language-model; --task class" in message


def test_the_lines_of_a_list_of_names_are_documents(tmp_path: Path) -> None:
    names = [sentence(number).split()[0] + chr(97 + number * 7 % 26) * (number % 5) for number in range(100)]
    write(tmp_path, {"names.txt": "\n".join(names), "sorted.txt": "\n".join(sorted(names)), "poem.txt": lines(100)})
    found = look(tmp_path, "names.txt")
    assert (found.data["documents"], found.warnings) == ("line", ())
    assert "a list of short lines: each is a document of its own" in found.reasons
    (warning,) = look(tmp_path, "sorted.txt").warnings
    assert "in the order of the alphabet, so what is set aside at the end is unlike the rest" in warning
    assert "documents" not in look(tmp_path, "poem.txt").data


def test_a_text_about_training_is_no_split(tmp_path: Path) -> None:
    write(tmp_path, {"training.md": lines(9), "testing.md": lines(9), "other.md": lines(9)})
    assert set(look(tmp_path).examples) == {"train", "test", "validation"}
    (tmp_path / "training.md").unlink()
    assert len(look(tmp_path).data["train"]) == 2


def test_folders_and_lists_of_texts_are_read_whole(tmp_path: Path) -> None:
    files = {f"part{number}/{number}.md": lines(3 + number) for number in range(30)}
    write(tmp_path / "d", files | {"part1/.hidden.md": "no", "README.md": "notes"})
    found = look(tmp_path, "d")
    assert len(found.data["train"]) == 30
    write(tmp_path / "e", files)
    assert len(look(tmp_path, "d").data["train"]) == 30  # a pattern would find the notes too
    assert look(tmp_path, "e").data["train"] == str(tmp_path / "e" / "**" / "*.md")
    write(tmp_path / "f", {"wiki.train.tokens": lines(50), "wiki.valid.tokens": lines(5), "wiki.test.tokens": lines(6)})
    split = look(tmp_path, "f")
    assert split.data["test"] == str(tmp_path / "f" / "wiki.test.tokens")
    assert split.examples == {"train": 50, "validation": 5, "test": 6}
    assert look(tmp_path / "f", "wiki.train.tokens").data == split.data


def test_texts_without_spaces_and_of_several_scripts_are_told(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "我喜欢读书和写字\n" * 9 + "мир\n" * 9})
    found = look(tmp_path, "a.txt")
    assert isinstance(found.inputs, TextFacts)
    assert not found.inputs.spaced
    assert list(found.inputs.scripts) == ["Han", "Cyrillic"]
    assert found.inputs.scripts["Han"] == pytest.approx(72 / 99)
    assert "scripts: Han 73 %, Cyrillic 27 %" in told(found)


def test_a_packed_or_a_short_text_is_told(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt.gz": gzip.compress(lines(9).encode(), mtime=0), "b.txt": "short\n"})
    assert "running text is read unpacked; unpack a.txt.gz first" in refusal(tmp_path, "a.txt.gz")
    assert look(tmp_path, "b.txt").warnings == ("the text is too short to set its end aside for validation and test",)


# -- tags, trees and questions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.conll", "a.txt", "a.tsv"])
def test_words_and_tags_in_columns_are_tagged(name: str, tmp_path: Path) -> None:
    between = "\t" if name == "a.tsv" else " "
    tagged = [[f"{word}{between}{tag}" for word, tag in zip(sentence(n).split(), "NVDNVD")] for n in range(40)]
    rows = ["\n".join(one) for one in tagged]
    write(tmp_path, {name: "\n\n".join(rows) + "\n"})
    found = look(tmp_path, name)
    assert (found.task, found.data["kind"], found.labels) == ("tagging", "tagged", {"N": 80, "V": 80, "D": 80})
    assert f"{name}: 40 sentences, 240 words" in told(found)


def test_lines_of_two_words_and_tables_with_empty_lines_have_no_tags(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "".join(f"{one} {other}\n\n" for one, other in pairwise(WORDS))})
    assert look(tmp_path, "a.txt").task == "language-model"
    write(tmp_path, {"b.tsv": table(40).replace(",", "\t").replace("spam\n", "spam\n\n")})
    assert look(tmp_path, "b.tsv").task == "classification"


def test_the_columns_of_conllu_and_of_counted_words_are_known(tmp_path: Path) -> None:
    conllu = "\n\n".join(
        "# a comment\n" + "\n".join(f"{place}\t{word}\t{word}\tNOUN\t_\t_\t0\troot\t_\t_" for place, word in
                                   enumerate(sentence(n).split(), start=1))
        for n in range(30)
    )  # fmt: skip
    write(tmp_path, {"a.conllu": conllu.replace("NOUN\t_\t_\t0\troot", "VERB\t_\t_\t0\troot", 40)})
    found = look(tmp_path, "a.conllu")
    assert (found.data["word"], found.data["tag"], set(found.labels)) == (2, 4, {"NOUN", "VERB"})


def test_trees_in_brackets_are_parsed(tmp_path: Path) -> None:
    trees = [f"(S (NP (DT the) (NN {sentence(n).split()[0]}{n})) (VP (VBD ran)))" for n in range(40)]
    write(tmp_path, {"a.mrg": "\n".join(trees), "b.txt": "\n".join([*trees, "(S (NP"])})
    assert look(tmp_path, "a.mrg").task == "parsing"
    found = look(tmp_path, "b.txt")
    assert (found.data["kind"], found.skipped) == ("trees", 1)
    assert "1 tree will be skipped: a bracket is not closed" in told(found)


def test_squads_files_are_questions(tmp_path: Path) -> None:
    asked = [
        {"question": f"what runs {n} steps", "answers": [{"text": sentence(n).split()[0], "answer_start": 0}]}
        for n in range(30)
    ]
    paragraphs = [{"context": " ".join(map(sentence, range(30))), "qas": [*asked, {"question": "who", "answers": []}]}]
    held = {"version": "1.1", "data": [{"title": "a", "paragraphs": paragraphs}]}
    write(tmp_path, {"train.json": json.dumps(held), "dev.json": json.dumps(held)})
    found = look(tmp_path, "train.json")
    assert (found.task, found.data["validation"]) == ("question-answering", str(tmp_path / "dev.json"))
    assert "train.json: 31 questions, 1 of them without an answer in the context" in told(found)
    write(tmp_path, {"train.json": json.dumps(held)[:-9]})
    assert "begins like a SQuAD file, but is not a complete JSON object" in refusal(tmp_path, "train.json")


# -- folders for each class -------------------------------------------------------------------------------------


def picture(shade: int, size: tuple[int, int] = (6, 5), mode: str = "L") -> bytes:
    held = io.BytesIO()
    Image.new(mode, size, shade if mode == "L" else (shade, 0, 0)).save(held, "PNG")
    return held.getvalue()


def test_a_folder_of_pictures_for_each_class(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"cat/{n}.png": picture(n) for n in range(30)}
    files |= {f"dog/{n}.png": picture(100 + n, (8, 8), "RGB") for n in range(20)}
    write(tmp_path / "p", files | {"dog/broken.png": b"no picture"})
    found = look(tmp_path, "p")
    assert (found.task, found.data["kind"], found.labels) == ("classification", "pictures", {"cat": 30, "dog": 20})
    assert isinstance(found.inputs, PictureFacts)
    assert (found.inputs.sizes, found.inputs.modes) == ({(5, 6): 30, (8, 8): 20}, {"grey": 30, "colour": 20})
    assert (found.skipped, found.warnings) == (1, ("cannot be read: broken.png: no known format",))
    assert "p/ has a folder for each class, whose name is the label" in told(found)


def test_pictures_in_folders_for_splits_and_in_tables_and_alone(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        f"{split}/{label}/{n}.png": picture(n + shift + (30 if label == "b" else 0))
        for split, shift in (("train", 0), ("test", 100))
        for label in ("a", "b")
        for n in range(25)
    }
    write(tmp_path / "p", files)
    found = look(tmp_path, "p")
    assert (found.data["test"], "test_size" in found.data) == (str(tmp_path / "p/test"), False)
    assert found.examples == {"train": 45, "validation": 5, "test": 50}
    write(tmp_path / "p", {"train/a/twin.png": picture(30), "test/a/twin.png": picture(0)})
    twins = look(tmp_path, "p")
    assert "1 input has different labels in different pictures" in told(twins)
    assert "1 of 51 pictures for test are for training too" in told(twins)
    rows = "".join(f"{name},{'xy'[number % 2]}\n" for number, name in enumerate(files))
    write(tmp_path / "t", files | {"pictures.csv": "file,kind\n" + rows})
    listed = look(tmp_path, "t/pictures.csv")
    assert (listed.data["kind"], listed.data["image"], listed.data["label"]) == ("pictures", "file", "kind")
    write(tmp_path / "one", {"cat/a.png": picture(1), "cat/b.png": picture(2)})
    assert "has pictures in one folder only, 'cat', so there is nothing to classify" in refusal(tmp_path, "one")


def test_idx_files_and_their_test_split(tmp_path: Path) -> None:
    for name, count in (("train", 40), ("t10k", 10)):
        pixels = bytes(n * 5 % 256 for n in range(count) for _ in range(12))
        images = struct.pack(">HBBIII", 0, 8, 3, count, 3, 4) + pixels
        labels = struct.pack(">HBBI", 0, 8, 1, count) + bytes(n % 3 for n in range(count))
        write(tmp_path / "m", {f"{name}-images-idx3-ubyte": images, f"{name}-labels-idx1-ubyte": labels})
    found = look(tmp_path, "m")
    assert found.data["test"] == str(tmp_path / "m/t10k-images-idx3-ubyte")
    assert isinstance(found.inputs, PictureFacts)
    assert found.inputs.sizes == {(3, 4): 40}
    assert look(tmp_path, "m/train-images-idx3-ubyte").data == found.data


def test_a_folder_of_texts_for_each_class(tmp_path: Path) -> None:
    files = {f"{label}/{n}.txt": sentence(n + shift) for label, shift in (("pos", 0), ("neg", 100)) for n in range(25)}
    write(tmp_path / "r", files | {"pos/empty.txt": ""})
    found = look(tmp_path, "r")
    assert (found.task, found.data["kind"], found.labels) == ("classification", "labelled", {"neg": 25, "pos": 25})
    assert "for a language model of all files: --task language-model" in found.reasons
    assert look(tmp_path, "r", task="language-model").data["kind"] == "text"
    splits = {f"{split}/{name}": text for split in ("train", "test") for name, text in files.items()}
    write(tmp_path / "s", splits)
    assert look(tmp_path, "s").examples == {"train": 45, "validation": 5, "test": 50}
    write(tmp_path / "r", {"pos/latin.txt": "café".encode("latin-1")})
    assert "r: 1 file cannot be read as texts" in refusal(tmp_path, "r")


# -- nothing, or nothing known ----------------------------------------------------------------------------------


def test_nothing_there_is_told(tmp_path: Path) -> None:
    write(tmp_path, {"train.csv": table(40)})
    (tmp_path / "empty").mkdir()
    assert "empty has no files in it" in refusal(tmp_path, "empty")
    message = refusal(tmp_path, "trian.csv")
    assert f"no file {tmp_path / 'trian.csv'}; similar names in that folder: train.csv" in message
    write(tmp_path, {"sound.wav": b"RIFF\0\0\0\0WAVE" + bytes(99)})
    assert "sound.wav is a binary file, not text" in refusal(tmp_path, "sound.wav")
    write(tmp_path, {"x.jsonl": row(a={"en": "x"}, b=[1]) * 3})
    assert "holds lists or objects, and no column has texts" in refusal(tmp_path, "x.jsonl")
