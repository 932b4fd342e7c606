"""Checkpoints: whole or not at all, believed only when their checksums agree."""

from __future__ import annotations

import errno
import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import SafetensorError, safe_open
from torch import nn

from regard.core.errors import RunError, TrainingError
from regard.training import checkpoints
from tests.training.tiny import make_loop


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with checkpoints of steps 2, 4 and 6; tests damage copies of it."""
    folder = tmp_path_factory.mktemp("trained")
    make_loop(folder)[0].run()
    return folder


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "run"))


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-3] ^= 0x10
    file.write_bytes(content)


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-50])


DAMAGES = {
    "a flipped bit": (flip, "is damaged: its checksum is not the one written beside it"),
    "a cut file": (truncate, "is damaged: its checksum is not the one written beside it"),
    "a lost file": (Path.unlink, "is missing"),
}


@pytest.mark.parametrize("name", ["weights.safetensors", "optimizer.safetensors"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_recognised_and_the_one_before_it_used(damage: str, name: str, run: Path) -> None:
    harm, words = DAMAGES[damage]
    harm(run / "checkpoints" / "step-00000006" / name)
    loop, seen = make_loop(run)
    assert loop.resume()
    assert loop.progress.step == 4
    broken = run / "checkpoints" / "step-00000006" / name
    assert seen.sayings == [f"{broken} {words}; the checkpoint of step 4 is used"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "has no state.json: it is not a complete checkpoint"),
        ('{"step": 6, "ep', "is not valid JSON"),
        ("[6]", "holds no JSON object, as it should, but a list"),
    ],
    ids=["missing", "cut", "foreign"],
)
def test_a_checkpoint_without_its_state_is_not_believed(content: str | None, words: str, run: Path) -> None:
    state = run / "checkpoints" / "step-00000006" / "state.json"
    state.unlink()
    if content is not None:
        state.write_text(content, encoding="utf-8")
    found, complaints = checkpoints.latest(run / "checkpoints")
    assert found is not None
    assert found.state["step"] == 4
    assert len(complaints) == 1
    assert words in complaints[0]


def test_one_changed_digit_of_the_state_is_noticed(run: Path) -> None:
    state = run / "checkpoints" / "step-00000006" / "state.json"
    state.write_text(state.read_text(encoding="utf-8").replace('"step": 6', '"step": 5'), encoding="utf-8")
    found, complaints = checkpoints.latest(run / "checkpoints")
    assert found is not None
    assert found.state["step"] == 4
    assert complaints == [f"{state} is damaged: its checksum is not the one written in it"]


def test_a_checkpoint_that_the_disk_does_not_give_back_is_not_believed(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, opened = run / "checkpoints" / "step-00000006" / "weights.safetensors", Path.open

    def open_or_fail(path: Path, *options: Any, **others: Any) -> Any:
        if path == bad:
            raise OSError(errno.EIO, "Input/output error")
        return opened(path, *options, **others)

    monkeypatch.setattr(Path, "open", open_or_fail)
    found, complaints = checkpoints.latest(run / "checkpoints")
    assert found is not None
    assert found.state["step"] == 4
    assert complaints == [f"{bad} cannot be read: Input/output error"]


def test_state_is_json_that_anybody_reads(tmp_path: Path) -> None:
    """Before the first validation the best loss is infinite, which JSON has no word for."""
    loop, _ = make_loop(tmp_path, "training.validate_every=100", "training.steps=4")
    loop.step(next(loop.batches()))
    loop.save()
    text = (tmp_path / "checkpoints" / "step-00000001" / "state.json").read_text(encoding="utf-8")
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    again, _ = make_loop(tmp_path, "training.validate_every=100", "training.steps=4")
    again.resume()
    assert again.progress.best_loss == math.inf
    assert math.isnan(again.progress.validation_loss)
    assert again.progress.first_loss == loop.progress.first_loss


def test_another_version_of_torch_is_told(run: Path) -> None:
    state = run / "checkpoints" / "step-00000006" / "state.json"
    held = {key: value for key, value in json.loads(state.read_text(encoding="utf-8")).items() if key != "sha256"}
    assert held["torch"] == torch.__version__
    held["torch"] = "1.13.1"
    state.write_text(json.dumps({**held, "sha256": checkpoints.state_hash(held)}), encoding="utf-8")
    loop, seen = make_loop(run)
    loop.resume()
    assert seen.sayings == [
        f"this run was trained with torch 1.13.1 and continues with {torch.__version__}: sums are rounded differently; "
        "install torch==1.13.1 for bit-identical weights"
    ]


def test_all_damaged_is_said_before_training_starts_again(run: Path) -> None:
    for folder in checkpoints.folders(run / "checkpoints"):
        flip(folder / "weights.safetensors")
    loop, seen = make_loop(run)
    assert not loop.resume()
    assert loop.progress.step == 0
    assert len(seen.sayings) == 3
    words = "; no whole checkpoint is left, so training starts again at step 1"
    assert all(said.endswith(words) for said in seen.sayings)


def test_resumed_from_before_the_damage_the_end_is_the_same(run: Path, trained: Path) -> None:
    truncate(run / "checkpoints" / "step-00000006" / "weights.safetensors")
    loop, _ = make_loop(run)
    loop.resume()
    loop.run()
    ends = [checkpoints.load(folder / "checkpoints" / "step-00000006") for folder in (run, trained)]
    assert checkpoints.weights_hash(ends[0].weights) == checkpoints.weights_hash(ends[1].weights)
    assert checkpoints.weights_hash(ends[0].optimizer) == checkpoints.weights_hash(ends[1].optimizer)


def test_a_damaged_checkpoint_is_not_averaged(run: Path) -> None:
    flip(run / "checkpoints" / "step-00000004" / "weights.safetensors")
    with pytest.raises(RunError, match=r"step-00000004/weights\.safetensors is damaged"):
        checkpoints.average(checkpoints.folders(run / "checkpoints"))


def test_a_damaged_checkpoint_of_the_average_can_be_trained_again(run: Path, trained: Path) -> None:
    settings = ("training.final=average", "training.average=2")
    flip(run / "checkpoints" / "step-00000004" / "weights.safetensors")
    loop, _ = make_loop(run, *settings)
    loop.resume()
    loop.run()
    damaged = [run / "checkpoints" / f"step-0000000{step}" for step in (4, 6)]
    with pytest.raises(TrainingError) as caught:
        loop.finish()
    assert str(caught.value) == (
        f"{damaged[0]}/weights.safetensors is damaged: its checksum is not the one written beside it, and it belongs "
        "to the average with which this run ends. Remove it and those after it, and --resume trains them again: "
        f"{damaged[0]} {damaged[1]}"
    )
    for folder in damaged:
        shutil.rmtree(folder)
    again, _ = make_loop(run, *settings)
    again.resume()
    again.run()
    again.finish()
    expected = checkpoints.average(checkpoints.folders(trained / "checkpoints")[-2:])
    assert checkpoints.weights_hash(checkpoints.weights_of(again.model)) == checkpoints.weights_hash(expected)


def test_a_kill_before_the_last_tidying_leaves_the_average_as_it_is(run: Path, trained: Path) -> None:
    """An interruption's checkpoint, out of turn, goes when the next one stands; here a kill came between the two."""
    kept = run / "checkpoints"
    shutil.copytree(kept / "step-00000004", kept / "step-00000005")
    loop, _ = make_loop(run, "training.final=average", "training.average=2")
    loop.resume()
    loop.finish()
    expected = checkpoints.average(checkpoints.folders(trained / "checkpoints")[-2:])
    assert checkpoints.weights_hash(checkpoints.weights_of(loop.model)) == checkpoints.weights_hash(expected)


def test_best_weights_that_are_damaged_or_missing_are_told(run: Path) -> None:
    loop, seen = make_loop(run, "training.final=best")
    loop.resume()
    loop.finish()
    best = run / "checkpoints" / "best"
    assert seen.sayings == [f"there are no best weights in {best}: the run ends with the last ones"]
    shutil.copytree(run / "checkpoints" / "step-00000004", best)
    flip(best / "weights.safetensors")
    with pytest.raises(TrainingError, match=r"is damaged.*it holds the best weights.*Remove .*best, and --resume ends"):
        loop.finish()


FULL = [
    OSError(errno.ENOSPC, "No space left on device"),
    SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)"),
]


@pytest.mark.parametrize("error", FULL, ids=["system", "safetensors"])
@pytest.mark.parametrize("name", ["weights.safetensors", "optimizer.safetensors"])
def test_a_full_disk_leaves_the_earlier_checkpoint_intact(
    name: str, error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_file = checkpoints.save_file

    def full(tensors: Any, path: Path) -> None:
        if name in str(path) and "00000004" in str(path):
            path.write_bytes(b"only the first bytes")
            raise error
        save_file(tensors, path)

    monkeypatch.setattr(checkpoints, "save_file", full)
    loop, _ = make_loop(tmp_path)
    with pytest.raises(RunError) as caught:
        loop.run()
    broken = tmp_path / "checkpoints" / "step-00000004"
    assert "There is no checkpoint yet" in checkpoints.after_free_space(tmp_path / "nothing")
    assert str(caught.value).startswith(f"checkpoint {broken} could not be written: ")
    assert "No space left on device" in str(caught.value)
    assert str(caught.value).endswith(
        "What is in the checkpoints is safe: free some space, then continue with --resume"
    )
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step-00000002"]
    monkeypatch.undo()
    again, seen = make_loop(tmp_path)
    assert again.resume()
    assert not seen.sayings
    assert again.run().step == 6


def test_what_a_kill_left_behind_is_cleaned(tmp_path: Path) -> None:
    for name in (".step-00000001.part", ".best.part"):
        (tmp_path / "checkpoints" / name).mkdir(parents=True)
        (tmp_path / "checkpoints" / name / "weights.safetensors").write_bytes(b"half")
    assert checkpoints.folders(tmp_path / "checkpoints") == []
    (tmp_path / ".summary.json.4711.part").write_text("{", encoding="utf-8")
    make_loop(tmp_path)[0].run()
    assert not list(tmp_path.rglob("*.part"))
    assert len(checkpoints.folders(tmp_path / "checkpoints")) == 3


def test_only_the_newest_are_kept(tmp_path: Path) -> None:
    make_loop(tmp_path, "training.steps=12", "training.keep=2")[0].run()
    names = [folder.name for folder in checkpoints.folders(tmp_path / "checkpoints")]
    assert names == ["step-00000010", "step-00000012"]


def test_no_pickle_and_no_surprise_in_a_checkpoint(trained: Path) -> None:
    for folder in checkpoints.folders(trained / "checkpoints"):
        assert sorted(path.name for path in folder.iterdir()) == [
            "optimizer.safetensors", "state.json", "weights.safetensors",
        ]  # fmt: skip


# -- weights ----------------------------------------------------------------------------------------------------


class Tied(nn.Module):
    """Two names for one matrix, and a matrix of its own."""

    def __init__(self, width: int = 3) -> None:
        super().__init__()
        self.embedding = nn.Linear(width, 5, bias=False)
        self.head = nn.Linear(width, 5, bias=False)
        self.head.weight = self.embedding.weight
        self.alone = nn.Linear(width, 2)


def test_tied_weights_are_saved_once(tmp_path: Path) -> None:
    model = Tied()
    checkpoints.save_tensors(tmp_path / "weights", checkpoints.weights_of(model))
    with safe_open(tmp_path / "weights", "pt") as file:
        assert sorted(file.keys()) == ["alone.bias", "alone.weight", "embedding.weight"]
    other = Tied()
    checkpoints.load_weights(other, checkpoints.load_tensors(tmp_path / "weights"), "here")
    assert other.head.weight is other.embedding.weight
    assert torch.equal(other.head.weight, model.head.weight)


def test_weights_that_do_not_lie_in_one_piece_are_saved_too(tmp_path: Path) -> None:
    turned = torch.arange(6.0).view(2, 3).t()
    checkpoints.save_tensors(tmp_path / "weights", {"turned": turned})
    assert torch.equal(checkpoints.load_tensors(tmp_path / "weights")["turned"], turned)


def test_the_hash_changes_exactly_when_the_weights_do() -> None:
    weights = {"b": torch.tensor([1.0, 2.0]), "a": torch.zeros(2, 3)}
    same = {"a": torch.zeros(2, 3), "b": torch.tensor([1.0, 2.0])}
    assert checkpoints.weights_hash(weights) == checkpoints.weights_hash(same), "the order does not matter"
    turned = {"b": torch.tensor([1.0, 2.0]), "a": torch.zeros(3, 2).t()}
    assert checkpoints.weights_hash(weights) == checkpoints.weights_hash(turned), "nor does the layout"
    others: list[dict[str, torch.Tensor]] = [
        {**weights, "b": torch.tensor([1.0, 2.0 + 2**-22])},
        {**weights, "b": torch.tensor([1.0, 2.0], dtype=torch.float64)},
        {**weights, "a": torch.zeros(3, 2)},
        {**weights, "a": -torch.zeros(2, 3)},
        {"b": weights["b"], "c": weights["a"]},
        {"b": weights["b"]},
        {**weights, "c": torch.zeros(0)},
    ]
    hashes = {checkpoints.weights_hash(one) for one in (weights, *others)}
    assert len(hashes) == len(others) + 1


def test_every_weight_that_does_not_fit_is_named() -> None:
    given = {
        "embedding.weight": torch.zeros(5, 4),
        "alone.weight": torch.zeros(2, 3),
        "extra.weight": torch.zeros(7),
    }
    with pytest.raises(RunError) as caught:
        checkpoints.load_weights(Tied(), given, "model.safetensors")
    assert str(caught.value) == (
        "model.safetensors does not fit the model of its recipe:\n"
        "  - embedding.weight is (5, 4), the model needs (5, 3)\n"
        "  - missing alone.bias (2,)\n"
        "  - unexpected extra.weight (7,)"
    )


def test_weights_that_do_not_fit_leave_the_model_alone() -> None:
    model = Tied()
    before = checkpoints.weights_hash(checkpoints.weights_of(model))
    with pytest.raises(RunError):
        checkpoints.load_weights(model, {"alone.weight": torch.zeros(2, 3)}, "here")
    assert checkpoints.weights_hash(checkpoints.weights_of(model)) == before


def test_a_file_of_another_kind_is_no_safetensors(tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(b"PK\x03\x04 surely a pickle inside")
    with pytest.raises(RunError, match="weights cannot be read as safetensors"):
        checkpoints.load_tensors(tmp_path / "weights")
