"""The loop: what a step is, when it stops, what it keeps, and what it refuses."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
import torch

import regard
from regard.core.errors import DataError, RunError, TrainingError
from regard.runs.recipe import Recipe
from regard.training import checkpoints, machine
from regard.training.loop import Loop, step_seed
from regard.training.stopping import Interrupted, stop_signals
from tests.training.tiny import LANGUAGE_MODEL, TREE, Remembering, make_loop

ROOT = Path(__file__).parents[2]


def weights(loop: Loop) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in checkpoints.weights_of(loop.model).items()}


def assert_close(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor], within: float) -> None:
    assert found.keys() == expected.keys()
    for name in expected:
        torch.testing.assert_close(found[name], expected[name], atol=within, rtol=within, msg=name)


# -- what a step is ---------------------------------------------------------------------------------------------


def test_accumulation_divides_the_step_and_changes_nothing_else(tmp_path: Path) -> None:
    whole, seen_whole = make_loop(tmp_path / "1", "training.accumulate=1")
    parted, seen_parted = make_loop(tmp_path / "3", "training.accumulate=3")
    items = next(whole.items())
    next(parted.items())  # so that both go on from the same place
    assert len(items) % 3, "unequal parts are the harder case"
    assert [len(loop.parts(items)) for loop in (whole, parted)] == [1, 3]
    assert whole.gradients(whole.parts(items)) == pytest.approx(parted.gradients(parted.parts(items)), abs=1e-6)
    for one, other in zip(whole.model.parameters(), parted.model.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, atol=1e-6, rtol=1e-6)
    for loop in (whole, parted):
        loop.run()
    assert seen_whole.losses == pytest.approx(seen_parted.losses, abs=1e-4)


def test_more_parts_than_examples_leave_some_empty(tmp_path: Path) -> None:
    whole, _ = make_loop(tmp_path / "1")
    parted, _ = make_loop(tmp_path / "9", "training.accumulate=9")
    items = next(whole.items())[:4]
    assert len(parted.parts(items)) == 4
    assert parted.gradients(parted.parts(items)) == pytest.approx(whole.gradients(whole.parts(items)), abs=1e-6)


def test_the_loss_is_the_mean_over_the_tokens_of_the_whole_step(tmp_path: Path) -> None:
    loop, _ = make_loop(tmp_path, "training.accumulate=2")
    items = next(loop.items())
    parts = loop.parts(items)
    sums = loop.task.sums(loop.model, loop.task.collate(items))
    assert sums.counts["loss"] == sum(part.loss_terms for part in parts)
    assert loop.gradients(parts)[0] == pytest.approx(sums.mean("loss"), rel=1e-6)


def test_gradients_are_clipped_to_the_norm(tmp_path: Path) -> None:
    norms = []
    for clip in (0.0, 0.5):
        loop, _ = make_loop(tmp_path / str(clip), f"training.clip={clip}")
        loop.step(next(loop.batches()))
        norms.append(float(torch.nn.utils.get_total_norm(loop.present_gradients())))
    assert norms[0] > 0.5
    assert norms[1] == pytest.approx(0.5, rel=1e-5)


def test_dropout_grows_in_its_warm_up_and_knows_its_step_after_a_resume(tmp_path: Path) -> None:
    settings = ("model.dropout=0.5", "training.dropout_warmup=4", "training.steps=6", "training.checkpoint_every=2")
    loop, _ = make_loop(tmp_path / "whole", *settings)
    seen = []
    for batch in loop.batches():
        loop.step(batch)
        seen.append({dropout.probability for dropout in loop.dropouts if dropout.full})
    assert seen == [{0.125}, {0.25}, {0.375}, {0.5}, {0.5}, {0.5}]
    parted, _ = make_loop(tmp_path / "parted", *settings)
    for _, batch in zip(range(2), parted.batches(), strict=False):
        parted.step(batch)
    parted.save()
    resumed, _ = make_loop(tmp_path / "parted", *settings)
    assert resumed.resume()
    for batch in resumed.batches():
        resumed.step(batch)
    assert_close(weights(resumed), weights(loop), 0)


def test_randomness_is_a_function_of_seed_step_and_rank() -> None:
    seeds = {step_seed(seed, step, rank) for seed in range(3) for step in range(20) for rank in range(3)}
    assert len(seeds) == 180
    assert step_seed(1, 2, 0) == step_seed(1, 2, 0)
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_a_non_additive_task_refuses_to_be_divided(tmp_path: Path) -> None:
    settings = (*LANGUAGE_MODEL, "task.additive=false", "training.accumulate=2")
    with pytest.raises(TrainingError) as caught:
        make_loop(tmp_path, *settings)
    assert str(caught.value) == (
        "this task's loss does not add over examples, so a step cannot be divided: "
        "set training.accumulate = 1 and run one process"
    )


def test_a_non_additive_task_trains_undivided(tmp_path: Path) -> None:
    loop, _ = make_loop(tmp_path, *LANGUAGE_MODEL, "task.additive=false", "training.steps=2")
    assert loop.run().step == 2


def test_bfloat16_trains(tmp_path: Path) -> None:
    """Post-norm, with dropout, relative bias and recomputation: whatever mixes precisions."""
    loop, seen = make_loop(
        tmp_path, "training.precision=bfloat16", "training.steps=40", "model.norm=post", "model.dropout=0.05",
        "model.position.kind=relative-bias", "training.recompute=true", "training.validate_every=40",
        "training.checkpoint_every=40", "task.label_smoothing=0.1",
    )  # fmt: skip
    loop.run()
    assert sum(seen.losses[-5:]) < 0.9 * sum(seen.losses[:5])
    assert all(weight.dtype == torch.float32 for weight in loop.model.parameters())


def test_bfloat16_and_float32_begin_alike(tmp_path: Path) -> None:
    wide, _ = make_loop(tmp_path / "32")
    narrow, _ = make_loop(tmp_path / "16", "training.precision=bfloat16")
    batch = next(wide.batches())
    assert narrow.gradients(batch) == pytest.approx(wide.gradients(batch), rel=0.05)


@pytest.mark.parametrize("kind", ["fixed-context", "bahdanau", "luong", "convolution"])
def test_every_family_trains_in_bfloat16(kind: str, tmp_path: Path) -> None:
    settings = [f"model.kind={kind}", "model.width=16", "training.precision=bfloat16"]
    assert math.isfinite(regard.train(TREE, tmp_path / "run", settings).validation_loss)


SHALLOW = ("model.encoder_layers=1", "model.decoder_layers=1", "training.validate_every=2")  # compiling takes long


def test_a_compiled_model_learns_the_same(tmp_path: Path) -> None:
    """Without dropout, whose random numbers are drawn elsewhere in a compiled model."""
    settings = ["training.steps=2", *SHALLOW, "model.dropout=0.0"]
    plain = regard.train(TREE, tmp_path / "plain", settings)
    compiled = regard.train(TREE, tmp_path / "compiled", [*settings, "training.compile=true"])
    assert compiled.validation_loss == pytest.approx(plain.validation_loss, rel=1e-4)


def test_a_compiled_model_may_drop_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Traced as for compiling; that generated code runs is shown by the test above, and generating takes long."""
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="aot_eager"))
    settings = ["training.steps=2", *SHALLOW, "model.dropout=0.3", "training.compile=true"]
    assert math.isfinite(regard.train(TREE, tmp_path / "run", settings).validation_loss)


def test_recomputing_activations_changes_nothing(tmp_path: Path) -> None:
    kept, _ = make_loop(tmp_path / "kept", "model.dropout=0.2")
    again, _ = make_loop(tmp_path / "again", "model.dropout=0.2", "training.recompute=true")
    for loop in (kept, again):
        loop.run()
    assert checkpoints.weights_hash(weights(kept)) == checkpoints.weights_hash(weights(again))


# -- when it stops ----------------------------------------------------------------------------------------------


def test_a_loss_that_is_not_a_number_never_reaches_the_weights(tmp_path: Path) -> None:
    loop, _ = make_loop(tmp_path, *LANGUAGE_MODEL, "task.breaks_at=5", "training.steps=9")
    with pytest.raises(TrainingError) as caught:
        loop.run()
    last = tmp_path / "checkpoints" / "step-00000004"
    first = loop.progress.first_loss
    assert str(caught.value) == (
        f"training diverged at step 5: the loss is nan, the gradient's norm nan (the first loss was {first:.4g}). "
        f"The last good checkpoint is {last}. "
        "Begin again with a lower training.learning_rate, a longer warm-up, or training.clip, in a new --out"
    )
    found, complaints = checkpoints.latest(tmp_path / "checkpoints")
    assert found is not None
    assert found.folder == last
    assert not complaints
    assert all(tensor.isfinite().all() for tensor in (*found.weights.values(), *found.optimizer.values()))


def test_a_loss_that_explodes_stops_as_well(tmp_path: Path) -> None:
    settings = ("task.breaks_at=3", "task.breaks_by=20.0", "training.checkpoint_every=9", "training.steps=9")
    loop, _ = make_loop(tmp_path, *LANGUAGE_MODEL, *settings)
    with pytest.raises(TrainingError, match=r"^training diverged at step 3: the loss is \d+.* No checkpoint had been"):
        loop.run()


def test_a_run_that_begins_with_next_to_no_loss_may_have_some(tmp_path: Path) -> None:
    """As one does that starts from weights that know their task."""
    loop, _ = make_loop(tmp_path)
    loop.check_finite(1e-4, 0.1)
    loop.check_finite(0.3, 0.1)
    with pytest.raises(TrainingError, match=r"training diverged.*the first loss was 0\.0001"):
        loop.check_finite(30.0, 0.1)


def test_a_first_loss_that_is_not_a_number_is_named_too(tmp_path: Path) -> None:
    loop, _ = make_loop(tmp_path, *LANGUAGE_MODEL, "task.breaks_at=1")
    with pytest.raises(TrainingError, match=r"^training diverged at step 1: the loss is nan.*the first loss was nan"):
        loop.run()


def test_early_stopping_waits_for_its_patience(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    losses = iter([3.0, 2.0, 2.5, 2.1, 2.0, 9.0])
    monkeypatch.setattr(Loop, "measure", lambda self, split: {"loss": next(losses)})
    loop, seen = make_loop(tmp_path, "training.patience=3", "training.steps=99")
    progress = loop.run()
    assert (progress.step, progress.best_step, progress.best_loss, progress.stopped_early) == (10, 4, 2.0, True)
    assert seen.sayings == ["stopped early: no better validation loss than 2.0000 (step 4) in 3 validations"]
    assert seen.of("finished") == [[10]]
    assert checkpoints.folders(tmp_path / "checkpoints")[-1].name == "step-00000010"
    assert loop.resume()
    assert loop.run().step == 10, "a run that stopped early is over, also after a resume"


def test_a_split_without_validation_is_trained_all_the_same(tmp_path: Path) -> None:
    loop, seen = make_loop(tmp_path, "data.validation_size=0")
    assert math.isnan(loop.run().validation_loss)
    assert not seen.of("validated")


def test_an_example_beyond_the_budget_is_refused_in_training_only(tmp_path: Path) -> None:
    loop, _ = make_loop(tmp_path)
    loop.config = loop.config.model_copy(update={"batch_tokens": 9})
    with pytest.raises(DataError, match=r"an example of 11 tokens does not fit into training.batch_tokens = 9"):
        loop.run()
    assert loop.measure("validation")["loss"] > 0, "what is only measured stands alone in its batch"


def test_settings_that_do_nothing_here_are_told(tmp_path: Path) -> None:
    loop, seen = make_loop(tmp_path / "one", "data.validation_size=0", "training.patience=2", "training.steps=1")
    loop.run()
    assert seen.sayings == ["training.patience has no effect: there is no validation split to measure"]
    loop, seen = make_loop(tmp_path / "two", "model.kind=bahdanau", "training.recompute=true", "training.steps=1")
    loop.run()
    assert seen.sayings == ["training.recompute has no effect: this family of models cannot recompute"]


def test_no_training_examples(tmp_path: Path) -> None:
    loop, _ = make_loop(tmp_path, "task.max_length=1")
    with pytest.raises(TrainingError, match="nothing to train on: the training split has no usable examples"):
        loop.run()


def test_signals_are_answered_at_the_end_of_a_step() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with stop_signals() as stopping:
        assert not stopping.is_set()
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        assert stopping.is_set()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(1)
    assert signal.getsignal(signal.SIGTERM) is before


def test_an_interruption_in_process_saves_first(tmp_path: Path) -> None:
    loop, seen = make_loop(tmp_path, "training.steps=9", "training.checkpoint_every=4")
    step = loop.step

    def interrupted(batches: list[Any]) -> None:
        step(batches)
        if loop.progress.step == 6:
            os.kill(os.getpid(), signal.SIGTERM)

    loop.step = interrupted  # type: ignore[method-assign]
    with pytest.raises(Interrupted, match="stopped after step 6"):
        loop.run()
    assert [number for number, _ in seen.of("saved")] == [4, 6]
    again, _ = make_loop(tmp_path, "training.steps=9", "training.checkpoint_every=4")
    assert again.resume()
    assert again.progress.step == 6


# -- what it keeps ----------------------------------------------------------------------------------------------


def test_checkpoints_out_of_turn_leave_when_a_newer_one_stands(tmp_path: Path) -> None:
    loop, _ = make_loop(tmp_path, "training.steps=7", "training.keep=2", "training.final=average", "training.average=3")
    for batch in loop.batches():
        loop.step(batch)
        if loop.progress.step in (2, 3, 4, 5, 6, 7):  # 3 and 5 as if interrupted; 7 is the last
            loop.save()
        if loop.is_over:
            break
    assert [folder.name[-1] for folder in checkpoints.folders(tmp_path / "checkpoints")] == ["4", "6", "7"]


def test_the_average_is_the_mean_of_the_files(tmp_path: Path) -> None:
    loop, _ = make_loop(tmp_path, "training.steps=8", "training.final=average", "training.average=3", "training.keep=1")
    loop.run()
    last = weights(loop)
    folders = checkpoints.folders(tmp_path / "checkpoints")
    assert [folder.name for folder in folders] == ["step-00000004", "step-00000006", "step-00000008"]
    files = [checkpoints.load_tensors(folder / "weights.safetensors") for folder in folders]
    loop.finish()
    found = weights(loop)
    for name in found:
        mean = np.mean([file[name].double().numpy() for file in files], axis=0)
        np.testing.assert_array_equal(found[name].numpy(), mean.astype(np.float32))
    assert checkpoints.weights_hash(found) != checkpoints.weights_hash(last)


def test_the_best_weights_are_those_of_the_best_validation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    losses = iter([3.0, 1.0, 2.0])
    monkeypatch.setattr(Loop, "measure", lambda self, split: {"loss": next(losses)})
    loop, _ = make_loop(tmp_path, "training.final=best")
    loop.run()
    assert loop.progress.best_step == 4
    loop.finish()
    fourth = checkpoints.load_tensors(tmp_path / "checkpoints" / "step-00000004" / "weights.safetensors")
    assert checkpoints.weights_hash(weights(loop)) == checkpoints.weights_hash(fourth)


def test_resuming_goes_back_to_everything(tmp_path: Path) -> None:
    loop, _ = make_loop(tmp_path, "training.optimizer.kind=muon")
    loop.run()
    again, seen = make_loop(tmp_path, "training.optimizer.kind=muon")
    assert again.resume()
    assert again.progress == loop.progress
    assert checkpoints.weights_hash(weights(again)) == checkpoints.weights_hash(weights(loop))
    mine, theirs = loop.optimizer.tensors(loop.names), again.optimizer.tensors(again.names)
    assert checkpoints.weights_hash(mine) == checkpoints.weights_hash(theirs)
    assert not seen.sayings


def test_another_number_of_threads_is_said(tmp_path: Path) -> None:
    loop, _ = make_loop(tmp_path)
    loop.run()
    folder = checkpoints.folders(tmp_path / "checkpoints")[-1]
    found = checkpoints.load(folder)
    held = {key: value for key, value in found.state.items() if key not in ("checksums", "sha256")}
    checkpoints.save(folder, found.weights, found.optimizer, {**held, "threads": 77})
    again, seen = make_loop(tmp_path)
    assert again.resume()
    assert seen.sayings == [
        f"this run was trained with 77 threads and continues with {torch.get_num_threads()}: "
        "sums are rounded differently; set training.threads=77 for bit-identical weights"
    ]


def test_another_precision_is_said(tmp_path: Path) -> None:
    loop, _ = make_loop(tmp_path, "training.precision=bfloat16")
    loop.run()
    again, seen = make_loop(tmp_path)
    assert again.resume()
    assert seen.sayings == [
        "this run was trained in bfloat16 and continues in float32: sums are rounded differently; "
        "set training.precision=bfloat16 for bit-identical weights"
    ]


@pytest.mark.parametrize("capable", [True, False])
def test_bfloat16_is_chosen_where_the_processor_has_it(
    capable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: capable)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
    monkeypatch.setattr(machine.platform, "machine", lambda: "x86_64")
    loop, _ = make_loop(tmp_path, "training.precision=auto")
    loop.save()
    assert checkpoints.load(checkpoints.folders(tmp_path / "checkpoints")[-1]).state["precision"] == loop.precision
    assert loop.precision == ("bfloat16" if capable else "float32")


# -- who is told ------------------------------------------------------------------------------------------------


def test_observers_hear_everything_in_order(tmp_path: Path) -> None:
    loop, seen = make_loop(tmp_path, "training.steps=5")
    loop.run()
    assert [event[:2] for event in seen.events] == [
        ("started", 5), ("stepped", 1), ("stepped", 2), ("validated", 2), ("saved", 2), ("stepped", 3),
        ("stepped", 4), ("validated", 4), ("saved", 4), ("stepped", 5), ("validated", 5), ("saved", 5), ("finished", 5),
    ]  # fmt: skip


def test_metrics_hold_every_figure_of_every_step(tmp_path: Path) -> None:
    trained = regard.train(TREE, tmp_path / "run", ["training.steps=4"])
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [(line["step"], line["split"]) for line in lines] == [
        (1, "train"), (2, "train"), (2, "validation"), (3, "train"), (4, "train"), (4, "validation"),
    ]  # fmt: skip
    step = lines[0]
    assert set(step) == {
        "step", "split", "loss", "gradient_norm", "learning_rate", "tokens", "seconds", "epoch",
    }  # fmt: skip
    assert step["learning_rate"] == pytest.approx(5e-3)
    assert set(lines[-1]) == {"step", "split", "loss", "token_accuracy", "seconds"}
    assert lines[-1]["seconds"] == pytest.approx(trained.seconds)
    assert lines[-1]["loss"] == trained.validation_loss
    assert 0 <= lines[-1]["token_accuracy"] <= 1


def test_metrics_beyond_the_checkpoint_are_cut_off(tmp_path: Path) -> None:
    """And so is the line that a kill cut in two."""
    make_loop(tmp_path, "training.checkpoint_every=4")[0].run()
    for folder in checkpoints.folders(tmp_path / "checkpoints")[1:]:
        shutil.rmtree(folder)
    metrics = tmp_path / "metrics.jsonl"
    metrics.write_text(metrics.read_text() + '{"step": 7, "split": "tr', encoding="utf-8")
    again, _ = make_loop(tmp_path, "training.checkpoint_every=4", "training.steps=5")
    assert again.resume()
    again.run()
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    assert [line["step"] for line in lines if line["split"] == "train"] == [1, 2, 3, 4, 5]


def test_metrics_may_be_written_more_rarely(tmp_path: Path) -> None:
    loop, _ = make_loop(tmp_path, "training.log_every=3", "training.validate_every=9", "data.validation_size=0")
    loop.run()
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [3, 6]


def test_tensorboard_events_hold_the_same_figures(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    loop, seen = make_loop(tmp_path, "training.tensorboard=true", "training.steps=4")
    loop.run()
    found = EventAccumulator(str(tmp_path / "tensorboard"))
    found.Reload()
    assert {"train/loss", "train/learning_rate", "validation/loss"} <= set(found.Tags()["scalars"])
    told = [(event.step, event.value) for event in found.Scalars("train/loss")]
    assert told == [(step, pytest.approx(loss)) for step, loss in enumerate(seen.losses, start=1)]
    assert [event.step for event in found.Scalars("validation/loss")] == [2, 4]


def test_after_a_resume_tensorboard_shows_every_step_once(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    settings = ("training.tensorboard=true", "training.steps=6", "training.checkpoint_every=3")
    stopped, _ = make_loop(tmp_path, *settings)
    stopped.observers.on_start(6, 0)
    for _, batch in zip(range(5), stopped.batches()):  # a kill after step 5: two steps are lost
        stopped.step(batch)
        if stopped.progress.step == 3:
            stopped.save()
    stopped.observers.on_end(5)
    again, _ = make_loop(tmp_path, *settings)
    assert again.resume()
    again.run()
    found = EventAccumulator(str(tmp_path / "tensorboard"))
    found.Reload()
    assert [event.step for event in found.Scalars("train/loss")] == [1, 2, 3, 4, 5, 6]


# -- several processes ------------------------------------------------------------------------------------------


def test_two_ranks_make_the_same_steps_as_one(tmp_path: Path) -> None:
    """With one validation batch, so that the second rank has none, and early stopping, which ranks must agree on."""
    settings = ["training.accumulate=2", "training.patience=9", "training.final=average", "data.validation_size=8"]
    alone = regard.train(TREE, tmp_path / "alone", settings)
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(tomli_w.dumps(Recipe.of(TREE, settings).model_dump()), encoding="utf-8")
    command = [
        "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "regard.cli.main",
        "train", str(recipe), "--out", str(tmp_path / "two"), "--set", "training.accumulate=1",
    ]  # fmt: skip
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths, "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", *command], env=environment, text=True, capture_output=True, timeout=400, check=False
    )
    assert done.returncode == 0, done.stderr
    found = checkpoints.load_tensors(tmp_path / "two" / "model.safetensors")
    assert_close(found, checkpoints.load_tensors(tmp_path / "alone" / "model.safetensors"), 1e-5)
    summary = json.loads((tmp_path / "two" / "summary.json").read_text())
    assert summary["validation_loss"] == pytest.approx(alone.validation_loss, abs=1e-4)
    one, two = ((tmp_path / name / "metrics.jsonl").read_text().splitlines() for name in ("alone", "two"))
    assert [json.loads(line)["step"] for line in two] == [json.loads(line)["step"] for line in one]


def test_a_full_disk_at_the_very_end_is_told_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from safetensors import SafetensorError

    save_file = checkpoints.save_file

    def full(tensors: Any, path: Path) -> None:
        if "model.safetensors" in str(path):
            raise SafetensorError("Error while serializing: No space left on device (os error 28)")
        save_file(tensors, path)

    monkeypatch.setattr(checkpoints, "save_file", full)
    with pytest.raises(RunError, match=r"model.safetensors could not be written: .*No space left on device"):
        regard.train(TREE, tmp_path / "run", ["training.steps=1"])
    monkeypatch.undo()
    assert regard.train(TREE, tmp_path / "run", ["training.steps=1"], resume=True).steps == 1


def test_remembering_is_an_observer() -> None:
    """The helper of these tests keeps to the seam."""
    from regard.core.seams import Observer

    wanted = {name for name in vars(Observer) if not name.startswith("_")}
    assert wanted <= set(dir(Remembering))


@pytest.mark.parametrize(("device", "gpus", "backend", "chosen"), [
    ("auto", True, "nccl", [1]), ("cuda", True, "nccl", [1]), ("cpu", True, "gloo", []), ("auto", False, "gloo", []),
])  # fmt: skip
def test_each_process_has_a_gpu_of_its_own_where_gpus_are_meant(
    device: str, gpus: bool, backend: str, chosen: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    joined: list[str] = []
    taken: list[int] = []
    for name, value in (("WORLD_SIZE", "2"), ("RANK", "1"), ("LOCAL_RANK", "1")):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus)
    monkeypatch.setattr(torch.cuda, "set_device", taken.append)
    monkeypatch.setattr(torch.distributed, "init_process_group", joined.append)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 1)
    assert machine.init_ranks(device) == machine.Ranks(1, 2)
    assert (joined, taken) == ([backend], chosen)
