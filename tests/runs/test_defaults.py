"""Defaults that follow the model, the data and the length of training; presets; what a run folder keeps of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import regard
from regard.core.auto import is_auto
from regard.core.config import parse
from regard.core.errors import OptionError, RecipeError
from regard.models.gpt import PRESETS, GptConfig
from regard.runs.budget import Budget, Deadline, Pace, measure_pace, with_steps, within, without_steps
from regard.runs.folder import RunFolder
from regard.runs.formats.upgrade import read_run_recipe
from regard.runs.recipe import Recipe, recipes
from regard.runs.train import prepare
from regard.training.config import Extent, TrainingConfig
from regard.training.machine import Ranks

TINY: dict[str, Any] = {
    "data": {
        "kind": "toy", "train_size": 300, "validation_size": 20, "test_size": 20, "symbols": 5, "min_length": 2,
        "max_length": 5,
    },
    "tokenizer": {"kind": "word", "min_frequency": 1},
    "model": {"encoder_layers": 1, "decoder_layers": 1, "width": 16},
}


def test_the_course_of_training_follows_its_length_and_the_width() -> None:
    short = TrainingConfig(steps=200).settled(128, Extent(1000, 10_000))
    long = TrainingConfig(steps=20_000).settled(128, Extent(1000, 10_000))
    assert (short.schedule.warmup, long.schedule.warmup) == (10, 400)
    assert (short.validate_every, long.validate_every) == (20, 2000)
    wide = parse(TrainingConfig, {"steps": 200, "optimizer": {"kind": "adamw"}}).settled(512, Extent(1000, 10_000))
    assert wide.learning_rate == pytest.approx(5e-4)  # half of what it is at 128


def test_the_papers_schedule_takes_the_width_of_the_model() -> None:
    tree = {"steps": 100_000, "schedule": {"kind": "paper"}, "optimizer": {"kind": "adam"}}
    paper = parse(TrainingConfig, tree).settled(512, Extent(10**6, 10**8))
    assert paper.learning_rate == 1.0
    assert paper.schedule.factor(4000, 100_000) == pytest.approx(6.98771e-4, rel=1e-5)


def test_steps_follow_the_amount_of_data() -> None:
    small, large = Extent(100, 1000), Extent(10**6, 3 * 10**7)
    assert TrainingConfig().settled(128, small).steps < TrainingConfig().settled(128, large).steps
    assert TrainingConfig().settled(128, large).epochs(large) < 1.5


def test_a_run_folder_holds_what_became_of_every_auto(tmp_path: Path) -> None:
    trained = regard.train(TINY, tmp_path / "run", ["training.steps=12"])
    held = read_run_recipe(tmp_path / "run" / "recipe.toml")
    assert "auto" not in [value for table in held.values() if isinstance(table, dict) for key, value in table.items()
                          if key != "kind"]  # fmt: skip
    assert held["model"]["feed_forward"]["width"] == 64
    assert held["model"]["heads"] == 1
    again = regard.train(tmp_path / "run" / "recipe.toml", tmp_path / "again")
    assert again.weights_sha256 == trained.weights_sha256


def test_a_run_with_autos_is_resumed_by_what_was_decided(tmp_path: Path) -> None:
    first = regard.train(TINY, tmp_path / "run", ["training.steps=12"])
    (tmp_path / "run" / "summary.json").unlink()
    resumed = regard.train(TINY, tmp_path / "run", ["training.steps=12"], resume=True)
    assert resumed.weights_sha256 == first.weights_sha256


@pytest.mark.parametrize("name", sorted(recipes()))
def test_shipped_recipes_leave_no_size_and_no_step_to_be_decided(name: str) -> None:
    """Their results were measured with the numbers that stand in them."""
    recipe = Recipe.read(name)
    training = recipe.training
    undecided = [key for key in ("steps", "batch_tokens", "learning_rate", "validate_every", "checkpoint_every")
                 if is_auto(getattr(training, key))]  # fmt: skip
    assert not undecided
    assert not is_auto(recipe.model.dropout)
    assert not is_auto(training.schedule.warmup)


# -- presets --------------------------------------------------------------------------------------------------------


def test_a_preset_stands_for_its_settings_and_others_go_before() -> None:
    made = parse(GptConfig, {"preset": "gpt2-medium", "layers": 2, "position": {"max_length": 7}})
    assert (made.layers, made.width, made.heads) == (2, 1024, 16)
    assert made.position.model_dump()["max_length"] == 7
    assert parse(GptConfig, {"preset": "gpt2"}) == parse(GptConfig, PRESETS["gpt2"])


def test_a_preset_may_be_set_from_the_command_line_and_is_written_out(tmp_path: Path) -> None:
    shipped, recipe = (Recipe.read("small-world", change) for change in ([], ["model.preset=transformer-big"]))
    assert (recipe.model.width, "preset" in recipe.to_toml()) == (128, False)  # the recipe's own width goes before
    assert recipe.model.model_dump()["encoder_layers"] == shipped.model.model_dump()["encoder_layers"]


@pytest.mark.parametrize(
    "recipe, message",
    [
        ("shakespeare", r"model.preset: unknown preset 'gpt22' \(did you mean 'gpt2'\?\); known: gpt-character, gpt2"),
        ("shakespeare-lstm", "model.preset: unknown key"),
    ],
)
def test_unknown_presets_are_refused(recipe: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        Recipe.read(recipe, ["model.preset=gpt22"])


# -- budgets --------------------------------------------------------------------------------------------------------


def test_a_budget_decides_the_steps_and_says_so(tmp_path: Path) -> None:
    said: list[str] = []
    deadline = Deadline(Budget.parse("60s").seconds)
    recipe = without_steps(Recipe.of(TINY))
    loop = prepare(recipe, RunFolder(tmp_path / "run"), Ranks(), [], within(deadline, said.append))
    assert loop.config.steps >= 100
    assert said[0] == "measuring how long a step takes"
    assert f"{loop.config.steps:,} steps" in said[1]
    assert "epochs, in 60s" in said[1]
    assert read_run_recipe(tmp_path / "run" / "recipe.toml")["training"]["steps"] == loop.config.steps


def test_a_hopeless_budget_is_refused_before_training(tmp_path: Path) -> None:
    deadline = Deadline(0.001)
    with pytest.raises(OptionError, match=r"a budget of 0s leaves 1 steps of .* too few to learn anything; give .*s"):
        prepare(without_steps(Recipe.of(TINY)), RunFolder(tmp_path / "run"), Ranks(), [], within(deadline, print))


def test_validations_are_part_of_the_budget() -> None:
    assert Pace(0.5, 10, 0.0).steps_in(100.0) == 200
    assert Pace(0.5, 10, 0.5).steps_in(100.0) == 189  # eleven of half a second
    assert Pace(0.5, 10, 2.0).steps_in(100.0) == 176  # six of two seconds: a tenth of the time, and the last
    assert Pace(0.5, 10, 50.0).steps_in(100.0) == 1
    assert Pace(1.5, 10).validating_like(Pace(0.5, 10, 2.0)) == Pace(1.5, 10, 6.0)


def test_what_is_slow_to_validate_is_validated_less_often() -> None:
    recipe = Recipe.of("copy", ['training.steps="auto"', 'training.validate_every="auto"'])
    assert is_auto(with_steps(recipe, 1000).training.validate_every)
    assert with_steps(recipe, 1000, validations=Pace(0.5, 10, 10.0).validations_in(500)).training.validate_every == 200
    fixed = Recipe.of(recipe, ["training.validate_every=70"])
    assert with_steps(fixed, 1000, validations=2).training.validate_every == 70


def test_measuring_changes_nothing(tmp_path: Path) -> None:
    """The weights are those of a training that was told its steps."""
    told = regard.train(TINY, tmp_path / "told", ["training.steps=9"])
    measure_pace(Recipe.of(TINY), longest=0.05)
    again = regard.train(TINY, tmp_path / "again", ["training.steps=9"])
    assert told.weights_sha256 == again.weights_sha256
