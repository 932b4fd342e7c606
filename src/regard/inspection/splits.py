"""The run's task over a split of its recipe, or over texts of the user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.core.errors import OptionError
from regard.core.seams.capabilities import Translates
from regard.core.seams.task import Task
from regard.data.corpus import Corpus, Pair
from regard.data.ledger import Ledger
from regard.data.texts import TextInMemory
from regard.runs.integrity import scored_corpus
from regard.runs.load import Run
from regard.runs.train import build_task, load_corpus

GIVEN = "given"  # the split that texts of the user's become


def task_over(run: Run, data: str | Sequence[str] | Sequence[Pair]) -> Task:
    """The run's task over one of its recipe's splits, or over given texts as the split ``given``."""
    if isinstance(data, str):
        corpus: Any = scored_corpus(run.folder, load_corpus(run.recipe))
        if data not in corpus.splits:
            raise OptionError(
                f"the recipe's data has no split {data!r} to ask about; available: {', '.join(corpus.splits) or 'none'}"
            )
        return build_task(run.recipe, corpus, run.modalities)
    pairs = [one for one in data if isinstance(one, Pair)]
    translates = isinstance(run.task, Translates)
    if len(pairs) != (len(data) if translates else 0):
        wanted = "regard.data.corpus.Pair(source, target)" if translates else "strings"
        raise OptionError(f"{run.folder.path} ({run.recipe.task.kind}) is asked about {wanted}; give a list of them")
    if translates:
        return build_task(run.recipe, Corpus({GIVEN: tuple(pairs)}, Ledger()), run.modalities)
    texts = tuple(TextInMemory(f"text {number}", str(text)) for number, text in enumerate(data, start=1))
    return build_task(run.recipe, Corpus({GIVEN: texts}, Ledger()), run.modalities)


def places(found: Sequence[Any], examples: int) -> list[int]:
    """Where at most so many examples stand, evenly over all."""
    if not len(found):
        raise OptionError("there is nothing to ask about; name a split that has examples, or give texts")
    return [int(place) for place in np.unique(np.linspace(0, len(found) - 1, examples).astype(int))]
