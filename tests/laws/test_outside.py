"""Families and a task that the package has never heard of go all the way: recipe, loop, folder, search, taps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regard
from regard.core.errors import OptionError, RecipeError
from regard.decoding.options import Beam
from regard.runs.evaluate import evaluate
from regard.runs.recipe import Recipe

GRU, DECODER_ONLY = "tests.laws.families:GruConfig", "tests.laws.families:DecoderOnlyConfig"
LANGUAGE_MODEL = "tests.laws.families:LanguageModelConfig"
TREE: dict[str, Any] = {
    "data": {"kind": "toy", "train_size": 300, "validation_size": 20, "test_size": 10, "symbols": 6,
             "max_length": 4},
    "tokenizer": {"kind": "word", "min_frequency": 1},
    "training": {
        "steps": 40, "batch_tokens": 300, "learning_rate": 1e-2, "schedule": {"kind": "constant"},
        "validate_every": 20,
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def gru(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gru")
    regard.train({**TREE, "model": {"kind": GRU}}, folder)
    return folder


@pytest.fixture(scope="module")
def language_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("language-model")
    regard.train({**TREE, "model": {"kind": DECODER_ONLY}, "task": {"kind": LANGUAGE_MODEL}}, folder)
    return folder


def test_a_recurrent_family_translates_and_is_scored(gru: Path) -> None:
    run = regard.load(gru)
    assert len(run.predict(["a b c", "d e f a"], Beam(size=3))) == 2
    scores = evaluate(run)
    assert 0 < scores["token_accuracy"] <= 1
    assert 0 <= scores["alignment_error_rate"] <= 1
    assert scores["alignment_head"] == [0, 0], "it has one layer of one head"


def test_a_recurrent_family_shows_its_alignment(gru: Path) -> None:
    """Asked once a step, the tap still gives one matrix."""
    found = regard.load(gru).alignment(["a b c d"], ["d c b"])[0]
    weights_TS = found.by_head[0, 0]
    assert weights_TS.shape == (3, 4)
    assert np.all(weights_TS >= 0)
    assert np.all(weights_TS.sum(1) < 1 + 1e-5), "what is left was read of the closing symbol"


def test_a_language_model_goes_on_with_a_text(language_model: Path) -> None:
    run = regard.load(language_model)
    prompts = ["a b", "c", "f e d"]
    together = run.answers(prompts, Beam(size=3, n_best=3))
    assert [len(own) for own in together] == [3, 3, 3]
    assert run.predict(prompts) == [run.predict([prompt])[0] for prompt in prompts]


def test_a_language_model_learns_and_is_scored(language_model: Path) -> None:
    scores = evaluate(regard.load(language_model))
    assert 1 < scores["perplexity"] < 8, "it began at eleven symbols, equally likely"


def test_a_family_without_a_source_has_no_alignment(language_model: Path) -> None:
    with pytest.raises(OptionError, match=r"LanguageModelConfig\) reads no source, so it has no alignment; name a run"):
        regard.load(language_model).alignment(["a"], ["a"])


def test_an_outside_part_is_written_into_the_recipe_with_its_defaults(gru: Path) -> None:
    recipe: Any = Recipe.read(gru / "recipe.toml")
    assert recipe.model.kind == GRU
    assert "width = 16" in (gru / "recipe.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ({"kind": GRU, "widht": 3}, "model.widht: unknown key (did you mean 'width'?)"),
        ({"kind": "tests.laws.families:Grue"}, "cannot be imported"),
        ({"kind": "tests.laws.families:Gru"}, "name the configuration class, the one with build()"),
    ],
    ids=["unknown key", "unknown class", "not a configuration"],
)
def test_an_outside_part_is_held_to_the_same_rules(model: dict[str, Any], words: str) -> None:
    with pytest.raises(RecipeError) as caught:
        Recipe.of({**TREE, "model": model})
    assert words in str(caught.value)
