"""Pictures on the command line: told in words for pictures, asked for by path or by their place in an idx file."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import regard

from regard.core.errors import OptionError
from regard.runs.load import load
from tests.inspection.picture_runs import drawn

SMALL = [
    word
    for setting in (
        "input.kind=image", "model.kind=vit", "model.front.kind=patches", "model.front.size=4", "model.layers=1",
        "model.width=8", "model.heads=2", "task.kind=classification", "training.steps=2", "training.batch_tokens=8",
        "training.threads=1", "data_seed=1",
    )
    for word in ("--set", setting)
]  # fmt: skip


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A run over pictures of which some are broken or there twice, and what was said about it."""
    folder = tmp_path_factory.mktemp("pictures")
    files = drawn(folder / "shapes", 30)
    for number in range(2):
        (folder / "shapes" / "circle" / f"broken-{number}.png").write_bytes(b"no picture")
    files[1].with_name("again.png").write_bytes(files[1].read_bytes())
    recipe = folder / "shapes.toml"
    recipe.write_text('[data]\nkind = "pictures"\ntrain = "shapes"\n', encoding="utf-8")
    found = regard("train", recipe, "--out", folder / "run", *SMALL)
    assert found.code == 0, found.err
    return folder, found.err + found.out


def test_training_counts_pictures_and_files(told: tuple[Path, str]) -> None:
    _, said = told
    assert "pictures/s" in said
    assert "tokens" not in said
    assert "2 files skipped (not a readable picture), 1 file duplicated (the same as an earlier example)" in said


def test_a_prompt_is_for_language_models(told: tuple[Path, str]) -> None:
    folder, _ = told
    assert "has no use for --prompt, which is for language models" in regard(
        "predict", folder / "run", "--prompt", "once"
    ).error
    with pytest.raises(OptionError, match="run cannot continue a prompt: it is a classification run; name the run of"):
        assert load(folder / "run").continuation


def test_one_class_is_nothing_to_tell_apart(tmp_path: Path) -> None:
    drawn(tmp_path / "all", 3)
    (tmp_path / "one").mkdir()
    (tmp_path / "all" / "circle").rename(tmp_path / "one" / "circle")
    recipe = tmp_path / "one.toml"
    recipe.write_text('[data]\nkind = "pictures"\ntrain = "one"\nvalidation_size = 0\n', encoding="utf-8")
    found = regard("train", recipe, "--out", tmp_path / "run", *SMALL).error
    assert "there is only one class, 'circle'; at least two are needed" in found


def test_labels_that_training_has_not_seen_are_named(told: tuple[Path, str], tmp_path: Path) -> None:
    drawn(tmp_path / "new", 3)
    (tmp_path / "new" / "circle").rename(tmp_path / "new" / "star")
    found = regard("evaluate", told[0] / "run", "--data", tmp_path / "new").error
    assert "labels that no training example has (known: circle, cross, " in found
    assert "'star' (" in found
