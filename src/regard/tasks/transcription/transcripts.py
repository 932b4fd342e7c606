"""What tasks that write down what is heard share: inputs with given texts, and simple methods beside the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from regard.core.seams.modality import Modality
from regard.core.yardsticks import Yardstick
from regard.data.corpus import Corpus, Pair
from regard.tasks.baselines.likely_characters import fit_likely_characters
from regard.tasks.metrics.transcripts import transcript_figures

MOST = 20_000
"""Training texts that the likely characters are counted in."""


class SaidInput(NamedTuple):
    """An input and the text that a user gives it."""

    input: Any
    target: str
    source: str
    line: int
    origin: str

    @classmethod
    def of(cls, pair: Pair, modality: Modality) -> Self:
        return cls(modality.parse(pair.source), pair.target, pair.source, pair.line, pair.origin)


def transcript_yardsticks(corpus: Corpus[Any], split: str) -> Mapping[str, Yardstick]:
    """Always the same likely characters; and the methods that the data itself knows for what it makes."""
    training, scored = corpus.splits["train"], corpus.splits[split]
    references = [one.target for one in scored]
    texts = [one.target for one in training[:MOST]]
    always = fit_likely_characters(texts)
    found = {
        "always the most likely characters": Yardstick(
            transcript_figures([always] * len(scored), references), f"{len(texts):,} texts"
        )
    }
    for name, method in corpus.methods.items():
        fitted = method.fit([one.input for one in training], [one.target for one in training])
        said = [fitted(one.input) for one in scored]
        found[name] = Yardstick(transcript_figures(said, references), method.fitted_on(len(training)))
    return found
