"""Classes of sounds through the task that classifies texts and pictures: trained, scored, asked, looked at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from regard.core.errors import InputError
from regard.data.modalities.audio.sounds import Waveform
from regard.data.modalities.audio.wav import wav_bytes
from regard.inspection.look.gathering import look
from regard.runs.evaluate import evaluate
from regard.runs.load import Run, load
from regard.runs.train import train
from tests.answering import holding
from tests.sounds import RATE, tone_of, write_broken, write_tones


def recipe(folder: Path, front: dict[str, Any], **audio: Any) -> dict[str, Any]:
    return {
        "data": {"kind": "sounds", "train": str(folder / "train"), "validation_size": 10, "test": str(folder / "test")},
        "input": {"kind": "audio", **audio},
        "model": {"kind": "vit", "layers": 1, "width": 16, "heads": 2, "front": front,
                  "position": {"kind": "sinusoidal"}},
        "task": {"kind": "classification"},
        "training": {"steps": 100, "batch_tokens": 256, "learning_rate": 0.01, "threads": 1,
                     "schedule": {"kind": "constant"}},
    }  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("sounds")
    write_tones(folder / "train", 30)
    write_tones(folder / "test", 6, rate=3000)  # which is not the rate of the training sounds
    features = {"kind": "log-mel", "bins": 12, "hop": 0.02, "window": 0.05}
    table = recipe(
        folder, {"kind": "patches", "size": [2, 6], "class_token": False}, features=features, seconds=0.3,
        augmentation={"shift": 0.02, "noise": [10, 40], "time_masks": 1, "time_mask": 2},
    )  # fmt: skip
    train(table, folder / "run")
    return load(folder / "run")


def test_it_learns_to_tell_tones_apart(run: Run) -> None:
    scores = evaluate(run)
    assert scores["accuracy"] >= 0.9
    methods = evaluate(run, yardsticks=True)["yardsticks"]
    assert set(methods) == {
        "most frequent class", "nearest mean spectrogram", "softmax regression on the spectrogram",
    }  # fmt: skip
    assert methods["most frequent class"]["accuracy"] == 0.5
    assert methods["nearest mean spectrogram"]["accuracy"] == 1.0


def test_the_ledger_names_what_was_resampled_and_cut(run: Run) -> None:
    ledger = json.loads((run.folder.path / "ledger.json").read_text())
    told = {(one["what"], one["reason"]): one["count"] for one in ledger["reasons"]}
    assert told["corrected", "resampled from 3,000 to 2,000 Hz"] == 12
    assert told["truncated", "longer than a sound may be"] == 2 * 6 + 2  # those of 0.32 seconds
    assert any(one["detail"].endswith("test/high/0.wav") for one in ledger["exceptions"])


def test_an_answer_to_a_file_and_to_samples(run: Run, tmp_path: Path) -> None:
    (tmp_path / "clip.wav").write_bytes(wav_bytes(tone_of("high", 0.25, 77), RATE))
    assert run.predict([str(tmp_path / "clip.wav"), Waveform(tone_of("low", 0.21, 78), RATE)]) == ["high", "low"]
    broken = write_broken(tmp_path, (tmp_path / "clip.wav").read_bytes(), cut=50, silent=99)
    with pytest.raises(InputError) as raised:
        run.predict([str(tmp_path / "clip.wav"), *broken])
    assert "a sound is expected in every input" in str(raised.value)
    assert "it is truncated: 475 of 500 samples are there" in str(raised.value)
    assert "silent.wav is silent" in str(raised.value)


def test_it_answers_the_same_in_every_way(run: Run) -> None:
    assert {"batch", "reference", "fused"} <= holding(run)


def test_attention_is_drawn_over_the_spectrogram(run: Run) -> None:
    clips = [Waveform(tone_of("high", seconds, 5), RATE) for seconds in (0.2, 0.3)]
    task: Any = run.task
    probes = [task.probe(run.session(), one) for one in clips]
    assert [one.axis.shape for one in probes] == [(5, 2), (8, 2)]
    shown = look(run, probes)
    assert [one["picture"]["grid"] for one in shown.data["texts"]] == [(5, 2), (8, 2)]
    assert shown.data["texts"][0]["picture"]["rows"] >= 384
    assert len(shown.statistics) == 2


def test_three_grains_are_three_pictures_side_by_side(run: Run, tmp_path: Path) -> None:
    own = run.folder.path.parent
    table = recipe(
        own, {"kind": "hierarchy", "sizes": [16, 8, 4]}, features={"kind": "waveform", "hop": 0.01},
    )  # fmt: skip
    table["training"]["steps"] = 2
    train(table, tmp_path / "run")
    waveform = load(tmp_path / "run")
    task: Any = waveform.task
    probe = task.probe(waveform.session(), Waveform(tone_of("high", 0.32, 5), RATE))
    assert probe.axis.labels[:5] == ("class", "1:1", "1:2", "2:1", "2:2")
    assert len(probe.axis.labels) == 1 + 2 + 4 + 8
    assert probe.pixels_HWC.shape[1] % 14 == 0  # every reading as wide as its positions
    assert look(waveform, [probe]).data["texts"][0]["picture"]["grid"] == (1, 14)
