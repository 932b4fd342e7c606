"""Data that is not as it should be, met at the command line: refused with a place, or kept account of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import Result, regard

RECIPE = """
[data]
kind = "pairs"
validation_size = 0
train = {source = "train.en", target = "train.fr"}

[tokenizer]
kind = "word"
min_frequency = 1

[model]
encoder_layers = 1
decoder_layers = 1
width = 8
heads = 2

[model.feed_forward]
width = 8

[task]
max_length = 5

[training]
steps = 2
batch_tokens = 64
"""


class Pairs:
    """A recipe over two files that a test writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "mine.toml").write_text(RECIPE)

    def write(self, source: bytes, target: bytes) -> None:
        (self.folder / "train.en").write_bytes(source)
        (self.folder / "train.fr").write_bytes(target)

    def train(self, *options: str) -> Result:
        return regard("train", self.folder / "mine.toml", "--out", self.folder / "run", *options)

    @property
    def ledger(self) -> dict[str, Any]:
        return json.loads((self.folder / "run" / "ledger.json").read_text())


@pytest.fixture
def pairs(tmp_path: Path) -> Pairs:
    return Pairs(tmp_path)


def test_different_line_counts_are_both_said(pairs: Pairs) -> None:
    pairs.write(b"a\nb\nc\n", b"a\nb\n")
    found = pairs.train().error
    assert f"{pairs.folder}/train.en has 3 lines, but {pairs.folder}/train.fr has 2" in found
    assert not (pairs.folder / "run").exists()


def test_missing_files_are_all_named(pairs: Pairs) -> None:
    found = pairs.train().error
    assert f"no file {pairs.folder}/train.en" in found
    assert f"no file {pairs.folder}/train.fr" in found
    assert "Check data.train. Paths in a recipe count from data.folder, by default the recipe's own folder" in found


def test_invalid_utf8_is_placed_by_line_and_byte(pairs: Pairs) -> None:
    pairs.write(b"a\nb\n", b"x\ncaf\xe9\n")
    found = pairs.train().error
    assert f"{pairs.folder}/train.fr is not valid UTF-8: line 2, byte 5 of the file (0xE9)" in found


def test_nothing_but_empty_lines(pairs: Pairs) -> None:
    pairs.write(b"\n\n", b"\n\n")
    assert "there is nothing to train on in" in pairs.train().error


def test_empty_and_overlong_lines_stand_in_the_ledger_and_are_told(pairs: Pairs) -> None:
    pairs.write(b"a b\n\nc d\na a a a a a\nb b\n", b"b a\nx\n\na a a a a a\nb b\n")
    found = pairs.train("--json")
    assert found.json["steps"] == 2
    assert found.json["validation_loss"] is None
    listed = {(one["what"], one["line"], one["reason"]) for one in pairs.ledger["exceptions"]}
    assert listed == {
        ("skipped", 2, "the source is empty"),
        ("skipped", 3, "the target is empty"),
        ("skipped", 4, "longer than task.max_length = 5 pieces"),
    }
    counts = pairs.ledger["files"][0]
    assert (counts["read"], counts["kept"], counts["skipped"]) == (5, 2, 3)
    assert "1 line skipped (the source is empty), 1 line skipped (the target is empty), 1 line" in found.err
    assert f"{pairs.folder}/run/ledger.json" in found.err


def test_without_validation_it_says_so(pairs: Pairs) -> None:
    pairs.write(b"a b\nb c\n", b"b a\nc b\n")
    assert pairs.train().lines[0].endswith("tokens/s), without validation")


def test_everything_too_long(pairs: Pairs) -> None:
    pairs.write(b"a a a a a a\n", b"a a a a a a\n")
    assert "nothing to train on" in pairs.train().error
    pairs.write(b"a a\n" * 9, b"a a\n" * 9)
    assert pairs.train().code == 0, "with what was mended the same place will do"


def test_a_pair_beyond_a_steps_budget_is_named_and_the_place_is_free_again(pairs: Pairs) -> None:
    pairs.write(b"a\na a\n" * 5, b"a\na a a\n" * 5)
    assert (
        "training.batch_tokens = 3 has room for 2 pieces; more have (source and target): "
        f"{pairs.folder / 'train.en'} line 2 (2 and 3)"
    ) in pairs.train("--set", "training.batch_tokens=3").error
    assert pairs.train().code == 0


def test_resuming_nothing_is_said(pairs: Pairs) -> None:
    pairs.write(b"a a\n" * 9, b"a a\n" * 9)
    found = pairs.train("--resume")
    assert "there is nothing to resume in" in found.err
    assert "a new run begins" in found.err


def test_a_recipe_that_does_not_say_where_the_files_are(tmp_path: Path) -> None:
    assert "--set data.folder=path/to/folder" in regard("train", "multi30k", "--out", tmp_path / "run").error
    found = regard("train", "multi30k", "--out", tmp_path / "run", "--set", f"data.folder={tmp_path}").error
    for name in ("train.en", "train.de", "val.en", "val.de", "test2016.en", "test2016.de"):
        assert name in found


def test_a_recipe_file_that_is_no_toml(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[data\n")
    assert "is not valid TOML" in regard("train", tmp_path / "mine.toml", "--out", tmp_path / "run").error


def test_lines_that_the_model_has_no_positions_for_are_named_before_the_first_step(pairs: Pairs) -> None:
    pairs.write(b"a b\na b c d\nb a\na\n", b"x y\nx\ny x\nx y x y\n")
    words = pairs.train("--set", "model.position.max_length=4").error
    assert words == (
        "the model has positions for 3 pieces; more have (source and target): "
        f"{pairs.folder}/train.en line 2 (4 and 1), {pairs.folder}/train.en line 4 (1 and 4); leave such training "
        "pairs out with task.max_length=3, cut or split the others, or raise model.position.max_length"
    )
    assert not any((pairs.folder / "run").iterdir()), "the place is not taken by a run that never began"
    assert pairs.train("--set", "model.position.max_length=4", "--set", "task.max_length=3").code == 0
