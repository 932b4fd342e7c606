"""Yardsticks of classes of series: softmax regression on means and spreads, and the nearest neighbour under warping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from regard.core.seams.modality import CutsWindows
from regard.core.yardsticks import Yardstick
from regard.data.examples import HasLabel
from regard.tasks.baselines.sampling import evenly
from regard.tasks.baselines.softmax_regression import fit_softmax_regression
from regard.tasks.baselines.warping import nearest
from regard.tasks.baselines.yardsticks import class_figures, places_of

MOST_SERIES = 20_000
MOST_CELLS = 50_000_000
"""Of all pairs of steps that warping goes through; with more, it is left out."""


def series_class_yardsticks(
    modality: CutsWindows, training: Sequence[HasLabel], scored: Sequence[HasLabel], places: Mapping[str, int]
) -> dict[str, Yardstick]:
    """What is known of whole series, and where they are few and short, how like one another they are."""
    sample = evenly(len(training), MOST_SERIES)
    own = sample.of(training)
    labels_N, gold_N = places_of(own, places), places_of(scored, places)
    learned, asked = (values_of(modality, examples) for examples in (own, scored))
    model = fit_softmax_regression(summaries(learned), labels_N, len(places))
    figures = class_figures(model.predict(summaries(asked)), gold_N, len(places))
    found = {"softmax regression on means and spreads": Yardstick(figures, sample.describe("series"))}
    cells = sum(map(len, learned)) * sum(map(len, asked))
    if cells <= MOST_CELLS:
        said_N = labels_N[[nearest(one, learned) for one in asked]]
        name = "nearest neighbour under time warping"
        found[name] = Yardstick(class_figures(said_N, gold_N, len(places)), sample.describe("series"))
    return found


def values_of(modality: CutsWindows, examples: Sequence[HasLabel]) -> list[np.ndarray]:
    return [modality.values(item) for item in modality.encode([one.input for one in examples])]


def summaries(series: Sequence[np.ndarray]) -> np.ndarray:
    """features_NF: mean and standard deviation of each channel."""
    return np.array([np.concatenate((values_NC.mean(axis=0), values_NC.std(axis=0))) for values_NC in series])
