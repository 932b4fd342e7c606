"""Classification of mixed pictures: the loss by hand, sums that add, resuming to the bit, and who refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from regard.core.errors import OptionError
from regard.data.corpus import Corpus
from regard.data.ledger import Ledger
from regard.runs.folder import RunFolder
from regard.runs.recipe import Recipe
from regard.runs.train import build_task, headed, load_corpus, resolve_task, train
from regard.tasks.classification import Classification
from tests.inspection.picture_runs import drawn

EVERYTHING = {"shift": 1, "flip": True, "crop": 0.5, "erase": 0.5, "brightness": 0.2, "mixup": 0.4, "cutmix": 1.0}


def recipe(folder: Path, **task: Any) -> Recipe:
    drawn(folder, 24)
    return Recipe.of({
        "data": {"kind": "pictures", "train": str(folder), "validation_size": 2},
        "input": {"kind": "image", "augmentation": EVERYTHING},
        "model": {"kind": "vit", "layers": 1, "width": 12, "heads": 3, "dropout": 0.0,
                  "front": {"kind": "convolution", "channels": [5], "strides": [2], "whiten": 3}},
        "task": {"kind": "classification", "dropout": 0.0, **task},
        "training": {"steps": 6, "batch_tokens": 5, "learning_rate": 1e-2, "checkpoint_every": 3, "threads": 1},
    })  # fmt: skip


def made(folder: Path, **task: Any) -> tuple[Classification, nn.Module]:
    tree = recipe(folder, **task)
    corpus = load_corpus(tree)
    tree = resolve_task(tree, corpus)
    found = build_task(tree, corpus, tree.input.fit(corpus, tree.tokenizer))
    assert isinstance(found, Classification)
    return found, headed(tree, found).eval()


@pytest.mark.parametrize("balance", ["none", "classes"])
def test_the_loss_of_a_mixture_is_that_of_both_labels_by_their_shares(tmp_path: Path, balance: str) -> None:
    task, model = made(tmp_path, balance=balance)
    batch = task.collate(task.examples("train", 0).at(range(9)))
    assert batch.shares_B is not None
    assert batch.seconds_B is not None
    assert len(set(batch.shares_B.tolist())) > 4
    weights_C = task._weights_C
    with torch.no_grad():
        logits_BC = model(batch.inputs)
        targets_BC = functional.one_hot(batch.labels_B, 3) * batch.shares_B[:, None]
        targets_BC = targets_BC + functional.one_hot(batch.seconds_B, 3) * (1 - batch.shares_B[:, None])
        sums = task.sums(model, batch)
        by_hand = -(targets_BC * (1 if weights_C is None else weights_C) * logits_BC.log_softmax(-1)).sum()
        torch.testing.assert_close(sums.sums["loss"], by_hand)
        right = targets_BC.gather(1, logits_BC.argmax(-1, keepdim=True)).sum()
        torch.testing.assert_close(sums.sums["accuracy"], right)


def test_sums_over_parts_are_sums_over_the_whole(tmp_path: Path) -> None:
    """A mixture belongs to its example: whoever stands beside it changes nothing."""
    task, model = made(tmp_path)
    items = task.examples("train", 1).at(range(11))
    with torch.no_grad():
        whole = task.sums(model, task.collate(items)).sums
        parts = [task.sums(model, task.collate(part)).sums for part in (items[:2], items[2:3], items[3:])]
    for name, total in whole.items():
        torch.testing.assert_close(torch.stack([part[name] for part in parts]).sum(), total, atol=1e-4, rtol=1e-5)


def test_an_example_is_mixed_by_seed_epoch_and_place_and_differs_from_epoch_to_epoch(tmp_path: Path) -> None:
    task, _ = made(tmp_path)
    first, again, later = (task.collate(task.examples("train", epoch).at(range(7))) for epoch in (0, 0, 1))
    assert torch.equal(first.inputs.values, again.inputs.values)
    assert torch.equal(first.shares_B, again.shares_B)  # type: ignore[arg-type]
    assert not torch.equal(first.shares_B, later.shares_B)  # type: ignore[arg-type]
    plain = task.collate(task.examples("validation", 0).at(range(2)))
    assert plain.shares_B is None


def test_stopped_and_resumed_it_ends_with_the_same_weights(tmp_path: Path) -> None:
    tree = recipe(tmp_path / "pictures")
    whole = train(tree, tmp_path / "whole")
    train(tree, tmp_path / "run")
    folder = RunFolder(tmp_path / "run")
    for path in (folder.summary, folder.weights):
        path.unlink()
    for path in folder.checkpoints.glob("*6"):
        for file in path.iterdir():
            file.unlink()
        path.rmdir()
    resumed = train(tree, tmp_path / "run", resume=True)
    assert resumed.weights_sha256 == whole.weights_sha256


def test_a_task_without_mixed_answers_refuses_mixing(tmp_path: Path) -> None:
    tree = recipe(tmp_path)
    corpus = load_corpus(tree)
    other = Recipe.of({"task": {"kind": "translation"}}).task
    with pytest.raises(OptionError, match=r"so that their answers are mixtures, which translation does not"):
        build_task(tree.model_copy(update={"task": other}), corpus, tree.input.fit(corpus, tree.tokenizer))


def test_an_empty_corpus_is_enough_to_load_a_run(tmp_path: Path) -> None:
    tree = recipe(tmp_path)
    corpus = load_corpus(tree)
    tree = resolve_task(tree, corpus)
    task = build_task(tree, Corpus({}, Ledger()), tree.input.fit(corpus, tree.tokenizer))
    assert len(task.examples("train", 0)) == 0
