"""``--ranks``: processes that share every step end with the weights of one, up to rounding."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
import torch
from command import REGARD, regard

from regard.training import checkpoints

SMALL = (
    "data.train_size=200", "data.validation_size=20", "data.test_size=5", "model.width=16", "model.heads=2",
    "model.dropout=0.0", "training.batch_tokens=256", "training.checkpoint_every=5",
)  # fmt: skip
needs_two_cores = pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="two processes need two cores")


def command(out: Path, *more: str) -> list[str]:
    return [str(REGARD), "train", "copy", "--out", str(out), *(w for one in SMALL for w in ("--set", one)), *more]


def run(out: Path, *more: str) -> None:
    own = {name: value for name, value in os.environ.items() if name not in ("WORLD_SIZE", "RANK")}
    done = subprocess.run(command(out, *more), env=own, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


@needs_two_cores
def test_two_processes_end_with_the_weights_of_one(tmp_path: Path) -> None:
    run(tmp_path / "one", "--set", "training.steps=12", "--set", "training.threads=1")
    run(tmp_path / "two", "--set", "training.steps=12", "--set", "training.threads=1", "--ranks", "2")
    one, two = (checkpoints.load_tensors(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    for name in one:  # a bias of keys has no influence: its gradient is rounding, which Adam makes as large as any
        if not name.endswith(("project.bias", "project_memory.bias")):
            torch.testing.assert_close(two[name], one[name], atol=1e-4, rtol=1e-3)
    assert checkpoints.latest(tmp_path / "two" / "checkpoints")[0].state["ranks"] == 2  # type: ignore[union-attr]


@needs_two_cores
def test_a_polite_kill_stops_all_of_them_and_saves(tmp_path: Path) -> None:
    out = tmp_path / "run"
    own = {name: value for name, value in os.environ.items() if name not in ("WORLD_SIZE", "RANK")}
    started = subprocess.Popen(
        command(out, "--set", "training.steps=100000", "--ranks", "2"), env=own, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not checkpoints.folders(out / "checkpoints") and time.monotonic() < deadline:
        time.sleep(0.2)
    started.send_signal(signal.SIGTERM)
    assert started.wait(60) == 130
    with pytest.raises(ProcessLookupError):
        os.killpg(started.pid, 0)  # nobody of its group is left
    assert checkpoints.latest(out / "checkpoints")[0] is not None


def test_what_does_not_go_together_is_refused(tmp_path: Path) -> None:
    many = str((os.cpu_count() or 1) + 1)
    assert "cannot run at the same time" in regard("train", "copy", "--out", tmp_path / "a", "--ranks", many).error
    assert "--budget measures one process" in regard(
        "train", "copy", "--out", tmp_path / "b", "--ranks", "2", "--budget", "5s"
    ).error
