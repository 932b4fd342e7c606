"""``regard check``: a sound run passes every check, a damaged one does not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import regard
from regard.attention.masks import EVERYTHING
from regard.attention.softmax import ScaledDot
from regard.cli.main import main
from regard.interop.checking import Check, check
from regard.models import bert, vit
from regard.runs.load import load
from tests.inspection.loud_runs import CLASSIFIER, headed_run
from tests.inspection.picture_runs import picture_run, trained

TRAINING = {"steps": 3, "batch_tokens": 256, "learning_rate": 1e-3, "validate_every": 3}
TOY = {"kind": "toy", "train_size": 60, "validation_size": 10, "test_size": 5}
WRITER = {"kind": "language-model", "max_length": 32, "sample": 0}
ENCODER = {"kind": "bert", "layers": 2, "width": 20, "heads": 2, "position": {"max_length": 40}}
READING = {
    "tokenizer": {"kind": "wordpiece", "vocabulary": 60}, "model": ENCODER,
    "task": {"kind": "masked-language-model", "max_length": 16},
}  # fmt: skip
TREES: dict[str, dict[str, Any]] = {
    "transformer": {"data": TOY, "tokenizer": {"kind": "word", "min_frequency": 1},
                    "model": {"width": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 2}},
    "pre": {"data": TOY, "tokenizer": {"kind": "word", "min_frequency": 1},
            "model": {"width": 16, "heads": 2, "encoder_layers": 2, "decoder_layers": 1, "norm": "pre"}},
    "bahdanau": {"data": TOY, "tokenizer": {"kind": "word", "min_frequency": 1},
                 "model": {"kind": "bahdanau", "width": 12, "embedding": {"width": 8}}},
    "gpt": {"model": {"kind": "gpt", "layers": 2, "width": 20, "heads": 2}, "task": WRITER},
    "llama": {"model": {"kind": "llama", "layers": 2, "width": 24, "heads": 4, "groups": 2}, "task": WRITER},
    "bert": READING,
    "roberta": {**READING, "model": {**ENCODER, "segments": 1, "position": {"max_length": 20, "first": 1}}},
    "distilbert": {**READING, "model": {**ENCODER, "segments": 0}},
    "recurrent": {"model": {"kind": "recurrent", "width": 12, "embedding": {"width": 8}}, "task": WRITER},
}  # fmt: skip

pytestmark = pytest.mark.usefixtures("no_onnx")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("checked")
    (folder / "text.txt").write_text("the cat sat on the mat and looked at the dog. " * 30, encoding="utf-8")
    text = {"data": {"kind": "text", "train": str(folder / "text.txt")}, "tokenizer": {"kind": "character"}}
    for name, tree in TREES.items():
        regard.train({**text, **tree, "training": TRAINING}, folder / name)
    return {name: folder / name for name in TREES}


def found(run: Path) -> dict[str, Check]:
    return {one.name: one for one in check(load(run, check=False))}


@pytest.mark.parametrize("name", TREES)
def test_a_sound_run_holds(runs: dict[str, Path], name: str) -> None:
    checks = found(runs[name])
    ways = ["weights", "cache", "batch", "reference", "fused", "bfloat16", "huggingface", "onnx", "ctranslate2"]
    assert list(checks) == ways
    assert all(one.holds for one in checks.values()), checks
    assert checks["bfloat16"].difference > 0, "something was computed in narrow numbers"
    assert bool(checks["huggingface"].skipped) == (name in ("bahdanau", "recurrent"))
    assert bool(checks["cache"].skipped) == ("bert" in name), checks["cache"]


def test_padding_that_shows_is_found(runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that reads from both sides and forgets its mask answers otherwise when it is alone."""
    monkeypatch.setattr(bert, "padding", lambda lengths_B, longest: EVERYTHING)
    checks = found(runs["bert"])
    assert not checks["batch"].holds
    assert not checks["huggingface"].holds
    assert checks["reference"].holds


def test_damaged_weights_are_found(runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    for file in runs["gpt"].iterdir():
        if file.is_file():
            (damaged / file.name).write_bytes(file.read_bytes())
    weights = load_file(damaged / "model.safetensors")
    weights["stack.layers.1.feed_forward.inner.weight"][3, 5] += 0.01
    save_file(weights, damaged / "model.safetensors")
    assert not found(damaged)["weights"].holds
    with pytest.raises(SystemExit) as leaving:
        main(["check", str(damaged), "--json"])
    assert leaving.value.code == 1
    said = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in said["checks"] if not one["holds"]] == ["weights"]
    weights["stack.norm.weight"][0] = float("nan")
    save_file(weights, damaged / "model.safetensors")
    checks = found(damaged)
    assert "not all numbers in stack.norm.weight" in checks["weights"].what
    assert not checks["cache"].holds


def test_a_kernel_that_is_wrong_is_found(runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The formula and the cache each catch what the other cannot."""
    right = ScaledDot.forward

    def wrong(self: ScaledDot, q: Any, k: Any, v: Any, mask: Any, bias: Any = None) -> Any:
        return right(self, q, k, v, mask, bias) * 1.5

    monkeypatch.setattr(ScaledDot, "forward", wrong)
    checks = found(runs["gpt"])
    assert not checks["reference"].holds
    assert checks["cache"].holds, "it is wrong in the same way"
    assert not checks["huggingface"].holds


def test_the_first_other_token_is_named(runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    run = regard.load(runs["recurrent"])
    right = type(run.model).step

    def forgetful(self: Any, tokens: Any, state: Any) -> Any:
        logits, state = right(self, tokens, state)
        self.read_so_far = getattr(self, "read_so_far", 0) + 1
        return torch.roll(logits, 1, dims=-1) if self.read_so_far > 5 else logits, state

    monkeypatch.setattr(type(run.model), "step", forgetful)
    cache = {one.name: one for one in check(run)}["cache"]
    assert not cache.holds
    assert cache.first == 5
    assert cache.token != cache.other


def test_what_is_printed(runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(["check", str(runs["bahdanau"])])
    assert not leaving.value.code
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("✓  weights")
    assert "at most 1.0e-04), the same tokens" in lines[1]
    assert lines[-3].startswith("–  huggingface")
    assert lines[-2].startswith("–  onnx")
    assert lines[-2].endswith('not done, nowhere is not installed: pip install "regard[onnx]"')
    assert lines[-1].startswith("–  ctranslate2")


def test_a_picture_run_holds_and_says_what_does_not_apply(capsys: pytest.CaptureFixture[str]) -> None:
    run = picture_run()
    checks = {one.name: one for one in check(run)}
    assert all(one.holds for one in checks.values()), checks
    done = [name for name, one in checks.items() if not one.skipped]
    assert done == ["weights", "batch", "reference", "fused", "bfloat16", "huggingface"]
    assert checks["bfloat16"].difference > 0
    assert checks["cache"].skipped == "the model reads a picture as a whole and never steps through it"
    assert checks["batch"].what == "each picture alone against all together"
    assert all(checks[name].skipped for name in ("onnx", "ctranslate2"))
    with pytest.raises(SystemExit) as leaving:
        main(["check", str(run.folder.path)])
    assert not leaving.value.code
    assert "the same labels" in capsys.readouterr().out


def test_a_picture_model_that_mixes_its_batch_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = trained(tmp_path, steps=1)
    right = vit.Vit.forward

    def mixed(self: Any, inputs: Any) -> Any:
        states = right(self, inputs)
        return replace(states, x_BND=states.x_BND + states.x_BND.mean(0, keepdim=True))

    monkeypatch.setattr(vit.Vit, "forward", mixed)
    checks = {one.name: one for one in check(run)}
    assert not checks["batch"].holds
    assert checks["reference"].holds


@pytest.mark.parametrize("task", ["classification", "tagging", "question-answering", "embedding"])
def test_a_run_with_a_head_holds(task: str, tmp_path: Path) -> None:
    settings = {"kind": task, "max_length": 24}
    named = {"classification": {"labels": ["glad", "sad"]}, "tagging": {"labels": ["N", "V"]}}
    run = headed_run(tmp_path, {**CLASSIFIER, "task": {**settings, **named.get(task, {})}})
    checks = {one.name: one for one in check(run)}
    assert all(one.holds for one in checks.values()), checks
    assert not checks["batch"].skipped
