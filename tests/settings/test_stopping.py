"""Ctrl-C outside training steps ends with a sentence that says what is there and how to go on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import regard
from regard.cli.main import main
from regard.runs.load import load
from regard.training.loop import Loop
from tests.settings.stopping import press_ctrl_c

TINY = (
    "data.train_size=40", "data.validation_size=8", "data.test_size=8", "training.steps=2", "training.batch_tokens=64",
    "training.threads=1", "model.width=16", "model.heads=2", "model.encoder_layers=1", "model.decoder_layers=1",
)  # fmt: skip
SETTINGS = [word for setting in TINY for word in ("--set", setting)]
LOADING = "regard.runs.load.checkpoints.load_tensors"
AGAIN = "stopped before the first step: nothing was kept, and the same command begins again"


def stopped(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    with pytest.raises(SystemExit) as end:
        main([str(word) for word in words])
    assert end.value.code == 130
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return said


def instead(*_: Any, **__: Any) -> Any:
    press_ctrl_c()


def test_while_data_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kind = "data.kind=tests.settings.stopping:StopsWhileReading"
    assert AGAIN in stopped(capsys, "train", "reverse", "--out", tmp_path / "run", "--set", kind)
    assert not any((tmp_path / "run").glob("*"))


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("regard.runs.train.build_model", AGAIN),
        ("regard.runs.budget.measure", AGAIN),
        ("regard.runs.train.write_summary", "stopped: the newest checkpoint is kept; continue with:\nregard train "),
    ],
)
def test_before_and_after_training(
    where: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    budget = ["--budget", "60s"] if "budget" in where else []
    with monkeypatch.context() as patch:
        patch.setattr(where, instead)
        assert told in stopped(capsys, "train", "reverse", "--out", out, *SETTINGS, *budget)
    again = ["--resume"] if "continue with" in told else []
    recipe = out / "recipe.toml" if again else "reverse"
    main_ends_well("train", recipe, "--out", out, *([] if again else SETTINGS), *again)


def test_while_validating(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said that the request was heard, since a validation may take minutes; then everything is kept."""
    whole, pressed = Loop.sums, list[bool]()

    def sums(loop: Loop, batch: Any) -> Any:
        if not loop.model.training and not pressed:
            pressed.append(True)
            press_ctrl_c()
        return whole(loop, batch)

    monkeypatch.setattr(Loop, "sums", sums)
    few = ["--set", "training.validate_every=1", "--set", "training.batch_tokens=24"]
    said = stopped(capsys, "train", "reverse", "--out", tmp_path / "run", *SETTINGS, *few)
    assert said.count("stopping once this is measured and saved; Ctrl-C again stops at once") == 1
    assert "stopped and saved after step 1; continue with:" in said


def main_ends_well(*words: object) -> None:
    with pytest.raises(SystemExit) as end:
        main([str(word) for word in words])
    assert end.value.code in (0, None)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stopped") / "run"
    regard.train("reverse", folder, TINY)
    return folder


@pytest.mark.parametrize(
    ("verb", "where"),
    [
        (lambda run, out: ("evaluate", run), "regard.runs.evaluate.score_splits"),
        (lambda run, out: ("export", run, "--to", "onnx", "--out", out), LOADING),
        (lambda run, out: ("look", run, "a b", "--out", out), LOADING),
    ],
)
def test_in_other_verbs(
    verb: Callable[[Path, Path], tuple[object, ...]], where: str, run: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(where, instead)
    said = stopped(capsys, *verb(run, tmp_path / "out"))
    assert "stopped before it was done: nothing is left half-written, and the same command begins again" in said
    assert not (tmp_path / "out").exists()
    monkeypatch.undo()
    assert len(load(run).predict(["a b"])) == 1
