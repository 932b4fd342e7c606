"""The modalities of a run: what its recipe's input learns, and the texts that are answered to something else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from regard.data.modalities.both import Modalities
from regard.data.modalities.text.modality import TextModality
from regard.data.modalities.text.tokenizers import Tokenizer
from regard.data.modalities.text.vocabularies import TARGET
from regard.runs.recipe import Recipe

WRITTEN = "target"  # the vocabulary's name


def fit_modalities(recipe: Recipe, corpus: Any) -> Modalities:
    """Learned from the training split alone."""
    found = recipe.input.fit(corpus, recipe.tokenizer)
    return with_answers(found, fit_answers(recipe, corpus)) if recipe.answers_in_text else found


def load_modalities(recipe: Recipe, folder: Path) -> Modalities:
    """As a run folder holds them."""
    found = recipe.input.load(folder, recipe.tokenizer)
    if not recipe.answers_in_text:
        return found
    return with_answers(found, Tokenizer.load(folder / TARGET, recipe.tokenizer.specials()))


def take_over(recipe: Recipe, theirs: Modalities, corpus: Any) -> Modalities:
    """What another run learned, as far as this one needs it; how its answers are written only where that one wrote."""
    found = recipe.input.taken_over(theirs)
    if recipe.input.is_text or (recipe.answers_in_text and found.output is not None):
        return found
    found = replace(found, output=None)
    return with_answers(found, fit_answers(recipe, corpus)) if recipe.answers_in_text else found


def are_kept(recipe: Recipe, folder: Path) -> bool:
    """Whether a run folder holds all that was learned."""
    return recipe.input.is_kept(folder) and (not recipe.answers_in_text or (folder / TARGET).is_file())


def fit_answers(recipe: Recipe, corpus: Any) -> Tokenizer:
    (texts,) = corpus.training_texts(True)
    return recipe.tokenizer.of_side(1).train(texts)


def with_answers(found: Modalities, tokenizer: Tokenizer) -> Modalities:
    return replace(found, output=TextModality(tokenizer, TARGET, WRITTEN))
