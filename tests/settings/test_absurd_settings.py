"""Settings beyond all reason: each is refused at once, in a sentence that says what to do."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import torch

import regard
from regard.core.errors import RegardError
from regard.core.ports import text_ports
from regard.runs.memory import BYTES_PER_PARAMETER, check_memory, count_parameters
from regard.runs.recipe import Recipe

TINY = (
    "data.train_size=40", "data.validation_size=8", "data.test_size=8", "training.steps=2", "training.batch_tokens=64",
    "training.threads=1", "model.width=16", "model.heads=2", "model.encoder_layers=1", "model.decoder_layers=1",
)  # fmt: skip
SECONDS = 10.0


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("seed=99999999999999999999999", "seed: whole numbers go from -9223372036854775808 to 9223372036854775807"),
        ("data.train_size=99999999999", "data.train_size: Input should be less than or equal to 10000000"),
        ("data.max_length=1000000000", "data.max_length: Input should be less than or equal to 100000"),
        ("training.threads=100000", "training.threads: Input should be less than or equal to 1024"),
        ("training.learning_rate=nan", "training.learning_rate: Input should be a finite number"),
        ("model.encoder_layers=100000", "model.encoder_layers: Input should be less than or equal to 1000"),
        ("model.width=1000000000", "the model of this recipe is larger than any memory; set a smaller model.width"),
        ("model.width=400000", "GB of memory for them, and "),
        ("model.feed_forward.width=1000000000000", "GB of memory for them, and "),
        ("model.position.max_length=1000000000000", "set a smaller model.width or model.position.max_length"),
        ("tokenizer={kind='word', vocabulary=1000000000000}", "less than or equal to 1000000"),
        ("tokenizer={kind='word', min_frequency=1000000}", "set a smaller tokenizer.min_frequency"),
        ("tokenizer={kind='character', min_frequency=1000000}", "nothing occurs 1,000,000 times in the training"),
        ("decoding={kind='beam', size=1000000000}", "decoding.size: Input should be less than or equal to 1000"),
        ("task.kind=language-model", "needs a model that continues a text, which model.kind = 'transformer' does not"),
        ("model.kind=gpt", "needs a model that reads a source and writes an answer, which model.kind = 'gpt' does not"),
        ("model.kind=bert", "choose model.kind = 'fixed-context' or 'bahdanau' or 'luong' or 'convolution' or"),
    ],
)
def test_it_is_refused_at_once(setting: str, told: str, tmp_path: Path) -> None:
    key = setting.partition("=")[0]
    kept = [one for one in TINY if not one.startswith((f"{key}=", key.replace(".kind", ".")))]
    began = time.process_time()
    with pytest.raises(RegardError) as refused:
        regard.train("reverse", tmp_path / "run", [*kept, setting])
    assert told in str(refused.value)
    assert time.process_time() - began < SECONDS
    assert not (tmp_path / "run").exists() or not any((tmp_path / "run").iterdir())


def test_labels_that_are_named_twice() -> None:
    for recipe in ("mood", "tags"):
        with pytest.raises(RegardError, match=r"labels names 'a' more than once; name every class once"):
            Recipe.read(recipe, ['task.labels=["a", "b", "a"]'])


def test_a_model_is_counted_before_it_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Recipe.read("reverse", TINY).model
    ports = text_ports(30, 30, shared=True)
    parameters = count_parameters(model, ports)
    assert parameters == sum(weight.numel() for weight in model.build(ports).parameters())
    there = parameters * BYTES_PER_PARAMETER
    monkeypatch.setattr("regard.runs.memory.available_memory", lambda device: there + 10**6)
    check_memory(model, ports, torch.device("cpu"))
    monkeypatch.setattr("regard.runs.memory.available_memory", lambda device: there - 1)
    with pytest.raises(RegardError, match=rf"has {parameters:,} parameters and .*GB are free here"):
        check_memory(model, ports, torch.device("cpu"))


def test_memory_that_runs_out_is_told_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        torch.empty(10**15)  # as much as nobody has

    monkeypatch.setattr("regard.training.loop.Loop.step", full)
    with pytest.raises(RegardError, match=r"not enough memory for this training; set a smaller training\.batch_tokens"):
        regard.train("reverse", tmp_path / "run", TINY)
    assert not any((tmp_path / "run").iterdir()), "nothing was trained, so the same place will do"


def test_a_file_that_says_nothing_is_no_recipe(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    for text in ("", "name = 'mine'", "[training]\nsteps = 5"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(RegardError, match=r"mine\.toml says nothing of what is learned: .*regard init FILE --out"):
            Recipe.read(path)
    assert Recipe.read(path, ["task.kind=translation"]).training.steps == 5


@pytest.mark.parametrize("tokenizer", ["{kind='wordpiece', joint=false}", "{kind='bpe', mask=true, joint=false}"])
def test_tokenizers_of_two_sides_that_can_hide_words_number_their_pieces_each_for_itself(
    tokenizer: str, tmp_path: Path
) -> None:
    sizes = ("data.kind=small-world", "data.train_size=40", "data.validation_size=8", "data.compositional_size=0")
    settings = [*(one for one in TINY if not one.startswith("data.")), *sizes, f"tokenizer={tokenizer}"]
    regard.train("small-world", tmp_path / "run", settings)
    run = regard.load(tmp_path / "run")
    assert not run.vocabularies.shared
    assert len(run.predict(["the cat sleeps"])) == 1
