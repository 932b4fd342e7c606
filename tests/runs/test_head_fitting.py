"""A head that is fitted at once: as good as one that was trained, written as any run, and refused where it is none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.core.errors import OptionError
from regard.runs.evaluate import evaluate
from regard.runs.head_fitting import fit_head, set_head
from regard.runs.load import load
from regard.runs.recipe import Recipe
from regard.runs.train import train
from regard.tasks.baselines.softmax_regression import fit_softmax_regression

BERT = {"kind": "bert", "layers": 1, "width": 64, "heads": 2}
DATA = {"kind": "world-moods", "train_size": 1500, "validation_size": 40, "test_size": 80, "compositional_size": 40}


@pytest.fixture(scope="module")
def body(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("head") / "body"
    train({
        "data": {"kind": "world-english", "train_size": 300}, "tokenizer": {"kind": "wordpiece", "vocabulary": 400},
        "model": BERT, "task": {"kind": "masked-language-model", "max_length": 24},
        "training": {"steps": 2, "batch_tokens": 256, "validate_every": 2, "checkpoint_every": 2},
    }, out=out)  # fmt: skip
    return out


def recipe(body: Path, task: str = "classification", data: Mapping[str, Any] = DATA) -> Recipe:
    tables = {"data": dict(data), "model": BERT, "tokenizer": {"kind": "wordpiece"}, "training": {"steps": 1}}
    return Recipe.of({**tables, "task": {"kind": task, "max_length": 24}, "start": {"run": str(body)}})


def test_a_fitted_head_beats_the_majority_and_leaves_the_body_as_it_is(body: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    trained = fit_head(recipe(body), out)
    run = load(out)
    assert trained.steps == 0
    assert evaluate(run)["accuracy"] > 0.6  # three moods, by words that a random body does not hide
    ours, theirs = run.model.state_dict(), load(body).model.state_dict()
    assert torch.equal(ours["body.layers.0.feed_forward.inner.weight"], theirs["layers.0.feed_forward.inner.weight"])


def test_the_matrix_answers_as_the_regression(body: Path) -> None:
    chance = np.random.default_rng(1)
    states_ND = (chance.standard_normal((90, 7)) * 3 + 5).astype(np.float32)
    labels_N = (states_ND[:, 2] > 5).astype(np.int64)
    last = torch.nn.Linear(7, 2)
    set_head(last, states_ND, labels_N)
    answers_N = last(torch.from_numpy(states_ND)).argmax(1).numpy()
    assert (answers_N == labels_N).mean() > 0.9
    weak, strong = (fit_softmax_regression(states_ND, labels_N, 2, one).weights_CF.norm() for one in (1.0, 1000.0))
    assert strong < weak / 5


def test_what_is_no_classifier_is_refused(body: Path, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"only a classifier's head can be fitted at once; found task.kind = 'emb"):
        fit_head(recipe(body, "embedding", {"kind": "small-world", "train_size": 50}), tmp_path / "run")
