"""Readers lose no line, and say exactly what is wrong with a file and where."""

import bz2
import gzip
import json
import lzma
import re
from pathlib import Path

import pytest

from regard.core.errors import DataError
from regard.data.ledger import Ledger
from regard.data.readers import count_lines, find_file, read_lines, read_parallel
from regard.data.sources.pairs import PairColumns, read_pairs


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def texts(pairs):
    return [(pair.source, pair.target, pair.line) for pair in pairs]


def message_of(call):
    with pytest.raises(DataError) as caught:
        call()
    return str(caught.value)


def test_empty_lines_are_skipped_by_line_and_reason_and_the_rest_keeps_its_line_numbers(tmp_path):
    source = write(tmp_path / "a.en", "one\n\n three \n\nfive\n")
    target = write(tmp_path / "a.de", "eins\nzwei\ndrei\n \t\n\n")
    ledger = Ledger()
    pairs = read_parallel(source, target, "train", ledger)
    assert texts(pairs) == [("one", "eins", 1), ("three", "drei", 3)]
    assert [(entry.line, entry.reason) for entry in ledger.exceptions] == [
        (2, "the source is empty"), (4, "both sides are empty"), (5, "the target is empty"),
    ]
    ledger.check()
    assert ledger.counts("train", str(source)).read == 5


def test_only_a_newline_ends_a_line(tmp_path):
    strange = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\rh"
    path = write(tmp_path / "a", f"{strange}\nsecond")
    assert read_lines(path) == [strange, "second"]


def test_byte_order_mark_and_carriage_returns_are_taken_away(tmp_path):
    path = write(tmp_path / "a", b"\xef\xbb\xbfone\r\n\r\ntwo\r\n")
    assert read_lines(path) == ["one", "", "two"]


PRESSES = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("suffix, press", PRESSES.items())
def test_compressed_files_are_found_and_read_and_a_truncated_one_is_named(tmp_path, suffix, press):
    content = press("\n".join(f"ligne numéro {number * 7919}" for number in range(997)).encode())
    path = write(tmp_path / f"train.en{suffix}", content)
    assert find_file(tmp_path / "train.en") == path
    assert read_lines(path)[996] == f"ligne numéro {996 * 7919}"
    write(path, content[: len(content) // 2])
    found = message_of(lambda: read_lines(path))
    assert found.startswith(f"{path}: the compressed file is truncated or broken after ")
    assert re.search(r"after [\d,]+ whole lines", found)
    assert found.endswith("download it or compress it again")
    write(path, b"this is no compressed file")
    assert "truncated or broken after 0 whole lines" in message_of(lambda: read_lines(path))


def test_different_line_counts_say_both_counts_and_both_files(tmp_path):
    source, target = write(tmp_path / "a.en", "1\n2\n3\n"), write(tmp_path / "a.de", "1\n2\n")
    assert message_of(lambda: read_parallel(source, target, "train", Ledger())) == (
        f"{source} has 3 lines, but {target} has 2; line i of one file must be the translation of line i of "
        "the other. Look for a line that was lost or broken in two, or check that the two files belong "
        "together"
    )


def test_invalid_utf8_is_placed_by_line_and_byte_all_cases_at_once(tmp_path):
    path = write(tmp_path / "a", b"\xef\xbb\xbfgood\ncaf\xe9\nfine\nna\xefve\n")
    assert message_of(lambda: read_lines(path)) == (
        f"{path} is not valid UTF-8: line 2, byte 11 of the file (0xE9); line 4, byte 20 of the file (0xEF). "
        "Convert it, e.g. with: iconv -f latin1 -t utf-8"
    )
    assert path.read_bytes()[11] == 0xE9
    assert path.read_bytes()[20] == 0xEF


def test_lines_are_counted_as_they_are_read(tmp_path):
    file = tmp_path / "a.txt"
    for content in (b"", b"one\r\ntwo", b"\xef\xbb\xbfone\n\n\n", "ü\u2028ü\n".encode()):
        file.write_bytes(content)
        assert count_lines(file) == len(read_lines(file))
    file.write_bytes(b"fine\ncaf\xe9\n\xff\n")
    with pytest.raises(DataError, match=r"a.txt is not valid UTF-8: line 2, byte 8 .* line 3, byte 10 "):
        count_lines(file)


def test_the_folder_that_was_searched_is_named_where_a_path_does_not_say_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = message_of(lambda: read_lines(Path("a.txt")))
    assert told == f"no file a.txt; 0 files are in {tmp_path}, none with a similar name"
    (tmp_path / "deep").mkdir()
    write(tmp_path / "deep" / "a.text", "x")
    assert message_of(lambda: read_lines(Path("deep/a.txt"))).endswith(f"similar names in {tmp_path}/deep: a.text")


def test_a_missing_file_names_similar_ones(tmp_path):
    write(tmp_path / "train.eng", "x")
    write(tmp_path / "zzz", "x")
    found = message_of(lambda: read_lines(tmp_path / "train.en"))
    assert found == f"no file {tmp_path / 'train.en'}; similar names in that folder: train.eng"
    found = message_of(lambda: read_lines(tmp_path / "nowhere" / "train.en"))
    assert f"the folder {tmp_path / 'nowhere'} does not exist" in found
    assert "cannot be read" in message_of(lambda: read_lines(tmp_path))


def test_tsv_reads_two_columns_and_an_empty_first_one_does_not_shift_them(tmp_path):
    ledger = Ledger()
    path = write(tmp_path / "a.tsv", 'one\teins\r\n\tzwei\n\n"three\tdrei"\n')
    assert texts(read_pairs(path, "train", ledger)) == [("one", "eins", 1), ('"three', 'drei"', 4)]
    assert [(entry.line, entry.reason) for entry in ledger.exceptions] == [
        (2, "the source is empty"), (3, "both sides are empty"),
    ]
    ledger.check()


def test_tsv_names_ten_wrong_lines_and_counts_the_others(tmp_path):
    path = write(tmp_path / "a.tsv", "a\tb\nalone\na\tb\tc\n" + "x\n" * 11)
    found = message_of(lambda: read_pairs(path, "train", Ledger()))
    assert found.startswith(
        f"{path}: exactly 2 columns with a tab between them are needed, "
        "but line 2 has 1; line 3 has 3; line 4 has 1; "
    )
    assert found.endswith("line 11 has 1 and 3 more. Take out the others, or name the columns that you want in a first "
        "line and in the recipe's [data] table")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (gzip.compress(b"a\n"), "is packed with gzip, which its name does not tell; call it a.en.gz"),
        (bz2.compress(b"a\n"), "is packed with bzip2, which its name does not tell; call it a.en.bz2"),
        (lzma.compress(b"a\n"), "is packed with xz, which its name does not tell; call it a.en.xz"),
        (b"PK\x03\x04\x14\x00", "is packed with zip, which is not read here; unpack it and name the file inside"),
        (b"\x28\xb5\x2f\xfd\x04", "is packed with Zstandard, which is not read here; unpack it"),
    ],
    ids=["gzip", "bzip2", "xz", "zip", "zstandard"],  # gzip's bytes hold the time, and workers must agree on names
)
def test_a_packed_file_under_a_plain_name_is_known_for_what_it_is(content, words, tmp_path):
    (tmp_path / "a.en").write_bytes(content)
    assert message_of(lambda: read_lines(tmp_path / "a.en")).startswith(f"{tmp_path / 'a.en'} {words}")
    (tmp_path / "b.en").write_bytes(b"BZh7 is plain text, and PK too\n")
    assert read_lines(tmp_path / "b.en") == ["BZh7 is plain text, and PK too"]


def test_json_lines_with_other_keys_and_newlines_inside(tmp_path):
    rows = [{"fr": "un\ndeux", "en": "one\u2028two"}, {"fr": "trois", "en": ""}]
    path = write(tmp_path / "a.jsonl", "\n".join(json.dumps(row, ensure_ascii=False) for row in rows))
    ledger = Ledger()
    columns = PairColumns(source_column="fr", target_column="en")
    assert texts(read_pairs(path, "test", ledger, columns)) == [("un\ndeux", "one\u2028two", 1)]
    assert ledger.exceptions[0].reason == "the target is empty"
    ledger.check()


def test_json_lines_name_every_kind_of_broken_line(tmp_path):
    lines = ['{"source": "a", "target": "b"}', '{"source": ', '["a"]', '{"source": "a", "tgt": "b"}',
             '{"source": "a", "target": 7}', '{"source": "\\ud800", "target": "b"}']
    path = write(tmp_path / "a.jsonl", "\n".join(lines))
    assert message_of(lambda: read_pairs(path, "train", Ledger())) == (
        f"{path}: every line must be a JSON object with text under 'source', 'target', but "
        "line 2: broken JSON (Expecting value at column 12); line 3: list instead of an object; "
        "line 4: no 'target' among its keys 'source', 'tgt'; line 5: 'target' is not text but 7; "
        "line 6: 'source' holds half a surrogate pair, which is not a character. "
        "Correct these lines, or name other keys in the recipe's [data] table"
    )
