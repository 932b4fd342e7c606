"""``regard predict`` with a language model: prompts, streams, shots, a conversation."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import regard

import regard as package

TEXT = "the cat sat on the mat. the dog ran to the cat. " * 40


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model that knows two sentences by heart."""
    folder = tmp_path_factory.mktemp("writer")
    file = folder / "text.txt"
    file.write_text(TEXT, encoding="utf-8")
    tree = {
        "data": {"kind": "text", "train": str(file)},
        "tokenizer": {"kind": "character"},
        "model": {"kind": "gpt", "layers": 2, "width": 48, "heads": 3, "dropout": 0.0, "position": {"kind": "rotary"}},
        "task": {"kind": "language-model", "max_length": 32, "sample": 20},
        "training": {"steps": 200, "batch_tokens": 256, "learning_rate": 1e-2, "validate_every": 100,
                     "schedule": {"kind": "cosine", "warmup": 5}, "optimizer": {"kind": "muon"}},
        "decoding": {"kind": "sampling", "temperature": 0.5},
    }  # fmt: skip
    package.train(tree, folder / "run")
    return folder / "run"


def test_a_prompt_is_written_on(writer: Path) -> None:
    options = ("--prompt", "the cat sat", "--greedy", "--max-tokens", 30)
    found = regard("predict", writer, *options)
    assert found.out == " on the mat. the dog ran to th\n"
    assert regard("predict", writer, *options, "--echo").out == "the cat sat" + found.out
    assert regard("predict", writer, *options, "--stop", ".").out == " on the mat\n"
    said = regard("predict", writer, *options, "--json").json
    assert said["prompt"] == "the cat sat"
    assert said["outputs"] == [found.out[:-1]]


def test_texts_and_files_are_prompts_too(writer: Path, tmp_path: Path) -> None:
    file = tmp_path / "prompts.txt"
    file.write_text("the cat sat\nthe dog r\n", encoding="utf-8")
    found = regard("predict", writer, "--file", file, "--greedy", "--max-tokens", 7).lines
    assert found == [" on the", "an to t"]


def test_options_of_prompts_hold_for_texts_and_files_too(writer: Path, tmp_path: Path) -> None:
    file = tmp_path / "prompts.txt"
    file.write_text("the cat sat\n\nthe dog r\n", encoding="utf-8")
    options = ("--greedy", "--max-tokens", 12)
    plain = regard("predict", writer, "--file", file, *options).lines
    assert regard("predict", writer, "--file", file, *options, "--echo").lines == [
        "the cat sat" + plain[0], "", "the dog r" + plain[2],
    ]  # fmt: skip
    stopped = regard("predict", writer, "--file", file, *options, "--stop", " the", "--stop", "an").lines
    assert stopped == [" on", "", ""]
    file.write_text("the cat sat\n\n" + "x" * 60 + "\n", encoding="utf-8")
    assert regard("predict", writer, "--file", file, *options).error == (
        f"{file}: the model reads 32 tokens, so a prompt has 31 at most, and more have: line 3 (60 tokens); "
        "shorten them, or keep their ends only with --keep-end"
    )
    assert len(regard("predict", writer, "--file", file, *options, "--keep-end").lines) == 3


def test_the_seed_decides(writer: Path) -> None:
    def sampled(*options: object) -> str:
        return regard("predict", writer, "--prompt", "t", "--max-tokens", 40, *options).out

    assert sampled("--seed", 3, "--temperature", 2) == sampled("--seed", 3, "--temperature", 2)
    assert sampled("--seed", 3, "--temperature", 2) != sampled("--seed", 4, "--temperature", 2)
    assert sampled("--seed", 3) == sampled("--seed", 3), "the recipe's own way, with another seed"
    assert sampled("--min-p", 0.9) == regard("predict", writer, "--prompt", "t", "--max-tokens", 40, "--greedy").out


def test_a_conversation(writer: Path) -> None:
    found = regard("predict", writer, "--interactive", "--greedy", "--max-tokens", 4, stdin="the cat s\nthe dog r\n")
    assert found.out == "at o\nan t\n"


def test_shots_stand_before_the_prompt(writer: Path, tmp_path: Path) -> None:
    shots = tmp_path / "shots.tsv"
    shots.write_text("a\tb\n", encoding="utf-8")
    message = regard("predict", writer, "--prompt", "x" * 60, "--shots", shots).error
    assert "so a prompt has 31 at most, and more have: the prompt (" in message, "the examples count as well"
    assert regard("predict", writer, "--prompt", "x" * 60, "--shots", shots, "--keep-end", "--max-tokens", 3).code == 0
    shots.write_text("only one column\n", encoding="utf-8")
    assert "line 1 has 1" in regard("predict", writer, "--prompt", "x", "--shots", shots).error


def test_scores_and_samples_are_shown(writer: Path) -> None:
    scores = regard("evaluate", writer, "--json").json
    assert {"loss", "perplexity", "bits_per_character", "tokens"} <= set(scores)
    assert "bits per character" in regard("evaluate", writer).out
    notes = (writer / "metrics.jsonl").read_text(encoding="utf-8")
    assert "a sample: " in notes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--prompt", "a", "b"), "give --prompt, or texts, or --file"),
        (("--interactive", "--json"), "--interactive asks for its prompts itself"),
        (("a", "--stop", ""), "--stop is empty; give the text before which an answer ends"),
        (("--prompt", "", "--echo"), "--echo prints the prompt, and this one is empty"),
        (("--prompt", "a", "--reference", "in.txt"), "options for texts; leave out --reference"),
        (("--interactive", "--scores", "--alignment"), "leave out --scores, --alignment"),
        (("--prompt", "a", "--greedy", "--min-p", 0.1), "do not go together"),
    ],
)
def test_what_does_not_go_together(writer: Path, options: tuple[object, ...], message: str) -> None:
    assert message in regard("predict", writer, *options).error


def test_a_translator_does_not_write_on(run: Path) -> None:
    message = regard("predict", run, "--prompt", "the cat").error
    assert "no use for --prompt, which is for language models; leave it out" in message


def test_a_prompt_is_an_input_too(writer: Path) -> None:
    found = regard("predict", writer, "--prompt", "the cat s", "--greedy", "--max-tokens", 4, "--json").json
    assert (found["inputs"], found["outputs"]) == (["the cat s"], ["at o"])


def test_a_writer_has_no_references(writer: Path, tmp_path: Path) -> None:
    file = tmp_path / "some.txt"
    file.write_text("the cat\n", encoding="utf-8")
    scored = regard("evaluate", writer, "--source", file, "--reference", file).error
    assert "(language-model) cannot be scored on sources with references; leave out --source and --reference" in scored
    given = regard("predict", writer, "--file", file, "--reference", file).error
    assert "(language-model) has no use for --reference, which is for runs that go from text to text" in given
