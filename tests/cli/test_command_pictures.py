"""Pictures on the command line: told in words for pictures, asked for by path or by their place in an idx file."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from command import regard
from PIL import Image

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


def test_a_picture_of_an_idx_file_is_named_by_its_place(told: tuple[Path, str], tmp_path: Path) -> None:
    """As tables of errors name it; it is read as the same picture in a file of its own is."""
    run = told[0] / "run"
    pixels_BHW = np.random.default_rng(3).integers(0, 256, (3, 16, 16), np.uint8)
    many, alone = tmp_path / "t10k-images-idx3-ubyte.gz", tmp_path / "alone.png"
    header = bytes([0, 0, 8, 3]) + b"".join(size.to_bytes(4, "big") for size in pixels_BHW.shape)
    many.write_bytes(gzip.compress(header + pixels_BHW.tobytes()))
    Image.fromarray(pixels_BHW[2]).save(alone)
    by_place, by_path = regard("predict", run, f"{many}[2]"), regard("predict", run, alone)
    assert by_place.code == 0, by_place.err
    assert by_place.out == by_path.out
    page = tmp_path / "page.html"
    assert regard("look", run, f"{many}[0]", "--out", page).code == 0
    assert page.is_file()
    found = regard("predict", run, f"{many}[3]", f"{alone}[0]", f"{tmp_path / 'none'}[1]", alone).error
    assert "has no picture 3: its 3 pictures are counted from 0 to 2" in found
    assert "[0] counts the pictures of an idx file, and" in found
    assert "there is no file" in found


def test_all_that_are_no_pictures_are_named_at_once(told: tuple[Path, str], tmp_path: Path) -> None:
    for name in ("one.png", "other.png"):
        (tmp_path / name).write_bytes(b"no picture")
    found = regard("predict", told[0] / "run", tmp_path / "one.png", tmp_path / "other.png").error
    assert "one.png is not a readable picture" in found
    assert "other.png is not a readable picture" in found


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
