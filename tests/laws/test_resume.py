"""Killed at any moment and resumed, a run ends with the same weights, to the bit, as one left in peace."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
import tomli_w
import torch

import regard
from regard.runs.recipe import Recipe
from regard.runs.train import Trained
from regard.training import checkpoints
from tests.laws import mortal

ROOT = Path(__file__).parents[2]
STEPS = 24
PATIENCE_SECONDS = 500  # for a crowded machine; an idle one needs five
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.laws.mortal", "regard.runs.train", "torch._dynamo"])  # what every run imports


@dataclass(frozen=True)
class Family:
    """A recipe in settings, and the moments at which its run dies."""

    settings: tuple[str, ...]
    model: dict[str, Any] = field(default_factory=dict)
    task: dict[str, Any] = field(default_factory=dict)
    pause: float = 0.05

    def write(self, path: Path) -> Path:
        training = {
            "steps": STEPS, "batch_tokens": 120, "learning_rate": 3e-3, "threads": 1, "log_every": 1,
            "validate_every": 8, "schedule": {"kind": "cosine", "warmup": 5},
        }  # fmt: skip
        tree = {
            "data": {"kind": "toy", "train_size": 150, "validation_size": 20, "test_size": 5, "symbols": 9,
                     "max_length": 7},
            "tokenizer": {"kind": "word", "min_frequency": 1},
            "model": self.model,
            "task": self.task,
            "training": training,
        }
        path.write_text(tomli_w.dumps(Recipe.of(tree, self.settings).model_dump()), encoding="utf-8")
        return path


TRANSFORMER = Family(
    (
        "tokenizer.kind=bpe", "tokenizer.vocabulary=280", "tokenizer.dropout=0.3", "training.accumulate=2",
        "training.optimizer.kind=muon", "training.final=average", "training.average=3", "training.checkpoint_every=3",
        "training.keep=2",
    ),
    {"encoder_layers": 1, "decoder_layers": 1, "width": 16, "heads": 2, "dropout": 0.2, "feed_forward": {"width": 32}},
)  # fmt: skip
NARROW = Family(  # products in bfloat16, dropout that still grows, and two epochs of which one goes both ways
    (
        "training.precision=bfloat16", "training.dropout_warmup=20", "training.optimizer.kind=muon",
        "training.checkpoint_every=4", "model.position.kind=rotary", "model.norm=pre",
        "task.both_ways=1", "task.word_dropout=0.2",
    ),
    {**TRANSFORMER.model, "dropout": 0.4},
)  # fmt: skip
GRU = Family(
    ("training.checkpoint_every=1", "training.optimizer.kind=adamw", "training.final=best"),
    {"kind": "tests.laws.families:GruConfig", "dropout": 0.2},
)
DECODER_ONLY = Family(
    ("training.checkpoint_every=2",),
    {"kind": "tests.laws.families:DecoderOnlyConfig", "dropout": 0.2},
    {"kind": "tests.laws.families:LanguageModelConfig"},
)
STREAMS = Family(  # what the streams remember must come back too
    (
        "data.kind=text", f"data.train={ROOT / 'LICENSE'}", "tokenizer.kind=character", "training.checkpoint_every=5",
        "training.optimizer.kind=muon",
    ),
    {"kind": "recurrent", "cell": {"kind": "lstm"}, "width": 12, "embedding": {"width": 8}},
    {"kind": "language-model", "max_length": 8, "carry": True, "sample": 5},
)  # fmt: skip


@pytest.fixture(autouse=True)
def _threads_as_before() -> Any:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def start_mortal(recipe: Path, run: Path, *inputs: Any) -> BaseProcess:
    """A process that is forked from one that has imported everything already."""
    process = FORKS.Process(target=mortal.train, args=(recipe, run, *inputs))
    process.start()
    return process


def start_command(*command: str) -> subprocess.Popen[str]:
    paths = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "NO_COLOR": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", *command], cwd=ROOT, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def wait_for_step(process: subprocess.Popen[str] | BaseProcess, run: Path, step: int) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while last_step(run) < step:
        ended = process.poll() is not None if isinstance(process, subprocess.Popen) else not process.is_alive()
        if ended or time.monotonic() > deadline:
            process.kill()
            said = process.communicate() if isinstance(process, subprocess.Popen) else "see standard error"
            pytest.fail(f"no step {step} in {PATIENCE_SECONDS} s: {said}")
        time.sleep(0.01)


def last_step(run: Path) -> int:
    metrics = run / "metrics.jsonl"
    lines = metrics.read_text(encoding="utf-8").splitlines() if metrics.exists() else []
    whole = [line for line in lines if line.startswith("{") and line.endswith("}")]
    return max((json.loads(line).get("step", 0) for line in whole), default=0)


def kill_after_step(recipe: Path, run: Path, step: int, pause: float, moment: random.Random) -> None:
    """From outside, at no particular moment of a step."""
    process = start_mortal(recipe, run, pause)
    wait_for_step(process, run, step)
    time.sleep(moment.uniform(0, 2 * pause))
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL


def die_while_writing(recipe: Path, run: Path, step: int, operation: int) -> None:
    """From inside, between two moves on the disk."""
    process = start_mortal(recipe, run, 0.0, (operation, step))
    process.join(PATIENCE_SECONDS)
    assert process.exitcode == -signal.SIGKILL


def undisturbed(recipe: Path, run: Path) -> Trained:
    return regard.train(recipe, run)


def assert_same_run(found: Trained, run: Path, expected: Trained, reference: Path) -> None:
    assert found.weights_sha256 == expected.weights_sha256
    assert found.steps == expected.steps
    assert found.validation_loss == expected.validation_loss
    assert (run / "model.safetensors").read_bytes() == (reference / "model.safetensors").read_bytes()
    assert figures(run) == figures(reference)
    counts = Counter((line["step"], line["split"]) for line in lines(run) if "step" in line)
    assert [step for step, split in sorted(counts) if split == "train"] == list(range(1, STEPS + 1))
    assert set(counts.values()) == {1}
    left_over = [path.name for path in run.rglob(".*.part")]
    assert not left_over


def lines(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]


def figures(run: Path) -> list[dict[str, Any]]:
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines(run) if "step" in line]


# Moves on the disk of one checkpoint: weights, optimiser and state made durable, the state's rename, its folder,
# the checkpoint's rename, its folder, then what is pruned.
KILLS: dict[str, tuple[Family, list[tuple[int, int | None]]]] = {
    "transformer": (TRANSFORMER, [(4, None), (9, 1), (14, 5)]),
    "narrow": (NARROW, [(6, None), (13, 2)]),
    "gru": (GRU, [(3, 7), (12, None)]),
    "decoder-only": (DECODER_ONLY, [(7, 4), (15, None)]),
    "streams": (STREAMS, [(6, None), (14, 3)]),
}


@pytest.mark.parametrize("name", KILLS)
def test_killed_and_resumed_is_the_same_to_the_bit(name: str, tmp_path: Path) -> None:
    family, kills = KILLS[name]
    recipe, run, reference = family.write(tmp_path / "recipe.toml"), tmp_path / "run", tmp_path / "reference"
    expected = undisturbed(recipe, reference)
    moment = random.Random(name)
    for step, operation in kills:
        if operation is None:
            kill_after_step(recipe, run, step, family.pause, moment)
        else:
            die_while_writing(recipe, run, step, operation)
        whole, complaints = checkpoints.latest(run / "checkpoints")
        assert whole is not None
        assert not complaints
    found = regard.train(recipe, run, resume=True)
    assert_same_run(found, run, expected, reference)


@pytest.mark.parametrize(("number", "step"), [(signal.SIGINT, 5), (signal.SIGTERM, 10)], ids=["Ctrl-C", "SIGTERM"])
def test_an_interruption_saves_and_says_how_to_go_on(number: signal.Signals, step: int, tmp_path: Path) -> None:
    """Also out of turn: the checkpoint of an interruption must not enter the average."""
    family = Family(
        ("training.checkpoint_every=8", "training.final=average", "training.average=3", "training.patience=50"),
        DECODER_ONLY.model,
        {**DECODER_ONLY.task, "pause": 0.06},
    )
    recipe, run, reference = family.write(tmp_path / "recipe.toml"), tmp_path / "run", tmp_path / "reference"
    expected = undisturbed(recipe, reference)
    process = start_command("regard.cli.main", "train", str(recipe), "--out", str(run))
    wait_for_step(process, run, step)
    process.send_signal(number)
    out, said = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130, said
    saved = checkpoints.folders(run / "checkpoints")[-1]
    stopped = int(saved.name.removeprefix("step-"))
    assert step <= stopped < STEPS
    command = f"regard train {run}/recipe.toml --out {run} --resume"
    assert f"stopped and saved after step {stopped}; continue with: {command}" in " ".join(said.split())
    assert not out
    assert "Traceback" not in said
    assert not (run / "model.safetensors").exists()
    found = regard.train(run / "recipe.toml", run, resume=True)
    assert_same_run(found, run, expected, reference)


def test_a_finished_run_is_not_trained_again(tmp_path: Path) -> None:
    recipe = DECODER_ONLY.write(tmp_path / "recipe.toml")
    first = regard.train(recipe, tmp_path / "run")
    written = (tmp_path / "run" / "model.safetensors").stat().st_mtime_ns
    assert regard.train(recipe, tmp_path / "run", resume=True) == first
    assert (tmp_path / "run" / "model.safetensors").stat().st_mtime_ns == written


def test_killed_after_the_last_step_only_the_end_is_made_again(tmp_path: Path) -> None:
    recipe = DECODER_ONLY.write(tmp_path / "recipe.toml")
    first = regard.train(recipe, tmp_path / "run")
    (tmp_path / "run" / "model.safetensors").unlink()
    (tmp_path / "run" / "summary.json").unlink()
    assert regard.train(recipe, tmp_path / "run", resume=True) == first
    assert (tmp_path / "run" / "model.safetensors").exists()
