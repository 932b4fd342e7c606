"""Word vectors are read exactly, whatever the format, and what is wrong with a file is said with its place."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.core.errors import DataError
from regard.data.modalities.text.vectors import read_vectors

Rows = Sequence[tuple[str, Sequence[float]]]
ROWS: Rows = (
    ("the", (0.25, -1.5, 3e-05)),
    (",", (-0.1, 0.0, 7.0)),
    ("Größe", (1e10, -2.5e-8, 0.333)),
    ("66", (1.0, 2.0, 3.0)),
    ("日本", (0.1, 0.2, 0.3)),
)
WORDS = {word for word, _ in ROWS}


def glove(rows: Rows) -> bytes:
    return "".join(f"{word} {' '.join(str(np.float32(value)) for value in values)}\n" for word, values in rows).encode()


def word2vec_text(rows: Rows) -> bytes:
    """As word2vec writes it: with a header, and a space at the end of each line."""
    return f"{len(rows)} {len(rows[0][1])}\n".encode() + glove(rows).replace(b"\n", b" \n")


def word2vec_binary(rows: Rows, end: bytes = b"\n") -> bytes:
    body = b"".join(word.encode() + b" " + struct.pack(f"<{len(values)}f", *values) + end for word, values in rows)
    return f"{len(rows)} {len(rows[0][1])}\n".encode() + body


def gensim_binary(rows: Rows) -> bytes:
    """As gensim writes it: no newline after a vector."""
    return word2vec_binary(rows, end=b"")


FORMATS: Mapping[str, Callable[[Rows], bytes]] = {
    "glove.txt": glove, "word2vec.txt": word2vec_text, "word2vec.bin": word2vec_binary, "gensim.bin": gensim_binary,
}  # fmt: skip
PRESSES: Mapping[str, Callable[[bytes], bytes]] = {
    "": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress,
}  # fmt: skip


def write(path: Path, content: bytes | str) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refusal(path: Path, width: int = 3, wanted: set[str] = WORDS) -> str:
    with pytest.raises(DataError) as caught:
        read_vectors(path, width, wanted)
    return str(caught.value)


def assert_same(found: Mapping[str, np.ndarray], rows: Rows) -> None:
    expected: dict[str, Sequence[float]] = {}
    for word, values in rows:
        expected.setdefault(word, values)
    assert found.keys() == expected.keys()
    for word, vector in found.items():
        assert vector.dtype == np.float32
        assert vector.flags.writeable
        assert vector.tobytes() == np.array(expected[word], dtype=np.float32).tobytes(), word


# -- every format -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", PRESSES, ids=lambda suffix: suffix or "plain")
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_numbers_plain_and_compressed(name: str, suffix: str, tmp_path: Path) -> None:
    path = write(tmp_path / f"{name}{suffix}", PRESSES[suffix](FORMATS[name](ROWS)))
    assert_same(read_vectors(path, 3, WORDS), ROWS)
    assert_same(read_vectors(tmp_path / name, 3, WORDS), ROWS)  # found under its bare name, as texts are


@pytest.mark.parametrize("name", FORMATS)
def test_only_wanted_words_are_kept(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / name, FORMATS[name](ROWS))
    assert_same(read_vectors(path, 3, {"日本", "the", "absent"}), [ROWS[0], ROWS[4]])
    assert read_vectors(path, 3, set()) == {}


@pytest.mark.parametrize("name", FORMATS)
def test_of_a_word_that_stands_there_twice_the_first_counts(name: str, tmp_path: Path) -> None:
    rows = [*ROWS, ("the", (9.0, 9.0, 9.0))]
    assert_same(read_vectors(write(tmp_path / name, FORMATS[name](rows)), 3, WORDS), ROWS)


@pytest.mark.parametrize("form", [word2vec_binary, gensim_binary])
def test_a_binary_file_is_known_without_its_name(form: Callable[[Rows], bytes], tmp_path: Path) -> None:
    assert_same(read_vectors(write(tmp_path / "vectors", form(ROWS)), 3, WORDS), ROWS)
    text = struct.unpack("<f", b"\n 7\n")[0]
    like_text = [("a", (text, 1.1, 1.1)), ("b", (1.1, text, 1.1))]
    assert_same(read_vectors(write(tmp_path / "like_text", form(like_text)), 3, {"a", "b"}), like_text)
    zeros = [("a", (0.0, 0.0, 0.0)), ("b", (0.0, 0.0, 0.0))]  # valid UTF-8, and no text all the same
    assert_same(read_vectors(write(tmp_path / "zeros", form(zeros)), 3, {"a", "b"}), zeros)


def test_newlines_and_spaces_among_the_bytes_of_a_vector_end_nothing(tmp_path: Path) -> None:
    value = struct.unpack("<f", b"\n \n\n")[0]
    rows = [("a", (value,) * 3), ("b", (1.0, value, value)), ("c", (value, value, 2.0))]
    for form in (word2vec_binary, gensim_binary):
        assert_same(read_vectors(write(tmp_path / "v.bin", form(rows)), 3, {"a", "b", "c"}), rows)


def test_words_that_a_binary_file_cuts_within_a_character_are_passed_over(tmp_path: Path) -> None:
    content = word2vec_binary([("xx", (1.0, 2.0, 3.0)), *ROWS]).replace(b"xx ", b"x\xc3 ", 1)
    assert_same(read_vectors(write(tmp_path / "v.bin", content), 3, WORDS | {"x\ufffd"}), ROWS)


def test_words_may_have_spaces_in_them(tmp_path: Path) -> None:
    lines = ". . . 0.1 0.2\nat name@domain.com 0.3 0.4\nroute 66 0.5 0.6\n66 0.7 0.8\nthe 0.9 1\n"
    rows = [
        (". . .", (0.1, 0.2)), ("at name@domain.com", (0.3, 0.4)), ("route 66", (0.5, 0.6)), ("66", (0.7, 0.8)),
        ("the", (0.9, 1.0)),
    ]  # fmt: skip
    wanted = {word for word, _ in rows} | {".", "at", "route", "name@domain.com"}
    for content in (lines, f"5 2\n{lines}"):
        assert_same(read_vectors(write(tmp_path / "v.txt", content), 2, wanted), rows)


def test_what_does_not_matter_in_a_text_file(tmp_path: Path) -> None:
    path = write(tmp_path / "v.txt", b"\xef\xbb\xbfa 1 .5\r\n\r\nb\xc2\xa0c +2. -1E-2 \r\n\xe2\x80\xa8  3 4")
    rows = [("a", (1.0, 0.5)), ("b\xa0c", (2.0, -0.01)), ("\u2028", (3.0, 4.0))]
    assert_same(read_vectors(path, 2, {"a", "b\xa0c", "\u2028"}), rows)


def test_a_header_may_promise_more_than_a_text_file_has(tmp_path: Path) -> None:
    """``head -n 1000`` of a large file is a usual way to make it small."""
    assert_same(read_vectors(write(tmp_path / "v.vec", b"2000000 3\n" + glove(ROWS)), 3, WORDS), ROWS)


words_without_spaces = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12).filter(
    lambda word: not any(sign.isspace() or sign in "\x1c\x1d\x1e\x1f\ufeff" for sign in word)
)


@st.composite
def any_rows(draw: st.DrawFn) -> Rows:
    width = draw(st.integers(1, 7))
    values = st.tuples(*[st.floats(width=32, allow_nan=False, allow_infinity=False)] * width)
    return draw(st.lists(st.tuples(words_without_spaces, values), min_size=1, max_size=5))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=any_rows())
def test_whatever_is_written_is_read_again(rows: Rows, tmp_path: Path) -> None:
    wanted = {word for word, _ in rows}
    for name, form in FORMATS.items():
        assert_same(read_vectors(write(tmp_path / name, form(rows)), len(rows[0][1]), wanted), rows)
    path = write(tmp_path / "packed.bin.gz", gzip.compress(word2vec_binary(rows)))
    assert_same(read_vectors(path, len(rows[0][1]), wanted), rows)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.one_of(
        st.binary(max_size=80),
        st.binary(max_size=80).map(lambda body: b"3 2\n" + body),
        st.text("ab 01.\n-e", max_size=60).map(str.encode),
    ),
    name=st.sampled_from(["v.txt", "v.bin", "v"]),
)
def test_any_bytes_are_read_or_refused_in_words(content: bytes, name: str, tmp_path: Path) -> None:
    path = write(tmp_path / name, content)
    found = vectors_or_words(path, 2, {"a", "b", "1"})
    if isinstance(found, str):
        assert str(path) in found
    else:
        assert all(vector.shape == (2,) and np.isfinite(vector).all() for vector in found.values())


def vectors_or_words(path: Path, width: int, wanted: set[str]) -> dict[str, np.ndarray] | str:
    try:
        return read_vectors(path, width, wanted)
    except DataError as error:
        return str(error)


# -- what can be wrong ------------------------------------------------------------------------------------------


def test_a_missing_file_is_named_with_its_neighbours(tmp_path: Path) -> None:
    write(tmp_path / "glove.50.txt", "")
    assert refusal(tmp_path / "glove.5O.txt") == (
        f"no file {tmp_path}/glove.5O.txt; similar names in that folder: glove.50.txt"
    )
    assert refusal(tmp_path) == f"{tmp_path} cannot be read: Is a directory"


@pytest.mark.parametrize("name", FORMATS)
def test_another_width_says_what_to_set(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / name, FORMATS[name](ROWS))
    for width in (2, 4, 300):
        assert refusal(path, width) == (
            f"{path}: the file's vectors have 3 numbers, model.embedding.width is {width}: "
            "set model.embedding.width=3"
        )


def test_lines_with_another_number_of_values_are_all_named(tmp_path: Path) -> None:
    content = glove(ROWS) + b"few 0.1 0.2\nmany 0.1 0.2 0.3 0.4\nmore than enough 1 2 3 4 5\nnone\nthe 1 2 3\n"
    path = write(tmp_path / "v.txt", content)
    assert refusal(path) == (
        f"{path}: every line must be a word and 3 numbers, but line 6 has 2; line 7 has 4; line 8 has 5; line 9 has "
        "0. Correct these lines, or download the file again"
    )
    path = write(tmp_path / "header.txt", b"9 3\n" + content)
    assert "but line 7 has 2; line 8 has 4; line 9 has 5; line 10 has 0. Correct" in refusal(path)


def test_a_text_file_that_was_cut_off_is_refused_at_its_last_line(tmp_path: Path) -> None:
    path = write(tmp_path / "v.txt", glove(ROWS)[:-6])
    assert "line 5 has 2. Correct these lines, or download the file again" in refusal(path)


def test_the_list_of_problems_ends_after_twenty(tmp_path: Path) -> None:
    lines = [f"w{number} 1 2" if 30 <= number < 53 else f"w{number} 1 2 3" for number in range(1, 81)]
    said = refusal(write(tmp_path / "v.txt", "\n".join(lines)))
    assert said.count(" has 2") == 20
    assert "line 49 has 2; and 3 more. Correct" in said


def test_values_that_are_no_numbers_are_all_named(tmp_path: Path) -> None:
    lines = ["the 1 x 3", "66 1 nan 3", ", 1_0 inf 1e39", "日本 1 2 3", "Größe  2 3", "unwanted a b c", "ok 1 2 3"]
    path = write(tmp_path / "v.txt", "\n".join(lines))
    assert refusal(path) == (
        f"{path}: every value must be a finite number, but line 1 ('the') has 'x'; line 2 ('66') has 'nan'; line 3 "
        "(',') has '1_0', 'inf', '1e39'; line 5 ('Größe') has ''. Correct these lines, or download the file again"
    )
    path = write(tmp_path / "long.txt", "the a b c d\nok 1 2 3 4\nas 1 2 3 4\n")
    assert "line 1 ('the') has 'a', 'b', 'c'…. Correct" in refusal(path, 4)


def test_binary_values_that_are_no_numbers_are_all_named(tmp_path: Path) -> None:
    rows = [("the", (1.0, float("nan"), float("-inf"))), ("x", (float("nan"),) * 3), ("66", (float("inf"), 0, 0))]
    path = write(tmp_path / "v.bin", word2vec_binary(rows))
    assert refusal(path) == (
        f"{path}: every value must be a finite number, but 'the' has nan, -inf; '66' has inf. Fetch the file again"
    )


def test_invalid_utf8_in_text_is_named_by_line_and_byte(tmp_path: Path) -> None:
    content = "the 1 2 3\ncafé 1 2 3\nthe 1 2 3\nüber 1 2 3\n".encode("latin1")
    path = write(tmp_path / "v.txt", content)
    assert refusal(path) == (
        f"{path} is not valid UTF-8: line 2 (0xE9 at its byte 3); line 4 (0xFC at its byte 0). "
        "Convert it, e.g. with: iconv -f latin1 -t utf-8"
    )
    path = write(tmp_path / "header.txt", b"4 3\n" + content)
    assert "is not valid UTF-8: line 3 (0xE9 at its byte 3); line 5" in refusal(path), "not taken for binary"


def test_a_truncated_binary_file_says_how_far_it_goes(tmp_path: Path) -> None:
    whole = word2vec_binary([("the", (1.0, 2.0, 3.0)), ("66", (4.0, 5.0, 6.0))])
    start = f"{tmp_path}/v.bin: the file is truncated or broken: its header promises 2 words of 3 values, but it ends "
    cuts = {
        len(whole) - 2: "after 11 of the 12 bytes of word 2 ('66')",
        len(whole) - 13: "after 0 of the 12 bytes of word 2 ('66')",
        len(whole) - 14: "after 1 words",
        len(whole) - 18: "after 11 of the 12 bytes of word 1 ('the')",
        4: "after 0 words",
    }
    for length, where in cuts.items():
        path = write(tmp_path / "v.bin", whole[:length])
        assert refusal(path) == f"{start}{where}. Download it again", length
    assert len(read_vectors(write(tmp_path / "v.bin", whole[:-1]), 3, {"the", "66"})) == 2, "the last newline"


def test_a_binary_file_that_goes_on_or_has_no_words_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "doubles.bin", b"1 3\nthe " + struct.pack("<3d", 1, 2, 3))
    assert refusal(path) == (
        f"{path}: the file goes on at byte 20 after the 1 words of 3 values that its header promises; the values "
        "must be float32 (4 bytes each): save it so, or download it again"
    )
    path = write(tmp_path / "spaceless.bin", b"1 3\n" + b"\xff" * 20_000)
    assert "but at byte 4, where word 1 should start, there is none. Download it again" in refusal(path)


def test_a_binary_name_without_a_header_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "model.bin", glove(ROWS[:1]))
    assert refusal(path) == (
        f"{path}: a word2vec binary file starts with a line of two whole numbers (how many words, how many values "
        "each), found 'the 0.25 -1.5 3e-05'; of a fastText model take the .vec file, and a text file may not be "
        "named .bin"
    )


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_a_broken_compressed_file_is_refused_as_texts_are(suffix: str, tmp_path: Path) -> None:
    path = write(tmp_path / f"v.txt{suffix}", PRESSES[suffix](glove(ROWS))[:-20])
    said = refusal(path)
    assert said.startswith(f"{path}: the compressed file is truncated or broken after ")
    assert said.endswith("download it or compress it again")


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    assert refusal(write(tmp_path / "none.txt", "")) == (
        f"{tmp_path}/none.txt is empty, but word vectors are expected; download it again"
    )
    assert refusal(write(tmp_path / "glove.zip", b"PK\x03\x04rest")) == (
        f"{tmp_path}/glove.zip is packed with zip, which is not read here; unpack it and name the file inside"
    )
    assert refusal(write(tmp_path / "prose.txt", "It was a dark\nand stormy night.\n")) == (
        f"{tmp_path}/prose.txt: every line must be a word and its numbers with single spaces between them (GloVe, or "
        "word2vec with a header line), found 'It was a dark'; name a file of word vectors"
    )
