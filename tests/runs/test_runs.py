"""A recipe becomes a run, a folder becomes a model again."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import struct
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import regard
from regard.core.errors import DataError, InputError, RegardError, RunError
from regard.data.modalities.audio.wav import wav_bytes
from regard.decoding.options import Beam, Greedy, Sampling
from regard.runs.evaluate import evaluate, scored_splits
from regard.runs.folder import RunFolder
from regard.runs.integrity import read_summary, scored_corpus
from regard.runs.journal import MetricsFile
from regard.runs.load import Run
from regard.runs.recipe import Recipe
from regard.runs.significance import significance
from regard.runs.train import Trained, load_corpus
from regard.training import checkpoints
from tests.graph_files import write_citations, write_molecules, write_tu
from tests.sounds import tone_of, write_tones

TINY = (
    "data.train_size=1500", "data.validation_size=30", "data.test_size=20", "data.symbols=6", "data.max_length=5",
    "model.width=32", "model.heads=2", "model.feed_forward.width=64", "model.encoder_layers=1",
    "model.decoder_layers=1", "training.learning_rate=0.01", "training.steps=150", "training.batch_tokens=600",
    "training.schedule.warmup=10",
)  # fmt: skip
TINIEST = (*TINY, "data.train_size=60", "training.steps=2")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A run of the copy recipe that has learned its lesson; tests that change it take a copy."""
    return regard.train("copy", tmp_path_factory.mktemp("runs") / "copy", TINY)


@pytest.fixture(scope="module")
def folder(trained: Trained) -> Path:
    return Path(trained.run)


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    return regard.load(folder)


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "copy"))


# -- the way of a user ------------------------------------------------------------------------------------------


def test_train_load_predict(trained: Trained) -> None:
    run = regard.load(trained.run)
    answers = run.predict(["a b c", "e d c b", "f a f a c"])
    assert answers == ["a b c", "e d c b", "f a f a c"]
    assert trained.steps == 150
    assert trained.weights_sha256 == checkpoints.weights_hash(checkpoints.weights_of(run.model))


def test_a_run_folder_holds_what_it_should(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == [
        "checkpoints", "environment.json", "ledger.json", "metrics.jsonl", "model.safetensors", "recipe.toml",
        "summary.json", "tokenizer.json",
    ]  # fmt: skip
    recipe = Recipe.read(folder / "recipe.toml")
    assert recipe == Recipe.read("copy", TINY)
    assert recipe.to_toml() == (folder / "recipe.toml").read_text(encoding="utf-8")
    assert "learning_rate = 0.01" in recipe.to_toml()
    assert "beta2 = " in recipe.to_toml(), "every default is written out"
    environment = json.loads((folder / "environment.json").read_text(encoding="utf-8"))
    assert environment["torch"] == torch.__version__
    assert environment["threads"] >= 1


def test_the_same_recipe_gives_the_same_weights(tmp_path: Path) -> None:
    one, two, other = (
        regard.train("copy", tmp_path / name, [*TINIEST, f"seed={seed}"]).weights_sha256
        for name, seed in (("one", 3), ("two", 3), ("other", 4))
    )
    assert one == two
    assert one != other


def test_order_is_kept_and_neighbours_do_not_matter(run: Run) -> None:
    texts = ["a b c d e", "f", "c c c", "e d c b a", "a f", "f", "b a d"]
    for options in (Greedy(), Beam(size=3)):
        together = run.answers(texts, options)
        alone = [run.answers([text], options)[0] for text in texts]
        assert [own[0].text for own in together] == [own[0].text for own in alone]
        for own, by_itself in zip(together, alone, strict=True):
            assert own[0].log_probability == pytest.approx(by_itself[0].log_probability, abs=1e-4)
        assert run.predict(texts[::-1], options) == run.predict(texts, options)[::-1]


def test_one_text_may_stand_without_a_list(run: Run) -> None:
    assert run.predict("a b c") == run.predict(["a b c"])
    assert run.predict([]) == []


def test_an_empty_text_has_an_empty_answer(run: Run) -> None:
    found = run.predict(["a b c"])
    assert run.predict(["", *found, " \t"])[::2] == ["", ""]
    assert run.predict("") == [""]
    assert run.answers(["", "a b c"])[0] == []
    assert run.predict(["", "a b c"])[1:] == found


def test_what_cannot_be_answered_is_placed_among_all_inputs(run: Run) -> None:
    long = "a " * 3000
    with pytest.raises(InputError, match=r"more in: input 3 \(3000 pieces\), input 5 ") as caught:
        run.predict(["a", "", long, "", long])
    assert "in: line 13 (3000 pieces), line 15 (3000 pieces); cut" in caught.value.named(lambda n: f"line {n + 11}")
    with pytest.raises(InputError, match=r"pieces of an answer, and there are more in: input 2 \(3000 pieces\)"):
        run.score(["a", "b"], ["a", long])


def test_samples_go_on_over_several_calls(run: Run) -> None:
    texts, options = ["a b c", "", "a b c", "a b c"], Sampling(temperature=3.0, seed=2)
    whole = [[one.text for one in own] for own in run.answers(texts, options)]
    parts = run.answers(texts[:2], options) + run.answers(texts[2:], options, first=2)
    assert [[one.text for one in own] for own in parts] == whole
    assert whole[0] != whole[2]


def test_given_answers_are_scored_as_the_search_scores_them(run: Run) -> None:
    found = run.answers(["b a d c"], Greedy())[0][0]
    pieces = run.score(["b a d c"], [found.text])[0]
    assert len(pieces) == len(found.text.split()) + 1
    assert sum(pieces) == pytest.approx(found.log_probability, abs=1e-3)
    with pytest.raises(DataError, match="1 sources against 2 references; give one for each, in order"):
        run.score(["a"], ["a", "b"])


# -- scores -----------------------------------------------------------------------------------------------------


def test_evaluation_scores_the_test_split_and_keeps_it(copied: Path) -> None:
    run = regard.load(copied)
    scores = evaluate(run)
    assert {
        "split", "sentences", "bleu", "bleu_low", "bleu_high", "bleu_signature", "chrf", "chrf_signature",
        "exact_match", "exact_match_low", "exact_match_high", "word_error_rate", "character_error_rate",
        "token_accuracy", "loss", "decoding", "alignment_head", "alignment_error_rate",
    } <= set(scores)  # fmt: skip
    assert scores["split"] == "test"
    assert scores["sentences"] == 20
    assert scores["decoding"]["kind"] == "greedy"
    assert "version:" in scores["bleu_signature"]
    assert "tok:none" in scores["bleu_signature"]
    for rate in ("exact_match", "token_accuracy", "alignment_error_rate"):
        assert 0 <= scores[rate] <= 1
    assert scores["token_accuracy"] > 0.9
    kept = json.loads((copied / "scores.json").read_text(encoding="utf-8"))
    assert kept == json.loads(json.dumps(scores))
    assert run.alignment_head == tuple(scores["alignment_head"])


def test_given_files_are_scored_and_not_kept(copied: Path, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("a b c\nd e\n", encoding="utf-8")
    (tmp_path / "out").write_text("a b c\nd e\n", encoding="utf-8")
    scores = evaluate(regard.load(copied), source=tmp_path / "in", reference=tmp_path / "out", options=Beam(size=2))
    assert scores["sentences"] == 2
    assert scores["decoding"]["size"] == 2
    assert not (copied / "scores.json").exists()


def test_without_test_sentences_the_validation_split_is_scored(tmp_path: Path) -> None:
    regard.train("copy", tmp_path / "run", [*TINIEST, "data.test_size=0"])
    run = regard.load(tmp_path / "run")
    scores = evaluate(run)
    assert (scores["split"], scores["sentences"]) == ("validation", 30)
    assert significance(run, run)["difference"] == 0


def test_without_validation_sentences_no_head_is_chosen(tmp_path: Path) -> None:
    regard.train("copy", tmp_path / "run", [*TINIEST, "data.validation_size=0"])
    scores = evaluate(regard.load(tmp_path / "run"))
    assert scores["split"] == "test"
    assert "alignment_head" not in scores


def test_without_any_sentences_files_must_be_named(tmp_path: Path) -> None:
    regard.train("copy", tmp_path / "run", [*TINIEST, "data.validation_size=0", "data.test_size=0"])
    with pytest.raises(DataError, match="the run has no test split; name files with --source and"):
        evaluate(regard.load(tmp_path / "run"))


def test_the_small_world_is_scored_on_both_of_its_splits(tmp_path: Path) -> None:
    settings = [
        "data.train_size=200", "data.validation_size=10", "data.test_size=10", "data.compositional_size=10",
        "training.steps=2", "model.width=16", "model.heads=2", "model.feed_forward.width=16", "decoding.max_length=6",
    ]  # fmt: skip
    regard.train("small-world", tmp_path / "run", settings)
    scores = evaluate(regard.load(tmp_path / "run"))
    assert {"alignment_error_rate", "compositional_alignment_error_rate", "compositional_bleu"} <= set(scores)


def test_a_run_does_not_differ_from_itself(run: Run) -> None:
    found = significance(run, run)
    assert found["difference"] == 0
    assert str(run.folder.path) == found["run"]


# -- what can be wrong with a folder ----------------------------------------------------------------------------


def test_a_folder_that_holds_a_run_is_left_alone(copied: Path) -> None:
    before = (copied / "model.safetensors").read_bytes()
    with pytest.raises(RunError) as caught:
        regard.train("copy", copied, TINY)
    assert str(caught.value) == (
        f"{copied} already holds a run; continue it with --resume, or choose another --out"
    )
    assert (copied / "model.safetensors").read_bytes() == before


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work", encoding="utf-8")
    with pytest.raises(RunError, match=r"is not empty and holds no run \(thesis.tex…\); choose another --out"):
        regard.train("copy", tmp_path, TINIEST)
    with pytest.raises(RunError, match=r"thesis.tex is a file; name a folder with --out"):
        regard.train("copy", tmp_path / "thesis.tex", TINIEST)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_resuming_with_another_recipe_names_what_differs(copied: Path) -> None:
    with pytest.raises(RunError) as caught:
        regard.train("copy", copied, [*TINY, "training.steps=130", "model.width=16"], resume=True)
    assert str(caught.value) == (
        f"{copied} holds a run of another recipe than the one given; resume it with its own: "
        f"regard train {copied}/recipe.toml --out {copied} --resume; differing: "
        "model.width = 32 in the folder, 16 given; training.steps = 150 in the folder, 130 given"
    )


def test_an_empty_folder_or_one_with_a_half_written_recipe_is_taken(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".recipe.toml.4711.part").write_text("name = ", encoding="utf-8")
    assert regard.train("copy", tmp_path / "run", TINIEST, resume=True).steps == 2


def test_a_kill_between_two_tokenizers_can_be_resumed(tmp_path: Path) -> None:
    settings = [*TINIEST, "tokenizer.joint=false"]
    whole = regard.train("copy", tmp_path / "whole", settings)
    (tmp_path / "run").mkdir()
    for name in ("recipe.toml", "source.tokenizer.json"):
        shutil.copy(tmp_path / "whole" / name, tmp_path / "run" / name)
    assert regard.train("copy", tmp_path / "run", settings, resume=True).weights_sha256 == whole.weights_sha256


def test_a_missing_folder_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(RunError) as caught:
        regard.load(tmp_path / "none")
    assert str(caught.value) == (
        f"there is no run folder {tmp_path}/none; make one with: regard train RECIPE --out {tmp_path}/none"
    )


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        (["model.safetensors"], "no model.safetensors: finish it with: regard train {0}/recipe.toml --out {0}"),
        (["recipe.toml"], "has no recipe.toml: it does not look like a run folder; name the folder that was given"),
        (["recipe.toml", "model.safetensors"], "has no recipe.toml, no model.safetensors: it does not look like"),
        (["tokenizer.json"], "no tokenizer at {0}/tokenizer.json; the run folder is not complete"),
    ],
    ids=["weights", "recipe", "both", "tokenizer"],
)
def test_a_missing_file_is_named(missing: list[str], words: str, copied: Path) -> None:
    for name in missing:
        (copied / name).unlink()
    with pytest.raises(RunError) as caught:
        regard.load(copied)
    assert words.format(copied) in str(caught.value)


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("foreign")
    regard.train("copy", made, [*TINIEST, "data.symbols=9", "model.decoder_layers=2"])
    return made


def test_the_tokenizer_of_another_run_does_not_fit(copied: Path, foreign: Path) -> None:
    shutil.copy(foreign / "tokenizer.json", copied / "tokenizer.json")
    with pytest.raises(RunError) as caught:
        regard.load(copied)
    assert str(caught.value) == (
        f"{copied}/model.safetensors does not fit the model of its recipe:\n"
        "  - target_embedding.weight is (11, 32), the model needs (14, 32)"
    )


def test_the_weights_of_another_run_do_not_fit(copied: Path, foreign: Path) -> None:
    shutil.copy(foreign / "model.safetensors", copied / "model.safetensors")
    with pytest.raises(RunError) as caught:
        regard.load(copied)
    said = str(caught.value)
    assert f"{copied}/model.safetensors does not fit the model of its recipe:" in said
    assert "  - target_embedding.weight is (14, 32), the model needs (11, 32)" in said
    unexpected = [line for line in said.splitlines() if line.startswith("  - unexpected decoder.layers.1.")]
    assert len(unexpected) == 20


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("model.safetensors", "not weights", "model.safetensors cannot be read as safetensors"),
        ("tokenizer.json", "{}", "tokenizer.json is not a tokenizer file of the tokenizers library"),
        ("recipe.toml", "[model", "recipe.toml is not valid TOML"),
        ("recipe.toml", "[task]\n[model]\nwitdh = 3", "model.witdh: unknown key (did you mean 'width'?)"),
    ],
    ids=["weights", "tokenizer", "recipe", "misspelt recipe"],
)
def test_a_foreign_file_is_named(name: str, content: str, words: str, copied: Path) -> None:
    (copied / name).write_text(content, encoding="utf-8")
    with pytest.raises(RegardError, match=re.escape(words)):
        regard.load(copied)


@pytest.mark.parametrize("name", ["summary.json", "scores.json"])
def test_a_foreign_object_is_named(name: str, copied: Path) -> None:
    (copied / name).write_text("[1]", encoding="utf-8")
    with pytest.raises(RunError, match=f"{name} holds no JSON object, as it should, but a list"):
        _ = regard.load(copied).alignment_head


def test_a_summary_that_is_none_can_be_written_again(copied: Path) -> None:
    before = read_summary(RunFolder(copied))
    (copied / "summary.json").write_text('{"steps": 3}', encoding="utf-8")
    with pytest.raises(RunError, match=r"summary\.json is not the summary of a training, its keys being steps; remove"):
        regard.train(Recipe.read("copy", TINY), copied, resume=True)
    (copied / "summary.json").unlink()
    again = regard.train(Recipe.read("copy", TINY), copied, resume=True)
    assert again.weights_sha256 == before["weights_sha256"]


def test_a_recipe_that_is_not_utf_8_is_named_by_resume_too(copied: Path) -> None:
    (copied / "recipe.toml").write_bytes(b'name = "caf\xe9"\n')
    with pytest.raises(RegardError, match=r"recipe\.toml is not UTF-8 \(byte 11\)"):
        regard.train(Recipe.read("copy", TINY), copied, resume=True)


def test_the_test_split_comes_first_whatever_the_order_of_the_files() -> None:
    assert scored_splits(["validation", "extra", "test"]) == ["test", "extra"]
    assert scored_splits(["validation", "extra", "other"]) == ["extra", "other"]
    assert scored_splits(["validation"]) == ["validation"]


def test_weights_of_the_right_shape_that_are_not_this_runs_are_noticed(copied: Path) -> None:
    weights = checkpoints.load_tensors(copied / "model.safetensors")
    name = next(iter(weights))
    checkpoints.save_tensors(copied / "model.safetensors", {**weights, name: weights[name] + 1e-3})
    with pytest.raises(RunError) as caught:
        regard.load(copied)
    assert str(caught.value) == (
        f"{copied}: modified since training, by the hashes in summary.json: model.safetensors; put the run's own "
        "back, or remove summary.json to accept the files as they are"
    )
    (copied / "summary.json").unlink()
    assert regard.load(copied).predict(["a b"])


def test_a_tokenizer_of_the_right_size_that_is_not_this_runs_is_noticed(copied: Path) -> None:
    file = copied / "tokenizer.json"
    tree = json.loads(file.read_text(encoding="utf-8"))
    words = tree["model"]["vocab"]
    one, other = list(words)[-2:]
    words[one], words[other] = words[other], words[one]
    file.write_text(json.dumps(tree), encoding="utf-8")
    with pytest.raises(RunError, match=r"modified since training, .*summary\.json: tokenizer\.json; put"):
        regard.load(copied)


# -- data -------------------------------------------------------------------------------------------------------


def write_pairs(folder: Path, stems: dict[str, int], languages: tuple[str, str]) -> Path:
    """Sentence files as the pairs recipes expect them."""
    folder.mkdir(parents=True, exist_ok=True)
    words = "the small green house on a hill sees two old trees and one quiet river today".split()  # noqa: SIM905
    number = 0
    for stem, count in stems.items():
        made = []
        for _ in range(count):
            number += 1
            made.append(" ".join([words[number % 16], words[number // 16 % 16], *words[number % 7 : number % 7 + 4]]))
        for language in languages:
            text = "\n".join(line if language == languages[0] else line.upper() for line in made)
            (folder / f"{stem}.{language}").write_text(text + "\n", encoding="utf-8")
    return folder


def test_a_line_that_is_too_long_is_listed(tmp_path: Path) -> None:
    data = write_pairs(tmp_path / "data", {"train": 40, "val": 6, "test2016": 5}, ("en", "de"))
    for language in ("en", "de"):
        lines = (data / f"train.{language}").read_text(encoding="utf-8").splitlines()
        lines[16] = " ".join(["long"] * 30)
        (data / f"train.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    settings = [
        f"data.folder={data}", "tokenizer.kind=word", "tokenizer.min_frequency=1", "task.max_length=12",
        "training.steps=2", "model.width=16", "model.heads=2",
    ]  # fmt: skip
    regard.train("multi30k", tmp_path / "run", settings)
    ledger = json.loads((tmp_path / "run" / "ledger.json").read_text(encoding="utf-8"))
    listed = [one for one in ledger["exceptions"] if one["what"] == "skipped"]
    assert listed == [
        {
            "what": "skipped", "split": "train", "file": str(data / "train.en"), "line": 17,
            "reason": "longer than task.max_length = 12 pieces", "detail": "30 source and 30 target pieces",
        }
    ]  # fmt: skip
    assert ledger["splits"]["train"] == 39


SMALL: dict[str, tuple[str, ...]] = {
    "small-world": ("data.train_size=200", "data.validation_size=10", "data.test_size=5", "data.compositional_size=5"),
    "multi30k": ("tokenizer.vocabulary=280",),
    "transformer-base": ("tokenizer.vocabulary=280", "model.width=32", "model.feed_forward.width=64"),
    "transformer-big": ("tokenizer.vocabulary=280", "model.width=32", "model.feed_forward.width=64"),
}
TINY_WRITER = ("model.width=16", "task.max_length=16", "task.sample=5")
SMALL |= {
    "multi30k-bahdanau": ("tokenizer.vocabulary=280",),
    "shakespeare": TINY_WRITER,
    "shakespeare-lstm": TINY_WRITER,
    "python-english": (*TINY_WRITER, "tokenizer.vocabulary=300"),
    "python-code": (*TINY_WRITER, "tokenizer.vocabulary=300", 'data.packages=["json"]'),
}
SMALL["parse-small-world"] = SMALL["small-world"]
SMALL["bert-small-world"] = ("data.train_size=200", "data.validation_size=10", "data.test_size=5", "model.width=16")
SMALL["tags"] = (*SMALL["bert-small-world"], "data.compositional_size=5")
SMALL["mood"] = SMALL["tags"]
SMALL["gpt-small-world"] = (*SMALL["bert-small-world"], "task.max_length=16", "task.sample=5")
SMALL["film-bert"] = ("data.some=40", "tokenizer.vocabulary=600", "model.width=12", "task.max_length=32")
SMALL["film-reviews"] = ("data.some=40", "tokenizer.vocabulary=600", "model.width=12", "task.max_length=32")
SMALL["questions"] = SMALL["embed-small-world"] = (*SMALL["small-world"], "model.width=16")
TOY = ("data.train_size=60", "data.validation_size=10", "data.test_size=5")


def write_idx_pair(folder: Path, images: str, count: int) -> None:
    """Pictures of noise under the name of an idx file, and their labels under the name that belongs to it."""
    folder.mkdir(exist_ok=True)
    drawn = np.random.default_rng(count).integers(0, 256, (count, 28, 28), np.uint8)
    labels = np.arange(count, dtype=np.uint8) % 10
    for name, values in ((images, drawn), (images.replace("images-idx3", "labels-idx1"), labels)):
        head = bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape)
        (folder / name).write_bytes(gzip.compress(head + values.tobytes()))


def write_graphs(folder: Path) -> None:
    """Everything that a recipe of graphs may want, in one folder."""
    write_tu(folder / "MUTAG", 60)
    write_citations(folder / "cora", 60)
    for split, count in (("train", 60), ("test", 7)):
        write_molecules(folder / f"solubility.{split}.sdf", count, "SOL")


def write_sheets(folder: Path, entry: Any, shape: Sequence[int], count: int) -> None:
    """Colour pictures of noise as one sheet under a name that fits the entry, and their labels under its name."""
    folder.mkdir(exist_ok=True)
    drawn = np.random.default_rng(count).integers(0, 256, (count, shape[0] * shape[1], 3), np.uint8)
    Image.fromarray(drawn).save(folder / entry.file.replace("*", "1"))
    (folder / entry.labels).write_text(json.dumps([place % 10 for place in range(count)]))


def write_pictures(folder: Path, data: Any) -> tuple[int, ...]:
    """What a recipe's two entries name, and the shape of a picture in it."""
    for (entry,), count in ((data.train, 90), (data.test, 20)):
        if entry.labels:
            write_sheets(folder, entry, data.shape, count)
        else:
            write_idx_pair(folder, entry.file, count)
    return (*data.shape, 3) if data.shape else (28, 28)


def series_settings(shipped: Any, folder: Path) -> list[str]:
    """Tables of hours and .ts files with the names, columns and channels that a recipe reads."""
    folder.mkdir()
    generator = np.random.default_rng(3)
    settings = ["training.steps=3", "model.width=16"]
    if shipped.data.kind == "waves":
        return [*settings, "data.hours=1200"]
    settings += [f"data.folder={folder}"]
    if shipped.data.kind == "labelled-series":
        rows = [
            ":".join([*(" , ".join(map(str, own)) for own in generator.random((12, 5 + one % 9))), str(1 + one % 9)])
            for one in range(60)
        ]
        for entry in (*shipped.data.train, *shipped.data.test):
            (folder / entry.file).write_text("\n".join(["@data", *rows]) + "\n", encoding="utf-8")
        return [*settings, "data.validation_size=9"]
    columns, time = shipped.data.values or ("y",), shipped.data.time or "ts"
    lines = [",".join([*([time] if isinstance(time, str) else time), *columns])]
    for hour in range(1500):
        now = datetime(2024, 1, 1) + timedelta(hours=hour)
        cells = [now.isoformat()] if isinstance(time, str) else [now.year, now.month, now.day, now.hour]
        lines.append(",".join(map(str, [*cells, *generator.random(len(columns)).round(3)])))
    (folder / shipped.data.train[0].file).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return settings


NARROW = ("model.width=16", "training.schedule.warmup=1")


def write_sounds(folder: Path, data: Any) -> None:
    """Tones in class folders, or beside a table of what is said in them."""
    for number, (entry,) in enumerate(filter(None, (data.train, data.validation, data.test))):
        if data.kind == "sounds":
            write_tones(folder / entry.file, 40)
            continue
        (folder / f"clips{number}").mkdir(parents=True)
        lines = ["sound,text"]
        for clip in range(40 if number == 0 else 8):
            path = folder / f"clips{number}" / f"{clip}.wav"
            path.write_bytes(wav_bytes(tone_of("low", 1 + 0.05 * (clip % 5), 100 * number + clip, rate=8000), 8000))
            lines.append(f"clips{number}/{clip}.wav,un gato")
        (folder / entry.file).write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize("name", sorted(regard.recipes()))
def test_every_shipped_recipe_takes_three_steps(name: str, tmp_path: Path) -> None:
    shipped: Any = Recipe.read(name)
    usual = SMALL["small-world"] if shipped.data.kind == "small-world" else TOY
    settings = [*SMALL.get(name, usual), "training.steps=3"]
    if shipped.task.generates:
        settings.append("decoding.max_length=4")
    if shipped.data.kind == "pairs":
        named = {shipped.data.train: 40, shipped.data.validation: 6, shipped.data.test: 5}
        stems = {entry.source.removesuffix(".en"): size for (entry,), size in named.items()}
        data = write_pairs(tmp_path / "data", stems, ("en", "de"))
        settings.append(f"data.folder={data}")
    if shipped.data.kind == "pictures":
        shape = write_pictures(tmp_path / "data", shipped.data)
        small = ["data.validation_size=10", "model.width=16", "training.batch_tokens=16"]
        settings = ["training.steps=3", f"data.folder={tmp_path / 'data'}", *small]
    if shipped.data.kind == "grey-digits":
        settings = ["training.steps=3", "model.width=16", "decoding.max_length=4"]
    if shipped.input.kind == "graph":
        write_graphs(tmp_path / "data")
        settings = ["training.steps=3", "data.validation_size=5", "model.width=16", f"data.folder={tmp_path / 'data'}"]
    if shipped.data.kind == "graph-nodes":
        settings += ["data.test_size=10", "data.per_class=10"]
    if shipped.input.kind == "series":
        settings = series_settings(shipped, tmp_path / "data")
    if shipped.data.kind == "keypad":
        settings = ["training.steps=3", "data.train_size=40", "data.test_size=5", "data.validation_size=5", *NARROW]
    if shipped.data.kind == "moving-shapes":
        made = ["data.train_size=40", "data.test_size=5", "data.validation_size=5", "data.compositional_size=5"]
        settings = ["training.steps=3", *made, *NARROW]
    if shipped.data.kind in ("sounds", "speech"):
        sizes = [] if shipped.data.validation else ["data.validation_size=6"]
        write_sounds(tmp_path / "data", shipped.data)
        settings = ["training.steps=3", f"data.folder={tmp_path / 'data'}", *sizes, *NARROW]
    if shipped.data.kind == "text":
        (tmp_path / "text.txt").write_text("the small house stands on a hill. " * 60, encoding="utf-8")
        settings.append(f"data.train={tmp_path / 'text.txt'}")
    trained = regard.train(name, tmp_path / "run", settings)
    assert trained.steps == 3
    assert 0 < trained.validation_loss < (60 if shipped.input.kind == "audio" else 20)  # of a symbol among all steps
    if shipped.input.kind == "audio":
        (tmp_path / "clip.wav").write_bytes(wav_bytes(tone_of("low", 0.5, rate=8000), 8000))
        assert len(regard.load(tmp_path / "run").predict([str(tmp_path / "clip.wav")])) == 1
        return
    if shipped.input.kind == "video":
        assert len(regard.load(tmp_path / "run").predict([np.zeros((9, 20, 30, 3), np.uint8)])) == 1
        return
    if shipped.input.kind == "series":
        return
    if shipped.data.kind == "pictures":
        assert len(regard.load(tmp_path / "run").predict([np.zeros(shape, np.uint8)])) == 1
        return
    if shipped.input.kind == "graph":
        number = 102 if shipped.data.kind == "graph-nodes" else 2
        asked = f"{tmp_path / 'data' / shipped.data.train[0].file}#{number}"
        assert len(regard.load(tmp_path / "run").predict([asked])) == 1
        return
    gap = {"masked-language-model": " [MASK]", "question-answering": "\tthe house"}.get(shipped.task.kind, "")
    assert len(regard.load(tmp_path / "run").predict([f"the small house{gap}", f"a{gap} b"])) == 2


def test_a_recipe_that_reads_files_says_where_it_wants_them(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"needs to know where the files are: --set data\.folder=path/to/folder"):
        regard.train("multi30k", tmp_path / "run")
    assert not (tmp_path / "run").exists(), "nothing is made before the data can be read"


def test_a_run_made_before_a_setting_existed_can_be_resumed(copied: Path) -> None:
    """What its recipe does not say counts as it is by default; another value is another recipe."""
    recipe = copied / "recipe.toml"
    text = recipe.read_text(encoding="utf-8")
    assert "consistency = 0.0\n" in text
    before = read_summary(RunFolder(copied))
    recipe.write_text(text.replace("consistency = 0.0\n", ""), encoding="utf-8")
    assert asdict(regard.train(Recipe.read("copy", TINY), copied, resume=True)) == before
    with pytest.raises(RunError, match=r"task\.consistency = nothing in the folder, 1\.0 given"):
        regard.train(Recipe.read("copy", [*TINY, "task.consistency=1.0"]), copied, resume=True)


def test_splits_that_were_set_aside_stay_those_that_were_drawn(tmp_path: Path) -> None:
    """Drawn again from files that have grown, it would hold sentences that the model was trained on."""
    data = write_pairs(tmp_path / "data", {"train": 60}, ("en", "de"))
    files = f'{{source = "{data}/train.en", target = "{data}/train.de"}}'
    settings = [
        "data.kind=pairs", f"data.train={files}", "data.validation_size=7", "data.test_size=5", "tokenizer.kind=word",
        "tokenizer.min_frequency=1", "training.steps=2", "model.width=16", "model.heads=2",
    ]  # fmt: skip
    out = tmp_path / "run"
    regard.train({}, out, settings)
    drawn = {
        split: [json.loads(line)["source"] for line in (out / f"{split}.jsonl").read_text("utf-8").splitlines()]
        for split in ("validation", "test")
    }
    assert all(drawn.values())
    for language, line in (("en", "a new line\n"), ("de", "A NEW LINE\n")):
        file = data / f"train.{language}"
        file.write_text(line + file.read_text("utf-8"), encoding="utf-8")
    run = regard.load(out)
    drawn_again = load_corpus(run.recipe)
    for split, before in drawn.items():
        assert [pair.source for pair in drawn_again.splits[split]] != before
    kept = scored_corpus(run.folder, drawn_again).splits
    assert {split: [pair.source for pair in own] for split, own in kept.items()} == drawn
    (out / "test.jsonl").rename(tmp_path / "test.jsonl")
    with pytest.raises(RunError, match=r"by the hashes in summary\.json: test\.jsonl; put the run's own back"):
        regard.load(out)
    (tmp_path / "test.jsonl").rename(out / "test.jsonl")
    (out / "validation.jsonl").write_text("broken\n", encoding="utf-8")
    with pytest.raises(RunError, match=r"by the hashes in summary\.json: validation\.jsonl; put the run's own back"):
        regard.load(out)
    with pytest.raises(RunError, match=r"validation\.jsonl was changed .*: it holds lines that are not JSON"):
        scored_corpus(run.folder, drawn_again)
    (out / "validation.jsonl").write_text('{"text": "a"}\n', encoding="utf-8")
    with pytest.raises(RunError, match=r"validation\.jsonl holds something other than examples of kind Pair"):
        scored_corpus(run.folder, drawn_again)
    (out / "summary.json").unlink()
    with pytest.raises(RunError, match=r"the training files are not those with which .*run was begun.*begin a new run"):
        regard.train(out / "recipe.toml", out, resume=True)


def test_a_disk_that_is_full_when_figures_are_written_is_told_with_the_remedy(tmp_path: Path) -> None:
    journal = MetricsFile(tmp_path / "gone" / "metrics.jsonl", every=1)
    with pytest.raises(RunError, match=r"metrics\.jsonl could not be written: .*There is no checkpoint yet: free some"):
        journal.on_step(1, {"loss": 1.0})
    (tmp_path / "gone" / "checkpoints" / "step-00000002").mkdir(parents=True)
    (tmp_path / "gone" / "metrics.jsonl").mkdir()
    with pytest.raises(RunError, match=r"What is in the checkpoints is safe: .*continue with --resume"):
        journal.on_step(3, {"loss": 1.0})
