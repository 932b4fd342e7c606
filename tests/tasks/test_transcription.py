"""Keypad tones become digits by an encoder and a decoder: trained, scored, asked, looked at; and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from regard.core.errors import OptionError, RecipeError
from regard.data.modalities.audio.keypad import KeypadSound
from regard.data.modalities.audio.wav import wav_bytes
from regard.decoding.options import Beam
from regard.inspection.look.gathering import look
from regard.runs.evaluate import evaluate
from regard.runs.load import Run, load
from regard.runs.train import train
from tests.answering import holding

FEATURES = {"kind": "log-mel", "bins": 16, "hop": 0.02, "window": 0.04, "low": 600, "high": 1600}
FRONT = {"kind": "patches", "size": [2, 16], "class_token": False}


def recipe(**changes: Any) -> dict[str, Any]:
    tables: dict[str, Any] = {
        "data": {"kind": "keypad", "train_size": 300, "validation_size": 10, "test_size": 8, "min_length": 2,
                 "max_length": 3, "decibels": [30, 40]},
        "input": {"kind": "audio", "features": FEATURES},
        "tokenizer": {"kind": "character"},
        "model": {"kind": "transformer", "encoder_layers": 1, "decoder_layers": 1, "width": 24, "heads": 2,
                  "dropout": 0.0, "norm": "pre", "front": FRONT},
        "task": {"kind": "transcription", "label_smoothing": 0.0},
        "training": {"steps": 300, "batch_tokens": 800, "learning_rate": 0.005, "threads": 1},
        "decoding": {"kind": "beam", "size": 3, "max_length": 6},
    }  # fmt: skip
    return {name: {**table, **changes.get(name, {})} for name, table in tables.items()}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("heard") / "run"
    train(recipe(), folder)
    return load(folder)


def test_its_loss_falls_below_that_of_knowing_nothing_of_the_sound(run: Run) -> None:
    """Digits are drawn evenly: without listening one costs ln 10, and the end of the text a little less than 1."""
    scores = evaluate(run)
    assert scores["loss"] < 1.4
    assert scores["character_error_rate"] < 0.5
    assert scores["decoding"]["kind"] == "beam"
    assert scores["splits"] == ["test", "noisy"]
    assert scores["yardsticks"].keys() == {"always the most likely characters", "Goertzel filter bank"}


def test_files_and_several_answers(run: Run, tmp_path: Path) -> None:
    sound = KeypadSound("38", 3)
    (tmp_path / "a.wav").write_bytes(wav_bytes(sound.samples(), sound.rate))
    (several,) = run.answers([str(tmp_path / "a.wav")], Beam(size=3, n_best=3, max_length=6))
    assert len(several) == 3
    assert [one.score for one in several] == sorted((one.score for one in several), reverse=True)


def test_it_answers_the_same_in_every_way(run: Run) -> None:
    assert {"cache", "batch", "reference", "fused"} <= holding(run)


def test_what_the_decoder_reads_of_the_sound_is_shown(run: Run) -> None:
    task: Any = run.task
    probe = task.probe(run.session(), KeypadSound("51", 3), "51")
    assert probe.axis.labels[1:] == ("5", "1")
    assert probe.source_axis.labels[0] == "1,1"
    shown = look(run, [probe])
    assert any(one["name"].endswith("cross") for one in shown.data["texts"][0]["attentions"])


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"model": {"front": {"kind": "tokens"}}}, "reads texts, and the input of this recipe is arrays of"),
        ({"model": {"kind": "bahdanau"}}, "reads tokens, and the input of this recipe is arrays of"),
    ],
)
def test_a_model_that_reads_no_sounds_is_refused(changes: dict[str, Any], told: str, tmp_path: Path) -> None:
    tables = recipe(**changes)
    if changes["model"].get("kind"):
        tables["model"] = {"kind": "bahdanau", "width": 12}
    with pytest.raises(RecipeError, match=told):
        train(tables, tmp_path / "run")


def test_texts_have_no_front_and_a_task_of_their_own(tmp_path: Path) -> None:
    toy = {"kind": "toy", "train_size": 30, "validation_size": 5, "test_size": 5}
    model = {"kind": "transformer", "width": 12, "heads": 2}
    with pytest.raises(RecipeError, match=r"the input of this recipe is none; leave model\.front out"):
        train({"data": toy, "model": {**model, "front": FRONT}, "task": {"kind": "translation"}}, tmp_path / "run")
    with pytest.raises(OptionError, match=r'choose task\.kind = "translation"'):
        train({"data": toy, "model": model, "task": {"kind": "transcription"}}, tmp_path / "run")
