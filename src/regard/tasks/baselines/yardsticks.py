"""Yardsticks of each kind of task: simple methods fitted on training examples and scored on others, within seconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from regard.core.seams.modality import CountsParts, Modality, Summarises
from regard.core.yardsticks import Yardstick
from regard.data.corpus import Pair
from regard.data.examples import HasLabel, HasTexts, QuestionExample, Tagged
from regard.data.trees import Tree
from regard.tasks.baselines.bags import WeightedWords, character_features, has_few_words, word_features
from regard.tasks.baselines.counts import count_features
from regard.tasks.baselines.lookup import fit_lookup, looked_up
from regard.tasks.baselines.naive_bayes import fit_naive_bayes
from regard.tasks.baselines.near_means import fit_nearest_mean
from regard.tasks.baselines.near_spans import fit_near_spans
from regard.tasks.baselines.right_branching import fit_right_branching
from regard.tasks.baselines.sampling import Sample, evenly, within
from regard.tasks.baselines.softmax_regression import fit_softmax_regression
from regard.tasks.baselines.word_tags import fit_word_tags
from regard.tasks.metrics.answers import answer_scores
from regard.tasks.metrics.brackets import bracket_scores
from regard.tasks.metrics.classes import confusion, macro_f1
from regard.tasks.metrics.entities import entity_scores
from regard.tasks.metrics.retrieval import retrieval_scores
from regard.tasks.metrics.text import exact_match

Yardsticks = dict[str, Yardstick]

MOST_CHARACTERS = 16_000_000
"""Of the training texts that are counted."""
MOST_TEXTS = 200_000
MOST_PICTURES = 10_000
MOST_SUMMARIES = 5_000
MOST_PIXELS = 500_000_000
"""Of the training pictures that are decoded, at the size at which the model reads them."""
MOST_COUNTED = 10_000
SPREAD_OF_COUNTS = 10.0
"""Counts that spread less stay as they are; wider ones, sums of numbers among them, would rule all others."""
SIDE = 28
"""Pixels to a side, to which larger pictures are shrunk."""
PICTURES_AT_ONCE = 250


def kept(scores: Mapping[str, Any], *names: str) -> dict[str, float]:
    """The figures under these names, as far as they are there."""
    return {name: float(scores[name]) for name in names if name in scores}


# -- classes ------------------------------------------------------------------------------------------------------


def class_yardsticks(
    training: Sequence[HasLabel], scored: Sequence[HasLabel], places: Mapping[str, int]
) -> Yardsticks:
    """The most frequent class; for texts naive Bayes on words, or on characters where texts are single words."""
    labels_N, gold_N = (places_of(examples, places) for examples in (training, scored))
    usual = int(np.bincount(labels_N, minlength=len(places)).argmax())
    figures = class_figures(np.full(len(gold_N), usual), gold_N, len(places))
    found = {"most frequent class": Yardstick(figures, evenly(len(training), len(training)).describe("examples"))}
    own, others = texts_of(training), texts_of(scored)
    return found | (text_class_yardstick(own, others, labels_N, gold_N, len(places)) if own and others else {})


def text_class_yardstick(
    training: Sequence[Sequence[str]], scored: Sequence[Sequence[str]], labels_N: np.ndarray, gold_N: np.ndarray,
    classes: int,
) -> Yardsticks:  # fmt: skip
    sample = within(training, lambda texts: sum(map(len, texts)), MOST_CHARACTERS, MOST_TEXTS)
    own = sample.of(training)
    by_characters = has_few_words([text for texts in own for text in texts])
    features = character_features if by_characters else word_features
    model = fit_naive_bayes([bag_of(texts, features) for texts in own], labels_N[sample.places], classes)
    figures = class_figures(model.predict([bag_of(texts, features) for texts in scored]), gold_N, classes)
    name = f"naive Bayes on {'characters' if by_characters else 'words'}"
    return {name: Yardstick(figures, sample.describe("texts"))}


def picture_class_yardstick(
    modality: Modality, training: Sequence[HasLabel], scored: Sequence[HasLabel], places: Mapping[str, int]
) -> Yardsticks:
    """Softmax regression on the pixels of pictures that are shrunk to at most 28 × 28."""
    pixels = modality.collate(modality.encode([training[0].input])).values.numel()
    sample = evenly(len(training), min(MOST_PICTURES, max(MOST_PIXELS // pixels, 1)))
    own = sample.of(training)
    model = fit_softmax_regression(pixels_of(modality, own), places_of(own, places), len(places))
    gold_N = places_of(scored, places)
    figures = class_figures(model.predict(pixels_of(modality, scored)), gold_N, len(places))
    return {"softmax regression on pixels": Yardstick(figures, sample.describe("pictures"))}


def summary_class_yardsticks(
    modality: Summarises, training: Sequence[HasLabel], scored: Sequence[HasLabel], places: Mapping[str, int]
) -> Yardsticks:
    """The class whose mean summary is nearest, and softmax regression on summaries."""
    sample = evenly(len(training), MOST_SUMMARIES)
    own = sample.of(training)
    labels_N, gold_N = places_of(own, places), places_of(scored, places)
    features_NF, asked_NF = (modality.summaries([one.input for one in examples]) for examples in (own, scored))
    softmax = fit_softmax_regression(features_NF, labels_N, len(places))
    nearest = fit_nearest_mean(features_NF, labels_N)
    return {
        name: Yardstick(class_figures(said_N, gold_N, len(places)), sample.describe("examples"))
        for name, said_N in (
            (f"nearest mean {modality.summary_name}", nearest.predict(asked_NF)),
            (f"softmax regression on the {modality.summary_name}", softmax.predict(asked_NF)),
        )
    }


def part_class_yardsticks(
    modality: Modality, training: Sequence[HasLabel], scored: Sequence[HasLabel], places: Mapping[str, int]
) -> Yardsticks:
    """Softmax regression on whatever the modality counts in an input."""
    if not isinstance(modality, CountsParts):
        return {}
    sample, gold_N = evenly(len(training), MOST_COUNTED), places_of(scored, places)
    own = sample.of(training)
    labels_N, found = places_of(own, places), {}
    counts, others = (modality.part_counts([one.input for one in part]) for part in (own, scored))
    for name, (features_NF, others_MF) in count_features(counts, others).items():
        model = fit_softmax_regression(features_NF, labels_N, len(places), spread=SPREAD_OF_COUNTS)
        figures = class_figures(model.predict(others_MF), gold_N, len(places))
        found[f"softmax regression on {name}"] = Yardstick(figures, sample.describe("examples"))
    return found


def class_figures(predicted_N: np.ndarray, gold_N: np.ndarray, classes: int) -> dict[str, float]:
    counts_CC = confusion(gold_N, predicted_N, classes)
    return {"accuracy": float(np.trace(counts_CC) / len(gold_N)), "macro_f1": macro_f1(counts_CC)}


def places_of(examples: Sequence[HasLabel], places: Mapping[str, int]) -> np.ndarray:
    return np.array([places[one.label] for one in examples], np.int64)


def texts_of(examples: Sequence[Any]) -> list[tuple[str, ...]]:
    """The texts of every example; nothing where examples have none."""
    if any(not isinstance(one, HasTexts) for one in examples[:1]):
        return []
    return [tuple(text for side in one.sides() for text in side) for one in examples]


def bag_of(texts: Sequence[str], features: Callable[[str], list[str]]) -> list[str]:
    """The features of a text; those of a second one are told apart from the first's."""
    first, *others = texts
    return features(first) + [f"\t{one}" for other in others for one in features(other)]


def pixels_of(modality: Modality, examples: Sequence[HasLabel]) -> np.ndarray:
    """features_NF, as the model is shown the pictures, but smaller."""
    parts = []
    for start in range(0, len(examples), PICTURES_AT_ONCE):
        raws = [one.input for one in examples[start : start + PICTURES_AT_ONCE]]
        pixels_BCHW = modality.collate(modality.encode(raws)).values
        rows, columns = (min(side, SIDE) for side in pixels_BCHW.shape[2:])
        parts.append(functional.adaptive_avg_pool2d(pixels_BCHW, (rows, columns)).flatten(1))
    return torch.cat(parts).numpy()


# -- words --------------------------------------------------------------------------------------------------------


def tag_yardsticks(
    training: Sequence[Tagged], scored: Sequence[Tagged], places: Mapping[str, int], *, bio: bool
) -> Yardsticks:
    """The most frequent tag of each word."""
    sample = within(training, lambda one: len(one.source), MOST_CHARACTERS, MOST_TEXTS)
    model = fit_word_tags((one.words, one.tags) for one in sample.of(training))
    said = [[model.tag(word) for word in one.words] for one in scored]
    said_N = np.array([places[tag] for tags in said for tag in tags], np.int64)
    gold_N = np.array([places[tag] for one in scored for tag in one.tags], np.int64)
    figures = class_figures(said_N, gold_N, len(places))
    if bio:
        entities = entity_scores([one.tags for one in scored], said)
        figures = kept(entities, "entity_f1", "entity_precision", "entity_recall") | figures
    return {"most frequent tag of each word": Yardstick(figures, sample.describe("sentences"))}


def tree_yardsticks(training: Sequence[Tree], fitted_on: str, scored: Sequence[Tree]) -> Yardsticks:
    """The right-branching tree with the most frequent labels."""
    model = fit_right_branching(training)
    trees = [model.parse(tree.words()) for tree in scored]
    figures = kept(
        bracket_scores(trees, scored).figures(),
        "bracket_f1", "bracket_precision", "bracket_recall", "unlabelled_f1", "tag_accuracy",
    )  # fmt: skip
    figures["exact_match"] = exact_match([str(tree) for tree in trees], [str(tree) for tree in scored]).rate
    return {"right-branching tree": Yardstick(figures, fitted_on)}


# -- pairs --------------------------------------------------------------------------------------------------------


def pair_yardsticks(
    training: Sequence[Pair], scored: Sequence[Pair], score: Callable[[Sequence[str], Sequence[str]], dict[str, float]]
) -> Yardsticks:
    """The source as the target, and what the training pairs have where they have the source; ``score`` gives the
    figures of texts against references."""
    sources, references = [pair.source for pair in scored], [pair.target for pair in scored]
    sample = evenly(len(training), 10 * MOST_TEXTS)
    table = fit_lookup((pair.source, pair.target) for pair in sample.of(training))
    answers = looked_up(table, sources)
    found = {"the source as it is": Yardstick(score(sources, references), "nothing")}
    if answers != sources:
        name = "target of the same source in training"
        found[name] = Yardstick(score(answers, references), sample.describe("pairs"))
    return found


def retrieval_yardsticks(training: Sequence[Pair], scored: Sequence[Pair]) -> Yardsticks:
    """The cosine of weighted words."""
    sample = within(training, lambda pair: len(pair.source) + len(pair.target), MOST_CHARACTERS, MOST_TEXTS)
    words = WeightedWords([text for pair in sample.of(training) for text in (pair.source, pair.target)])
    sources, targets = [pair.source for pair in scored], [pair.target for pair in scored]
    scores = retrieval_scores(words.vectors(sources), words.vectors(targets), sources, targets)
    figures = kept(scores, "retrieval_accuracy", "mean_reciprocal_rank")
    return {"cosine of weighted words": Yardstick(figures, sample.describe("pairs"))}


# -- questions ----------------------------------------------------------------------------------------------------


def answer_yardsticks(training: Sequence[QuestionExample], scored: Sequence[QuestionExample]) -> Yardsticks:
    """The words that are nearest to those of the question; where training has such, that there is no answer."""
    sample = within(training, lambda one: len(one.context), MOST_CHARACTERS, MOST_TEXTS)
    own = sample.of(training)
    model = fit_near_spans((one.context for one in own), [one.answers[0].text for one in own if one.answers])
    ways = {"words nearest to the question's": [model.answer(one.question, one.context) for one in scored]}
    if any(not one.answers for one in own):
        ways["no answer to any question"] = [""] * len(scored)
    references = [[text for text, _ in one.answers] for one in scored]
    return {
        name: Yardstick(
            kept(answer_scores(answers, references), "exact_match", "f1", "no_answer_accuracy"),
            sample.describe("questions"),
        )
        for name, answers in ways.items()
    }


def sampled_trees(pairs: Sequence[Pair], read: Callable[[Sequence[Pair]], list[Tree]]) -> tuple[list[Tree], str]:
    """Trees of as many training pairs as are used, and how many these are."""
    sample: Sample = within(pairs, lambda pair: len(pair.target), MOST_CHARACTERS, MOST_TEXTS)
    return read(sample.of(pairs)), sample.describe("trees")
