"""Pipelines of sounds: what they take, what they answer, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regard
from regard.core.errors import OptionError
from regard.data.modalities.audio.wav import wav_bytes
from regard.runs.load import Run, load
from regard.runs.train import train
from tests.sounds import RATE, tone_of, write_tones

FEATURES = {"kind": "log-mel", "bins": 12, "hop": 0.02, "window": 0.05}


def tables(data: dict[str, Any], task: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "data": data, "input": {"kind": "audio", "features": FEATURES},
        "model": {"kind": "vit", "layers": 1, "width": 12, "heads": 2,
                  "front": {"kind": "patches", "size": [1, 12], "class_token": False},
                  "position": {"kind": "sinusoidal"}},
        "task": task, "training": {"steps": 40, "batch_tokens": 256, "learning_rate": 0.01, "threads": 1}, **more,
    }  # fmt: skip


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("tones")
    write_tones(folder / "train", 30)
    data = {"kind": "sounds", "train": str(folder / "train"), "validation_size": 6}
    train(tables(data, {"kind": "classification"}), folder / "run")
    return load(folder / "run")


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("digits")
    data = {"kind": "keypad", "train_size": 40, "validation_size": 4, "test_size": 4, "max_length": 5}
    train(tables(data, {"kind": "temporal-classification"}, tokenizer={"kind": "character"}), folder / "run")
    return load(folder / "run")


def test_classes_of_paths_arrays_and_dicts(classes: Run, tmp_path: Path) -> None:
    pipe = regard.pipeline("audio-classification", model=classes)
    samples = tone_of("low", 0.25, 9)
    (tmp_path / "low.wav").write_bytes(wav_bytes(samples, RATE))
    alone = pipe(str(tmp_path / "low.wav"))
    assert [one["label"] for one in alone] == ["low", "high"]
    assert sum(one["score"] for one in alone) == pytest.approx(1)
    again = pipe([samples, {"array": samples, "sampling_rate": RATE}, {"raw": samples, "sampling_rate": RATE}], top_k=1)
    assert [own[0]["label"] for own in again] == ["low"] * 3
    both = np.stack((samples, samples))
    assert pipe({"array": both, "sampling_rate": RATE}) == pipe({"array": both.T, "sampling_rate": RATE})
    assert pipe({"array": tone_of("low", 0.25, 9, rate=3000), "sampling_rate": 3000})[0]["label"] == "low"


def test_texts_of_paths_and_arrays(texts: Run, tmp_path: Path) -> None:
    pipe = regard.pipeline("automatic-speech-recognition", model=texts)
    samples = tone_of("high", 0.3, 2)
    (tmp_path / "a.wav").write_bytes(wav_bytes(samples, RATE))
    (answer,) = pipe([str(tmp_path / "a.wav")])
    assert answer == {"text": texts.predict([str(tmp_path / "a.wav")])[0]}
    assert list(pipe(one for one in [samples, samples])) == [pipe(samples)] * 2


def test_what_is_no_sound_is_refused(classes: Run, texts: Run, tmp_path: Path) -> None:
    pipe = regard.pipeline("audio-classification", model=classes)
    with pytest.raises(OptionError, match=r"dict with array and sampling_rate; input 2 is \['array'\]"):
        pipe([np.ones(900), {"array": np.ones(900)}])
    with pytest.raises(OptionError, match="is an address, and nothing is fetched"):
        pipe("https://example.org/a.wav")
    with pytest.raises(OptionError, match=r"regard\.pipeline\('audio-classification', model='"):
        regard.pipeline("text-classification", model=classes)
    with pytest.raises(OptionError, match=r"needs a run of task\.kind = 'temporal-classification'"):
        regard.pipeline("automatic-speech-recognition", model=classes)
    with pytest.raises(OptionError, match=r"needs a run of task\.kind = 'classification'"):
        regard.pipeline("audio-classification", model=texts)
