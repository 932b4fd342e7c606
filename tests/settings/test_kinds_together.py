"""Every task with every model, and every task on all data, trains or is refused in words."""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path

import pytest
import torch

import regard
from regard.core.errors import RegardError
from regard.data import DATA
from regard.models import MODELS
from regard.runs.recipe import Recipe
from regard.tasks import TASKS
from tests.settings import kinds
from tests.settings.files import write_files
from tests.settings.test_every_key import EVERY

WITH_DATA = [pair for pair in product(TASKS.kinds(), DATA.kinds()) if pair[1] not in kinds.SLOW]
CHOSEN = WITH_DATA if os.environ.get(EVERY) == "1" else WITH_DATA[::5]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    return write_files(tmp_path_factory.mktemp("files") / "data")


@pytest.mark.parametrize("task", TASKS.kinds())
def test_a_task_and_a_model(task: str, files: Path, tmp_path: Path) -> None:
    """Those that do not fit are refused before any data is read, with those that do."""
    for model in MODELS.kinds():
        tree = kinds.recipe(files, task, model=model)
        if TASKS.resolve(task).needs in MODELS.resolve(model).roles:
            trained(tree, tmp_path / model)
            continue
        with pytest.raises(RegardError) as refused:
            Recipe.of(tree)
        assert f"task.kind = '{task}' needs a model that {TASKS.resolve(task).needs.value}" in str(refused.value)


@pytest.mark.parametrize(("task", "data"), CHOSEN)
def test_a_task_and_its_data(task: str, data: str, files: Path, tmp_path: Path) -> None:
    trained(kinds.recipe(files, task, data), tmp_path / "run")
    if kinds.MODALITY_OF.get(data):
        tree = kinds.recipe(files, task, data)
        tree.pop("input")
        trained({**tree, "tokenizer": kinds.WORDS}, tmp_path / "as-text")


def trained(tree: kinds.Tree, run: Path) -> bool:
    """Whether it could be; if not, it was said why."""
    try:
        return regard.train(tree, run, ["training.steps=1"]).steps == 1
    except RegardError:
        return False


def test_each_task_is_trained_by_some_model(files: Path, tmp_path: Path) -> None:
    assert all(trained(kinds.recipe(files, task), tmp_path / task) for task in TASKS.kinds())
