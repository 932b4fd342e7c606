"""``regard predict``: one line in, one line out, whatever stands in the line."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from command import apart, regard

from regard.cli.options.strategy import choose_strategy
from regard.core.answers import Answer
from regard.data.sources.toys import Toy
from regard.decoding.options import Beam, Greedy, Sampling

TEXTS = ("the cat sleeps", "the old woman sees a bird", "the dogs went to the market")
STRANGE = ("[bold]fat[/bold]", "a\ttab", "日本語 ünï 🙂", ":cat: \\[x]", "[/nothing]", "  two  spaces ", "")


def answers_of(run: Path, *options: object) -> list[str]:
    return regard("predict", run, *TEXTS, *options).lines


def test_arguments_a_file_and_standard_input_give_the_same(run: Path, tmp_path: Path) -> None:
    by_argument = answers_of(run)
    assert len(by_argument) == 3
    file = tmp_path / "in.txt"
    file.write_text("\n".join(TEXTS))  # without a last newline
    assert regard("predict", run, "--file", file).lines == by_argument
    assert regard("predict", run, stdin="\r\n".join(TEXTS) + "\r\n").lines == by_argument
    assert regard("predict", run, *reversed(TEXTS)).lines == by_argument[::-1]


def test_the_object(run: Path) -> None:
    said = regard("predict", run, *TEXTS, *STRANGE, "--json").json
    assert set(said) == {"inputs", "outputs"}
    assert said["inputs"] == [*TEXTS, *STRANGE]
    assert said["outputs"][:3] == answers_of(run)
    assert len(said["outputs"]) == 10
    assert said["outputs"][-1] == ""


def test_empty_lines_stay_empty_and_in_place(run: Path) -> None:
    lines = regard("predict", run, stdin=f"\n{TEXTS[0]}\n\n   \n{TEXTS[1]}\n\n").lines
    first, second, _ = answers_of(run)
    assert lines == ["", first, "", "", second, ""]
    assert regard("predict", run, stdin="").out == ""


class Echo:
    """A run that answers with the text itself."""

    task = None

    class recipe:
        decoding = Greedy()
        data = Toy()

        class task:
            generates = True

    class modalities:
        input = None

    def answers(self, texts: list[str], *_: object, **__: object) -> list[list[Answer]]:
        return [[Answer(text, -1.0, -1.0)] for text in texts]


@pytest.fixture
def _echo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.runs.load.load", lambda folder: Echo())


@pytest.mark.usefixtures("_echo")
def test_nothing_in_an_answer_is_touched() -> None:
    assert regard("predict", "any", *STRANGE).lines == list(STRANGE)
    assert regard("predict", "any", stdin="\n".join(STRANGE) + "\n").lines == list(STRANGE)
    assert regard("predict", "any", *STRANGE, "--json").json["outputs"] == list(STRANGE)
    long = "word " * 1000
    assert regard("predict", "any", long).out == f"{long}\n"


@pytest.mark.usefixtures("_echo")
def test_an_answer_with_a_line_end_stays_one_line() -> None:
    assert regard("predict", "any", "a\nb\r\nc", "d").lines == ["a b  c", "d"]


def test_scores_stand_before_and_alignment_after(run: Path) -> None:
    plain = answers_of(run)
    for number, line in enumerate(answers_of(run, "--scores", "--alignment")):
        score, text, links = line.split("\t")
        assert float(score) < 0
        assert text == plain[number]
        pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
        assert all(s < len(TEXTS[number].split()) and t < len(text.split()) for s, t in pairs)
        assert {t for _, t in pairs} == set(range(len(text.split())))
    said = regard("predict", run, *TEXTS, "--scores", "--alignment", "--json").json
    assert set(said) == {"inputs", "outputs", "scores", "alignments"}
    assert list(map(len, said.values())) == [3, 3, 3, 3]


def test_given_answers_get_the_score_that_the_search_gave_them(run: Path, tmp_path: Path) -> None:
    found = regard("predict", run, *TEXTS, "--greedy", "--scores", "--json").json
    given = tmp_path / "given.txt"
    given.write_text("\n".join(found["outputs"]) + "\n")
    said = regard("predict", run, *TEXTS, "--reference", given, "--json").json
    assert said["outputs"] == found["outputs"]
    closed = [len(text.split()) < 2 * len(source.split()) + 10 for source, text in zip(TEXTS, found["outputs"])]
    assert any(closed)
    for closes, score, given_score in zip(closed, found["scores"], said["scores"], strict=True):
        # An answer that was cut off at its longest had no closing symbol; a given one always has.
        assert given_score == pytest.approx(score, abs=1e-3) if closes else given_score < score
    for line, text, score in zip(answers_of(run, "--reference", given), found["outputs"], said["scores"]):
        assert line == f"{score:.4f}\t{text}"


def test_given_answers_are_printed_as_they_stand(run: Path, tmp_path: Path) -> None:
    given, strange = tmp_path / "given.txt", [text for text in STRANGE if text]
    given.write_text("\n".join(strange) + "\n", encoding="utf-8")
    lines = regard("predict", run, *["the cat sleeps"] * len(strange), "--reference", given).lines
    assert [line.partition("\t")[2] for line in lines] == strange
    assert all(math.isfinite(float(line.partition("\t")[0])) for line in lines)


def test_several_answers_come_with_number_and_rank(run: Path) -> None:
    lines = answers_of(run, "--beam", "3", "--n-best", "3", "--scores")
    fields = [line.split("\t") for line in lines]
    assert [(one[0], one[1]) for one in fields] == [(str(text), str(rank)) for text in (1, 2, 3) for rank in (1, 2, 3)]
    assert len({one[3] for one in fields[:3]}) == 3
    best = answers_of(run, "--beam", "3")
    assert [one[3] for one in fields[::3]] == best
    said = regard("predict", run, *TEXTS, "--beam", "3", "--n-best", "3", "--json").json
    assert [len(own) for own in said["outputs"]] == [3, 3, 3]


def test_sampling_is_a_function_of_the_seed(run: Path) -> None:
    hot = ("--temperature", "1.5")
    assert answers_of(run, *hot, "--seed", "7") == answers_of(run, *hot, "--seed", "7")
    assert answers_of(run, *hot, "--seed", "7") != answers_of(run, *hot, "--seed", "8")
    assert answers_of(run, "--top-p", "0.9") == answers_of(run, "--top-p", "0.9", "--temperature", "1", "--seed", "1")
    assert answers_of(run, "--top-k", "1", "--seed", "5") == answers_of(run, "--greedy")
    drawn = regard("predict", run, TEXTS[0], *hot, "--n-best", "4", "--json").json["outputs"][0]
    assert len(drawn) == 4
    assert len(set(drawn)) > 1


@pytest.mark.parametrize(
    "options, message",
    [
        (("--beam", "2", "--greedy"), "--beam and --greedy do not go together; choose one way of decoding"),
        (("--greedy", "--temperature", "1"), "--greedy and --temperature/--top-k/--top-p/--min-p do not go together"),
        (("--beam", "2", "--top-k", "3"), "--beam and --temperature/--top-k/--top-p/--min-p do not go together"),
        (("--temperature", "0"), "use --greedy, or a temperature above 0"),
        (("--temperature", "5000"), "expected 0.001 to 1000"),
        (("--top-p", "0"), "top_p"),
        (("--beam", "2", "--n-best", "3"), "--beam 2 keeps 2 answers and --n-best wants 3; give --beam 3"),
        (("--greedy", "--n-best", "2"), "use --beam N or --temperature T with --n-best"),
        (("--n-best", "2"), "this run's own decoding is greedy, which returns one answer; use --beam 2"),
        (("--skip", "1"), "--skip leaves out lines of --file or of standard input, not texts; leave it out"),
        (("--json", "--jsonl"), "--json writes one object for everything, --jsonl one for each input; choose one"),
        (("--reference", "in.txt", "--stop", "x"), "scores given answers and writes none; leave out --stop"),
        (("--file", "in.txt"), "give texts on the command line or --file, not both"),
        (("--reference", "in.txt", "--beam", "2"), "--reference scores given answers and decodes nothing"),
        (("--reference", "in.txt", "--seed", "0", "--max-tokens", "3"), "the decoding options: --seed, --max-tokens"),
        (("--greedy", "--seed", "3"), "--seed belongs to sampling, and --greedy is deterministic"),
        (("--seed", "3"), "and this run's own decoding (greedy) is deterministic; add --temperature T"),
    ],
)
def test_what_does_not_go_together(run: Path, options: tuple[str, ...], message: str) -> None:
    assert message in regard("predict", run, *TEXTS, *options).error


@pytest.mark.parametrize(
    "options",
    [
        ("--beam", "-1"), ("--beam", "0"), ("--n-best", "0"), ("--max-tokens", "0"), ("--skip", "-1"),
        ("--top-p", "1.5"), ("--seed", "x"), ("--seed", "-1"), ("--bean", "3"),
    ],
)
def test_a_value_out_of_range_is_a_matter_of_usage(run: Path, options: tuple[str, ...]) -> None:
    found = regard("predict", run, "a", *options)
    assert (found.code, found.out) == (2, "")
    assert options[0] in found.err


def test_bad_bytes_are_placed_by_line_and_byte(run: Path, tmp_path: Path) -> None:
    bad = b"fine\ncaf\xe9\n"
    expected = "is not valid UTF-8: line 2, byte 8 of the file (0xE9). Convert it, e.g. with: iconv"
    assert f"standard input {expected}" in regard("predict", run, stdin=bad).error
    file = tmp_path / "in.txt"
    file.write_bytes(bad)
    assert f"{file} {expected}" in regard("predict", run, "--file", file).error
    assert "input 2 is not valid UTF-8" in regard("predict", run, "fine", "caf\udce9").error


def test_files_that_do_not_fit(run: Path, tmp_path: Path) -> None:
    assert f"no file {tmp_path}/in.txt" in regard("predict", run, "--file", tmp_path / "in.txt").error
    assert "cannot be read" in regard("predict", run, "--file", tmp_path).error
    one = tmp_path / "one"
    one.write_text("le chat\n")
    assert regard("predict", run, *TEXTS, "--reference", one).error == (
        "3 sources against 1 references; give one for each, in order"
    )


def test_a_text_beyond_the_positions_says_the_remedy(run: Path) -> None:
    found = regard("predict", run, "the cat sleeps", " ".join(["cat"] * 3000)).error
    assert found == (
        "the model has room for 2047 pieces of a source, and there are more in: input 2 (3000 pieces); "
        "cut or split them, or train with a larger model.position.max_length"
    )


def test_a_missing_run(tmp_path: Path) -> None:
    found = regard("predict", tmp_path / "x").error
    assert f"there is no run folder {tmp_path}/x; make one with: regard train" in found


def test_in_a_pipe(run: Path) -> None:
    """As a process of its own: bytes in, bytes out, notes and errors elsewhere."""
    done = apart("predict", run, "--scores", stdin="the cat sleeps\n\n日本\n".encode(), PYTHONIOENCODING="utf-8")
    assert done.returncode == 0
    assert done.stderr == b""
    first, second, third, end = done.stdout.decode().split("\n")
    assert (second, end) == ("", "")
    assert regard("predict", run, "the cat sleeps", "--scores").lines == [first]
    assert float(third.split("\t")[0]) < 0


def test_an_error_as_a_process_exits_with_one_and_debug_shows_the_traceback(tmp_path: Path) -> None:
    done = apart("predict", tmp_path / "none", "a")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode().startswith("error: there is no run folder")
    done = apart("predict", tmp_path / "none", "a", "--debug")
    assert done.returncode == 1
    assert "Traceback" in done.stderr.decode()
    assert "RunError: there is no run folder" in done.stderr.decode()


def test_space_around_a_text_is_nothing_as_in_training(run: Path) -> None:
    texts = ("the cat sleeps", " the cat sleeps", "the cat sleeps \t")
    found = regard("predict", run, *texts, "--scores", "--json").json
    assert len(set(found["outputs"])) == 1
    assert found["scores"] == pytest.approx([found["scores"][0]] * 3)


def test_options_change_what_they_name_and_keep_the_rest_of_the_recipes_decoding() -> None:
    tuned = Beam(size=5, length_penalty=0.4, stop="likely", max_length=31)
    assert choose_strategy(tuned, beam=3) == tuned.model_copy(update={"size": 3})
    assert choose_strategy(tuned, greedy=True) == Greedy(max_length=31)
    assert choose_strategy(tuned, temperature=0.7, seed=4) == Sampling(temperature=0.7, seed=4, max_length=31)
    drawn = Sampling(temperature=0.7, top_k=40, seed=9, max_length=31)
    assert choose_strategy(drawn, top_p=0.8) == drawn.model_copy(update={"top_p": 0.8})
    assert choose_strategy(drawn, top_k=0) == drawn.model_copy(update={"top_k": 0})
    assert choose_strategy(tuned.model_copy(update={"n_best": 4}), beam=2).n_best == 1
    several = tuned.model_copy(update={"n_best": 4})
    assert choose_strategy(several, n_best=1) == tuned, "one line in, one line out, whatever the recipe keeps"
    assert choose_strategy(several) == several
    assert choose_strategy(drawn, n_best=3, seed=2) == drawn.model_copy(update={"n_best": 3, "seed": 2})
    assert choose_strategy(drawn, beam=2) == Beam(size=2, max_length=31)
    assert choose_strategy(drawn, beam=2, max_tokens=7).max_length == 7
