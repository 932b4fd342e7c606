"""``regard predict`` on files of any size: chunk by chunk, in order, with every place counted in lines of the file."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import REGARD, apart, regard

from regard.cli.predicting.inputs import FIRST_LINES, MOST_CHARACTERS, Inputs, chunks
from regard.core.errors import DataError, OptionError

WORDS = ("the cat sleeps", "", "the old woman sees a bird", "a dog", "  ", "the dogs went to the market")
MANY = [f"{WORDS[number % 6]} {WORDS[number % 5]}".strip() for number in range(3 * FIRST_LINES)]


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """More lines than the first chunk takes, some of them empty."""
    file = tmp_path / "many.txt"
    file.write_text("\n".join(MANY) + "\n", encoding="utf-8")
    return file


# -- chunks -----------------------------------------------------------------------------------------------------


def test_chunks_grow_and_nothing_is_read_ahead_of_them() -> None:
    read: list[int] = []

    def endless() -> Iterator[str]:
        for number in itertools.count():
            read.append(number)
            yield f"line {number}"

    taken = chunks(Inputs(endless()))
    for first, size in ((0, 64), (64, 1024), (1088, 8192)):
        chunk = next(taken)
        assert (chunk.first, len(chunk.texts), chunk.texts[0]) == (first, size, f"line {first}")
        assert len(read) == first + size


def test_long_lines_make_small_chunks() -> None:
    long = "x" * (MOST_CHARACTERS // 3)
    assert [len(chunk.texts) for chunk in chunks(Inputs(iter([long] * 7)))] == [4, 3]
    assert [len(chunk.texts) for chunk in chunks(Inputs(iter(["x"] * 3)), extra=MOST_CHARACTERS)] == [1, 1, 1]


def test_what_has_arrived_is_not_kept_waiting() -> None:
    lines = iter(["a", "b", None, None, "c"])
    assert [(chunk.first, chunk.texts) for chunk in chunks(Inputs(lines))] == [(0, ["a", "b"]), (2, ["c"])]


def test_lines_and_references_are_left_out_together() -> None:
    found = chunks(Inputs(iter("abcd")), Inputs(iter("ABCD")), skip=3)
    assert [(chunk.first, chunk.texts, chunk.references) for chunk in found] == [(3, ["d"], ["D"])]
    with pytest.raises(DataError, match="more sources than references, which end after 2"):
        list(chunks(Inputs(iter("abc")), Inputs(iter("AB"))))
    with pytest.raises(DataError, match="more references than sources, which end after 2"):
        list(chunks(Inputs(iter("ab")), Inputs(iter("ABC"))))
    with pytest.raises(OptionError, match=r"--skip 4 leaves out more lines than the 3 of in\.txt; give at most 3"):
        list(chunks(Inputs(iter("abc"), "in.txt"), skip=4))


# -- files and pipes --------------------------------------------------------------------------------------------


def test_a_file_in_many_chunks_is_answered_as_its_lines_are(run: Path, many: Path) -> None:
    whole = regard("predict", run, "--file", many).lines
    assert len(whole) == len(MANY)
    assert {line for line, text in zip(whole, MANY, strict=True) if not text.strip()} == {""}
    by_text = dict(zip(MANY, whole, strict=True))
    assert regard("predict", run, *by_text).lines == list(by_text.values())
    assert regard("predict", run, stdin=many.read_bytes()).lines == whole
    packed = many.with_suffix(".gz")
    packed.write_bytes(gzip.compress(many.read_bytes()))
    assert regard("predict", run, "--file", packed).lines == whole


@pytest.mark.parametrize("options", [("--alignment",), ("--temperature", "1.5", "--seed", "3")])
def test_what_is_left_is_answered_as_if_nothing_had_stopped(run: Path, many: Path, options: tuple[str, ...]) -> None:
    whole = regard("predict", run, "--file", many, *options).lines
    assert regard("predict", run, "--file", many, *options, "--skip", 70).lines == whole[70:]
    assert regard("predict", run, "--file", many, "--skip", len(MANY)).out == ""
    assert f"--skip 193 leaves out more lines than the 192 of {many}" in (
        regard("predict", run, "--file", many, "--skip", 193).error
    )


def test_samples_of_later_chunks_are_drawn_with_other_numbers(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "same.txt"
    file.write_text("the cat sleeps\n" * 2 * FIRST_LINES, encoding="utf-8")
    drawn = regard("predict", run, "--file", file, "--temperature", "3", "--max-tokens", 6).lines
    assert drawn[:FIRST_LINES] != drawn[FIRST_LINES:]


def test_numbers_of_several_answers_are_those_of_all_lines(run: Path, many: Path) -> None:
    lines = regard("predict", run, "--file", many, "--beam", 2, "--n-best", 2, "--skip", 66).lines
    numbers = [line.split("\t")[0] for line in lines if line]
    assert numbers == [str(number) for number, text in enumerate(MANY, 1) if number > 66 and text for _ in range(2)]


def test_json_lines_hold_what_the_object_holds(run: Path, many: Path) -> None:
    options = ("--file", many, "--scores", "--alignment", "--skip", 60)
    whole = regard("predict", run, *options, "--json").json
    rows = [json.loads(line) for line in regard("predict", run, *options, "--jsonl").lines]
    assert [row["line"] for row in rows] == list(range(61, len(MANY) + 1))
    for key, name in {"inputs": "input", "outputs": "output", "alignments": "alignment"}.items():
        assert [row[name] for row in rows] == whole[key]
    assert [row["score"] for row in rows] == pytest.approx(whole["scores"], abs=1e-4)
    assert set(rows[0]) == {"line", "input", "output", "score", "alignment"}


def scores_of(lines: list[str]) -> list[float]:
    return [float(line.partition("\t")[0] or 0) for line in lines]


def test_given_answers_are_scored_chunk_by_chunk(run: Path, many: Path, tmp_path: Path) -> None:
    given = tmp_path / "given.txt"
    given.write_text("\n".join(regard("predict", run, "--file", many).lines) + "\n", encoding="utf-8")
    whole = regard("predict", run, "--file", many, "--reference", given).lines
    assert [line.partition("\t")[2] for line in whole] == given.read_text(encoding="utf-8").split("\n")[:-1]
    rest = regard("predict", run, "--file", many, "--reference", given, "--skip", 100).lines
    assert scores_of(rest) == pytest.approx(scores_of(whole[100:]), abs=2e-4)
    assert regard("predict", run, "--reference", given, stdin=many.read_bytes()).lines == whole
    fewer = tmp_path / "fewer.txt"
    fewer.write_text("le chat\n" * 100, encoding="utf-8")
    message = "192 sources against 100 references; give one for each, in order"
    assert regard("predict", run, "--file", many, "--reference", fewer).error == message
    late = regard("predict", run, "--reference", fewer, stdin=many.read_bytes())
    assert (late.code, len(late.out.splitlines())) == (1, FIRST_LINES), "of a stream nothing is known beforehand"
    assert "there are more sources than references, which end after 100" in late.err


def test_nothing_to_answer_is_told(run: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text("", encoding="utf-8")
    assert f"{empty} is empty, so there is nothing to answer" in regard("predict", run, "--file", empty).error
    found = regard("predict", run, stdin="")
    assert (found.code, found.out) == (0, "")
    assert "standard input has no lines, so there is nothing to answer" in found.err


# -- places -----------------------------------------------------------------------------------------------------


def test_what_is_wrong_in_a_later_chunk_keeps_what_was_answered(run: Path, tmp_path: Path) -> None:
    file, long = tmp_path / "in.txt", " ".join(["cat"] * 3000)
    file.write_text("\n".join(["the cat sleeps"] * 99 + ["", long, "", long]) + "\n", encoding="utf-8")
    found = regard("predict", run, "--file", file)
    assert (found.code, len(found.out.splitlines())) == (1, FIRST_LINES)
    assert f"{file}: the model has room for 2047 pieces of a source" in found.err
    assert "in: line 101 (3000 pieces), line 103 (3000 pieces); cut or split them" in found.err
    again = f"regard predict {run} --file {file} --skip 64 >>"
    assert f"64 lines are answered and written; to continue:\n{again}" in found.err
    again = regard("predict", run, "--file", file, "--skip", 64)
    assert (again.code, again.out) == (1, "")
    assert "line 101 (3000 pieces)" in again.err
    given = tmp_path / "given.txt"
    given.write_text("\n".join(["le chat"] * 3 + [long]) + "\n", encoding="utf-8")
    file.write_text("a\nb\n\nc\n", encoding="utf-8")
    message = regard("predict", run, "--file", file, "--reference", given).error
    assert "2047 pieces of an answer, and there are more in: line 4 (3000 pieces)" in message


def test_json_keeps_what_was_answered_before_an_error(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "in.txt"
    file.write_text("the cat\n" * 70 + "cat " * 3000, encoding="utf-8")
    found = regard("predict", run, "--file", file, "--json")
    assert found.code == 1
    assert len(json.loads(found.out)["outputs"]) == FIRST_LINES


# -- processes and signals --------------------------------------------------------------------------------------


def process(*words: object, **more: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([str(word) for word in (REGARD, *words)], stderr=subprocess.PIPE, **more)  # type: ignore[call-overload]


def test_lines_of_a_pipe_are_answered_as_they_come_and_a_signal_says_how_to_go_on(run: Path) -> None:
    """Nobody closes the pipe: each answer is there before the next question is asked."""
    expected = regard("predict", run, "the cat sleeps", "a dog").lines
    with process("predict", run, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as asked:
        assert asked.stdin is not None
        assert asked.stdout is not None
        for question, answer in (("the cat sleeps", expected[0]), ("", ""), ("a dog", expected[1])):
            asked.stdin.write(f"{question}\n".encode())
            asked.stdin.flush()
            assert asked.stdout.readline().decode() == f"{answer}\n"
        asked.send_signal(signal.SIGINT)
        rest, told = asked.communicate(timeout=60)
    assert (asked.returncode, rest) == (130, b"")
    assert told.decode() == (
        "stopped: 3 lines are answered and written; to continue, with standard input from its first line again:\n"
        f"regard predict {run} --skip 3 >> OUTPUT\n"
    )


def test_a_stopped_file_ends_with_a_whole_line_and_can_be_gone_on_with(run: Path, tmp_path: Path) -> None:
    file, out = tmp_path / "in.txt", tmp_path / "out.txt"
    file.write_text("\n".join(MANY * 100) + "\n", encoding="utf-8")
    with out.open("wb") as written, process("predict", "--skip=2", run, "--file", file, stdout=written) as asked:
        while not out.stat().st_size:
            assert asked.poll() is None
            time.sleep(0.01)
        asked.send_signal(signal.SIGTERM)
        _, told = asked.communicate(timeout=60)
    assert asked.returncode == 130
    lines = out.read_text(encoding="utf-8").split("\n")
    assert lines[-1] == ""
    done = 2 + len(lines[:-1])
    assert done < 100 * len(MANY)
    assert told.decode().endswith(f"regard predict {run} --file {file} --skip {done} >> OUTPUT\n")
    file.write_text("\n".join((MANY * 100)[: done + 10]) + "\n", encoding="utf-8")
    rest = regard("predict", run, "--file", file, "--skip", done).lines
    assert lines[:-1] + rest == regard("predict", run, "--file", file).lines[2:]


def test_whoever_reads_no_further_ends_it_silently(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "in.txt"
    file.write_text("\n".join(MANY * 100) + "\n", encoding="utf-8")
    with process("predict", run, "--file", file, stdout=subprocess.PIPE) as asked:
        assert asked.stdout is not None
        asked.stdout.readline()
        asked.stdout.close()
        assert asked.stderr is not None
        assert asked.stderr.read() == b""
    assert asked.returncode == 0


@pytest.mark.parametrize(
    ("redirected", "told"),
    [
        (">&-", "error: standard output is closed; redirect it to /dev/null if you do not need it\n"),
        ("> /dev/full", "error: standard output cannot be written: No space left on device; free some space"),
        ("<&-", "error: standard input is closed; give texts, or name a file with --file\n"),
    ],
)
def test_closed_and_full_places_are_told_in_a_sentence(run: Path, redirected: str, told: str) -> None:
    text = "" if redirected.startswith("<") else "a"
    command = f"{REGARD} predict {run} {text} {redirected}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env={**os.environ})
    assert done.returncode == 1
    assert done.stderr.startswith(told)
    assert done.stderr.count("\n") == 1


def test_a_pipe_may_be_named_as_a_file(run: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", f"printf 'the cat sleeps\\na dog' > {pipe}"]):
        done = apart("predict", run, "--file", pipe)
    assert done.stdout.decode().splitlines() == regard("predict", run, "the cat sleeps", "a dog").lines
