"""What ``--set`` leaves without effect in a recipe makes way for it; what has no effect by itself is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from regard.core.config import to_toml
from regard.core.errors import RecipeError
from regard.runs.recipe import Recipe
from tests.inspection.picture_runs import drawn

FASHION: dict[str, Any] = {
    "data": {"kind": "pictures", "train": "train-images-idx3-ubyte.gz", "validation_size": 5000, "overlap": "remove",
             "test": "t10k-images-idx3-ubyte.gz"},
    "input": {"kind": "image"},
    "model": {"kind": "vit"},
    "task": {"kind": "classification"},
}  # fmt: skip


def test_a_shipped_recipe_takes_validation_data_of_one_s_own() -> None:
    made = Recipe.read("fashion", ["data.validation=mine-images-idx3-ubyte"])
    assert [entry.file for entry in made.data.named()["validation"]] == ["mine-images-idx3-ubyte"]
    assert "validation_size" not in made.to_toml()


def test_a_recipe_that_was_written_out_whole_can_do_without_a_split(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(Recipe.of(FASHION).to_toml(), encoding="utf-8")
    assert 'overlap = "remove"' in file.read_text(encoding="utf-8")
    made = Recipe.read(file, ['data.test=""'])
    assert list(made.data.named()) == ["train"]
    assert "overlap" not in made.to_toml()
    assert "validation_size = 5000" in made.to_toml(), "what still has an effect stays"


def test_what_was_written_out_whole_is_meant_by_nobody(tmp_path: Path) -> None:
    """As in a recipe that somebody edits, and in a run folder that was made before such keys were refused."""
    tree = Recipe.of(FASHION).tables()
    tree["data"] |= {"test": "", "label": "label", "verify": "header"}
    made = Recipe.of(tree)
    assert not {"test", "overlap", "label", "verify"} & made.tables()["data"].items()
    assert Recipe.of(tree, ["data.validation=v-images-idx3"]).data.validation_size == 1000
    with pytest.raises(RecipeError, match="verify has no effect: idx files are always read whole"):
        Recipe.of(tree, ["data.verify=header"])
    file = tmp_path / "recipe.toml"
    file.write_text(to_toml(tree), encoding="utf-8")
    assert Recipe.read(file).tables()["data"].keys() == Recipe.of_run(file).tables()["data"].keys()
    del tree["format"]
    with pytest.raises(RecipeError, match="overlap has no effect"):
        Recipe.of(tree)


def test_what_is_said_in_one_place_without_effect_is_refused() -> None:
    for tree, settings in (
        ({**FASHION["data"], "validation": "v-images-idx3"}, []),
        ({**FASHION["data"], "validation": "v-images-idx3"}, ["seed=2", "model.width=8"]),
        (FASHION["data"], ["data.validation=v-images-idx3", "data.validation_size=9"]),
        (FASHION["data"], ['data={kind="pictures", train="a", validation="b", validation_size=9}']),
    ):
        with pytest.raises(RecipeError, match="validation_size has no effect: it says how many examples are set aside"):
            Recipe.of({**FASHION, "data": tree}, settings)


def test_a_table_makes_way_for_another_kind_of_input(tmp_path: Path) -> None:
    drawn(tmp_path / "train", 3)
    data = [f"data={{kind='pictures', train='{tmp_path}/train'}}", "input.kind=image", "model={kind='vit'}"]
    made = Recipe.read("mood", data)
    assert "tokenizer" not in made.tables()
    with pytest.raises(RecipeError, match=r"tokenizer has no effect: where input\.kind = 'image' no text"):
        Recipe.read("mood", [*data, "tokenizer.vocabulary=50"])
