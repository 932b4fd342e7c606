"""Keypad tones become digits by temporal classification: trained, scored, asked, looked at; and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.core.errors import DataError, InputError, OptionError, RegardError
from regard.core.inputs import States
from regard.data.modalities.audio.keypad import RATE, KeypadSound
from regard.data.modalities.audio.resampling import resample
from regard.data.modalities.audio.wav import wav_bytes
from regard.inspection.look.gathering import look
from regard.layers.symbol_head import SymbolHead
from regard.runs.evaluate import evaluate
from regard.runs.load import Run, load
from regard.runs.train import train
from regard.tasks.transcription.temporal_classification import log_likelihoods
from tests.answering import holding
from tests.sounds import write_broken

FEATURES = {"kind": "log-mel", "bins": 16, "hop": 0.02, "window": 0.04, "low": 600, "high": 1600}


def recipe(**changes: Any) -> dict[str, Any]:
    tables: dict[str, Any] = {
        "data": {"kind": "keypad", "train_size": 200, "validation_size": 10, "test_size": 12, "min_length": 2,
                 "max_length": 4, "decibels": [20, 40]},
        "input": {"kind": "audio", "features": FEATURES},
        "tokenizer": {"kind": "character"},
        "model": {"kind": "vit", "layers": 1, "width": 24, "heads": 2, "dropout": 0.0,
                  "front": {"kind": "patches", "size": [1, 16], "class_token": False},
                  "position": {"kind": "sinusoidal"}},
        "task": {"kind": "temporal-classification", "dropout": 0.0},
        "training": {"steps": 260, "batch_tokens": 500, "learning_rate": 0.01, "threads": 1},
    }  # fmt: skip
    return {name: {**table, **changes.get(name, {})} for name, table in tables.items()}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("keypad") / "run"
    train(recipe(), folder)
    return load(folder)


def written(path: Path, digits: str, rate: int = RATE) -> str:
    sound = KeypadSound(digits, 77)
    path.write_bytes(wav_bytes(resample(sound.samples(), RATE, rate), rate))
    return str(path)


def test_it_learns_to_write_digits_down(run: Run) -> None:
    scores = evaluate(run)
    assert scores["character_error_rate"] < 0.2
    assert scores["character_error_rate_low"] <= scores["character_error_rate"] <= scores["character_error_rate_high"]
    assert scores["splits"] == ["test", "noisy"]
    beside = scores["yardsticks"]
    assert beside["Goertzel filter bank"]["exact_match"] == 1.0  # of clean tones
    assert beside["always the most likely characters"]["character_error_rate"] > 0.6
    assert scores["noisy_yardsticks"].keys() == beside.keys()


def test_a_file_of_another_rate_is_written_down_too(run: Run, tmp_path: Path) -> None:
    asked = [written(tmp_path / "a.wav", "380"), written(tmp_path / "b.wav", "380", rate=9000)]
    first, second = run.predict(asked)
    assert first == second
    (own,) = run.answers([asked[0]])
    assert own[0].log_probability < 0


def test_silent_and_truncated_sounds_are_named(run: Run, tmp_path: Path) -> None:
    good = written(tmp_path / "a.wav", "12")
    with pytest.raises(InputError) as raised:
        run.predict([good, *write_broken(tmp_path, Path(good).read_bytes(), cut=100, silent=900)])
    assert "it is truncated" in str(raised.value)
    assert "silent.wav is silent" in str(raised.value)


def test_given_files_are_scored_beside_their_texts(run: Run, tmp_path: Path) -> None:
    lines = ["sound,text"]
    for digits in ("12", "907", "4485"):
        written(tmp_path / f"{digits}.wav", digits, rate=8000)
        lines.append(f"{digits}.wav,{digits}")
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    scores = evaluate(run, data=[tmp_path / "table.csv"], settings=["data.kind=speech"], yardsticks=False)
    assert scores["examples"] == 3
    assert scores["character_error_rate"] < 0.5


def test_it_answers_the_same_in_every_way(run: Run) -> None:
    assert {"batch", "reference", "fused"} <= holding(run)


def test_attention_is_drawn_over_the_spectrogram(run: Run) -> None:
    task: Any = run.task
    probe = task.probe(run.session(), KeypadSound("150", 3))
    shown = look(run, [probe])
    assert shown.data["texts"][0]["picture"]["grid"] == probe.axis.shape
    assert shown.data["texts"][0]["classes"][0][0] == run.predict([KeypadSound("150", 3)])[0]


def test_more_prefixes_find_texts_that_are_at_least_as_probable(run: Run) -> None:
    task: Any = run.task
    sound = KeypadSound("2749", 5, 0.0)
    found = {
        size: task.__class__(task.config.model_copy(update={"prefixes": size}), task.corpus, run.modalities, 1)
        for size in (1, 8)
    }
    best = {size: one.transcribe(run.session(), [sound])[0] for size, one in found.items()}
    assert (len(best[1]), len(best[8])) == (1, 8)
    assert best[8][0].log_probability >= best[1][0].log_probability


def test_what_is_beyond_the_end_costs_nothing() -> None:
    torch.manual_seed(1)
    head = SymbolHead(width=7, symbols=5, dropout=0.0)
    states_BTD = torch.randn(1, 6, 7)
    padded = torch.cat((states_BTD, torch.randn(1, 3, 7)), dim=1)
    symbols_BS, lengths_B = torch.tensor([[3, 3, 1]]), torch.tensor([3])
    alone, together = (
        log_likelihoods(head(States(one, torch.tensor([6]))).log_softmax(-1), symbols_BS, lengths_B, head.blank)
        for one in (states_BTD, padded)
    )
    torch.testing.assert_close(alone, together)
    assert float(alone.detach()) < 0


def test_a_sound_with_fewer_steps_than_letters_is_named_before_training(tmp_path: Path) -> None:
    slow = {"front": {"kind": "patches", "size": [12, 16], "class_token": False}}
    with pytest.raises(DataError) as raised:
        train(recipe(model=slow), tmp_path / "run")
    told = str(raised.value)
    assert "of 200 train examples have fewer steps of time than their text takes" in told
    assert "(keypad, line " in told
    assert "Make steps shorter (model.front.size" in told


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"model": {"front": {"kind": "patches", "size": [1, 8], "class_token": False}}}, "one position for every"),
        ({"model": {"front": {"kind": "patches", "size": [1, 16]}}}, "set model.front.class_token=false"),
        ({"model": {"front": {"kind": "hierarchy", "sizes": [4, 2], "class_token": False}}}, "several times over"),
        ({"data": {"decibels": [3, 1]}}, "is not a range; give the smaller number first"),
        ({"data": {"min_length": 1, "max_length": 1}}, "which are too few for 222 different examples"),
        ({"tokenizer": {"joint": False}}, "texts are written here, and none are read"),
    ],
)
def test_recipes_that_make_no_sense_are_refused(changes: dict[str, Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=r"(?s).*") as raised:
        train(recipe(**changes), tmp_path / "run")
    assert told in str(raised.value)


def test_texts_on_both_sides_have_tasks_of_their_own(tmp_path: Path) -> None:
    tables = {
        "data": {"kind": "toy", "train_size": 30, "validation_size": 5, "test_size": 5},
        "model": {"kind": "bert", "layers": 1, "width": 12, "heads": 2}, "task": {"kind": "temporal-classification"},
    }  # fmt: skip
    with pytest.raises(OptionError, match=r'choose task\.kind = "translation"'):
        train(tables, tmp_path / "run")


def test_how_answers_are_written_is_kept_with_the_run(run: Run) -> None:
    assert (run.folder.path / "target.tokenizer.json").is_file()
    assert "target.tokenizer.json" in json.loads((run.folder.path / "summary.json").read_text())["files"]
    assert "[tokenizer]" in run.folder.recipe.read_text()
