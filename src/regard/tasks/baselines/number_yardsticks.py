"""Yardsticks of numbers: always the same one, and ridge regression on words, pixels, counts or a series' summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.core.ports import Arrays
from regard.core.seams.modality import CountsParts, Modality, ShowsPixels, Summarises
from regard.core.yardsticks import Yardstick
from regard.tasks.baselines.bags import character_features, has_few_words, word_features
from regard.tasks.baselines.counts import count_features, fit_columns
from regard.tasks.baselines.ridge import fit_ridge
from regard.tasks.baselines.sampling import Sample, evenly
from regard.tasks.baselines.yardsticks import MOST_PICTURES, MOST_PIXELS, Yardsticks, bag_of, pixels_of, texts_of
from regard.tasks.metrics.numbers import r_squared, root_mean_squared_error

MOST_EXAMPLES = 10_000
COLUMNS_OF_TEXT = 1000


def number_yardsticks(
    modality: Modality, training: Sequence[Any], scored: Sequence[Any], numbers_NC: np.ndarray, gold_NC: np.ndarray
) -> Yardsticks:
    """By the name of the method; what can be told of an input is the modality's business."""
    everything = evenly(len(training), len(training))
    constant_NC = np.broadcast_to(np.median(numbers_NC, axis=0), gold_NC.shape)
    found = {"always the median": Yardstick(number_figures(constant_NC, gold_NC), everything.describe("examples"))}
    sample = evenly(len(training), MOST_EXAMPLES)
    own, raws = sample.of(training), [[one.input for one in part] for part in (sample.of(training), scored)]
    for name, features in (
        word_columns(own, scored) | part_columns(modality, *raws) | summary_columns(modality, *raws)
        | pixel_columns(modality, own, scored) | series_columns(modality, *raws)
    ).items():  # fmt: skip
        found[f"ridge regression on {name}"] = ridge_yardstick(*features, numbers_NC[sample.places], gold_NC, sample)
    return found


def ridge_yardstick(
    features_NF: np.ndarray, others_MF: np.ndarray, numbers_NC: np.ndarray, gold_MC: np.ndarray, sample: Sample
) -> Yardstick:
    said_MC = fit_ridge(features_NF.astype(np.float64), numbers_NC).predict(others_MF.astype(np.float64))
    return Yardstick(number_figures(said_MC, gold_MC), sample.describe("examples"))


def number_figures(said_NC: np.ndarray, gold_NC: np.ndarray) -> dict[str, float]:
    return {
        "mean_absolute_error": float(np.abs(said_NC - gold_NC).mean()),
        "root_mean_squared_error": root_mean_squared_error(said_NC, gold_NC),
        "r_squared": r_squared(said_NC, gold_NC),
    }


Both = dict[str, tuple[np.ndarray, np.ndarray]]
"""By the name of what they tell, features of training inputs and of those that are scored."""


def word_columns(training: Sequence[Any], scored: Sequence[Any]) -> Both:
    """Words of texts, or characters where texts are single words."""
    own, others = texts_of(training), texts_of(scored)
    if not (own and others):
        return {}
    by_characters = has_few_words([text for texts in own for text in texts])
    split = character_features if by_characters else word_features
    counts = [[Counter(bag_of(texts, split)) for texts in part] for part in (own, others)]
    columns = fit_columns(counts[0], COLUMNS_OF_TEXT)
    name = "characters" if by_characters else "words"
    return {name: (columns.features(counts[0]), columns.features(counts[1]))}


def part_columns(modality: Modality, training: Sequence[Any], scored: Sequence[Any]) -> Both:
    """Whatever the modality counts."""
    if not isinstance(modality, CountsParts):
        return {}
    return count_features(modality.part_counts(training), modality.part_counts(scored))


def summary_columns(modality: Modality, training: Sequence[Any], scored: Sequence[Any]) -> Both:
    """The modality's own summary of an input."""
    if not isinstance(modality, Summarises):
        return {}
    return {f"the {modality.summary_name}": (modality.summaries(training), modality.summaries(scored))}


def pixel_columns(modality: Modality, training: Sequence[Any], scored: Sequence[Any]) -> Both:
    if not isinstance(modality, ShowsPixels) or isinstance(modality, Summarises):
        return {}
    pixels = modality.collate(modality.encode([training[0].input])).values.numel()
    most = min(MOST_PICTURES, max(MOST_PIXELS // pixels, 1))
    if len(training) > most:
        return {}
    return {"pixels": (pixels_of(modality, training), pixels_of(modality, scored))}


def series_columns(modality: Modality, training: Sequence[Any], scored: Sequence[Any]) -> Both:
    """Of each channel of a series the mean, the spread, the least and largest value, the first and the last."""
    port = modality.port()
    if not isinstance(port, Arrays) or len(port.shape) != 1 or isinstance(modality, Summarises):
        return {}
    return {"mean, spread, extremes and ends": (series_features(modality, training), series_features(modality, scored))}


def series_features(modality: Modality, raws: Sequence[Any]) -> np.ndarray:
    rows = []
    for item in modality.encode(raws):
        inputs = modality.collate([item])
        values_CN = inputs.values[0].double().numpy()
        if inputs.lengths_B is not None:
            values_CN = values_CN[:, : int(inputs.lengths_B[0])]
        figures = [values_CN.mean(1), values_CN.std(1), values_CN.min(1), values_CN.max(1), values_CN[:, 0],
                   values_CN[:, -1]]  # fmt: skip
        rows.append(np.concatenate(figures))
    return np.stack(rows)
