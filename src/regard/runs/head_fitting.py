"""Fits the head of a classifier at once, where the body under it stays as it is: each example is read a single time."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from regard.core.batch import move
from regard.core.errors import OptionError
from regard.core.seams import Body, Observer
from regard.data.batching import in_length_order
from regard.layers.headed import ClassHead, Headed
from regard.runs.folder import RunFolder
from regard.runs.integrity import write_summary
from regard.runs.recipe import Recipe
from regard.runs.starting import start_from
from regard.runs.train import Trained, prepare, write_weights
from regard.tasks.baselines.softmax_regression import fit_softmax_regression
from regard.tasks.classification import Classification
from regard.training import checkpoints, machine

STRENGTHS = (10.0, 30.0, 100.0, 300.0, 1000.0)
"""Of the penalty on weights; the one with the best accuracy on parts of training that were left out is taken."""
PARTS = 4
AT_ONCE = 4096  # positions


def fit_head(recipe: Recipe, out: Path, observers: Iterable[Observer] = ()) -> Trained:
    """Trains a recipe that starts from another run into ``out``: softmax regression on the pooled states of its body.

    The head becomes the one that its training would reach in the end, without dropout, label smoothing or balance.
    """
    began = time.monotonic()
    machine.tune_allocator()
    machine.set_threads(recipe.training.threads)
    folder = RunFolder(out)
    loop = prepare(start_from(recipe), folder, machine.Ranks(), observers)
    model, task = loop.model, loop.task
    if not (isinstance(task, Classification) and isinstance(model, Headed) and isinstance(model.head, ClassHead)):
        raise OptionError(f"only a classifier's head can be fitted at once; found task.kind = {recipe.task.kind!r}")
    loop.observers.on_phase("reading the examples once with the body")
    states_ND, labels_N, positions = pooled(model, model.head, task, loop.device)
    loop.observers.on_phase("fitting the head")
    set_head(model.head.classes, states_ND, labels_N)
    weights = checkpoints.weights_of(model)
    seconds = time.monotonic() - began
    trained = Trained(str(out), 0, seconds, positions / seconds, math.nan, checkpoints.weights_hash(weights))
    write_weights(folder.weights, weights)
    write_summary(folder, asdict(trained))
    return trained


@torch.no_grad()
def pooled(
    model: Headed, head: ClassHead, task: Classification, device: torch.device
) -> tuple[np.ndarray, np.ndarray, int]:
    """What the head's last matrix is given of each training example, their labels, and how many positions were read."""
    model.eval()
    examples = task.examples("train", 0)
    states_ND = np.zeros((len(examples), head.classes.in_features), np.float32)
    labels_N = np.zeros(len(examples), np.int64)
    positions = 0
    for places in in_length_order(examples.lengths_NA, AT_ONCE):
        batch = task.collate([examples.items[place] for place in places])
        states = cast(Body, model.body).represent(move(batch, device).inputs)
        states_ND[places] = head.pool(states).float().cpu().numpy()
        labels_N[places] = batch.labels_B.numpy()
        positions += batch.positions
    return states_ND, labels_N, positions


def set_head(last: nn.Module, states_ND: np.ndarray, labels_N: np.ndarray) -> None:
    """The regression as one matrix: W (x − mean) / spread + b = (W / spread) x + (b − W mean / spread)."""
    assert isinstance(last, nn.Linear)
    classes = last.out_features
    strength = max(STRENGTHS, key=lambda one: left_out_accuracy(states_ND, labels_N, classes, one))
    found = fit_softmax_regression(states_ND, labels_N, classes, strength)
    weights_CD: Tensor = found.weights_CF / found.spread_F
    with torch.no_grad():
        last.weight.copy_(weights_CD)
        last.bias.copy_(found.bias_C - weights_CD @ found.mean_F)


def left_out_accuracy(states_ND: np.ndarray, labels_N: np.ndarray, classes: int, strength: float) -> float:
    """How often each part of the examples is classified rightly by what was learned from the others."""
    right = 0
    for part in range(PARTS):
        out_N = np.arange(len(labels_N)) % PARTS == part
        found = fit_softmax_regression(states_ND[~out_N], labels_N[~out_N], classes, strength)
        right += int((found.predict(states_ND[out_N]) == labels_N[out_N]).sum())
    return right / len(labels_N)
