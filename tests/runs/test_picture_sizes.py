"""Runs of pictures at another size than they were trained at: fine-tuned from, and loaded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from regard.core.errors import RecipeError
from regard.layers.grid_positions import interpolated
from regard.runs.load import load
from regard.runs.recipe import Recipe
from regard.runs.train import train
from regard.tasks.probing import grid_axis
from regard.training import checkpoints
from tests.inspection.picture_runs import LABELS, drawn, picture_run, pictures

TABLE = "body.position.table_ND"


def recipe(folder: Path) -> dict[str, object]:
    drawn(folder, 30, size=24, seed=5)
    return {
        "data": {"kind": "pictures", "train": str(folder), "validation_size": 3},
        "input": {"kind": "image", "size": 18, "augmentation": {"flip": True}},
        "task": {"kind": "classification"},
        "training": {"steps": 2, "batch_tokens": 9, "learning_rate": 1e-12, "threads": 1},
    }


def test_fine_tuning_at_another_size_goes_on_from_interpolated_positions(tmp_path: Path) -> None:
    parent = picture_run()
    before = checkpoints.load_tensors(parent.folder.weights)
    train(recipe(tmp_path / "pictures"), tmp_path / "larger", start=parent.folder.path)
    after = checkpoints.load_tensors(tmp_path / "larger" / "model.safetensors")
    assert before[TABLE].shape == (1 + 4 * 4, 24)
    torch.testing.assert_close(after[TABLE], interpolated(before[TABLE], (4, 4), (6, 6)), atol=1e-6, rtol=0)
    torch.testing.assert_close(after["body.norm.weight"], before["body.norm.weight"])
    run = load(tmp_path / "larger")
    modality = run.modalities.input
    assert (modality.frame.rows, modality.mean) == (18, parent.modalities.input.mean)  # type: ignore[attr-defined]
    assert run.recipe.input.augmentation.flip  # type: ignore[attr-defined]
    assert run.model.body.grid == (6, 6)  # type: ignore[union-attr]


def test_a_setting_of_the_command_line_has_the_last_word(tmp_path: Path) -> None:
    parent, tree = picture_run(), recipe(tmp_path / "pictures")
    settings = ["input.size=15", "input.augmentation.flip=false"]
    train(tree, tmp_path / "run", settings, start=parent.folder.path)
    run = load(tmp_path / "run")
    assert run.model.body.grid == (5, 5)  # type: ignore[union-attr]
    assert not run.recipe.input.augmentation.flip  # type: ignore[attr-defined]


def test_without_a_word_about_it_the_size_stays(tmp_path: Path) -> None:
    parent, tree = picture_run(), recipe(tmp_path / "pictures")
    train({**tree, "input": {"kind": "image"}}, tmp_path / "run", start=parent.folder.path)
    assert Recipe.of_run(tmp_path / "run" / "recipe.toml").input == parent.recipe.input
    assert load(tmp_path / "run").model.body.grid == (4, 4)  # type: ignore[union-attr]


def test_a_loaded_run_reads_pictures_at_another_size(tmp_path: Path) -> None:
    """Three shapes are known at twice the size, too, and whoever looks inside sees the finer grid."""
    run = load(picture_run().folder.path, picture_size=24)
    body = run.model.body
    assert body.grid == (8, 8)  # type: ignore[union-attr]
    files = drawn(tmp_path, 9, size=24, seed=8)
    found = run.predict(files)
    assert np.mean([said in path.name for said, path in zip(found, files, strict=True)]) > 0.5
    assert grid_axis(run.model, run.modalities.input.axis(None)).shape == (8, 8)
    same = load(picture_run().folder.path, picture_size=12)
    assert [one[0] for one in same.answers(pictures())] == [one[0] for one in picture_run().answers(pictures())]
    assert set(found) <= set(LABELS)


def test_a_size_that_cannot_be_is_refused() -> None:
    with pytest.raises(RecipeError, match="cannot be cut into patches of 3×3 without a remainder"):
        load(picture_run().folder.path, picture_size=13)
