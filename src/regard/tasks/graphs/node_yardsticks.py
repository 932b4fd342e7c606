"""Simple methods for classes of nodes: the most frequent one, edges without features, features without edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from regard.core.seams.modality import DescribesNodes, Modality
from regard.core.yardsticks import Yardstick
from regard.data.modalities.graph.examples import LabelledNodes
from regard.tasks.baselines.label_propagation import spread_labels
from regard.tasks.baselines.softmax_regression import fit_softmax_regression
from regard.tasks.baselines.yardsticks import Yardsticks, class_figures

MOST_FEATURES = 50_000_000
"""Numbers of the training nodes that a regression is fitted on."""


def node_yardsticks(
    modality: Modality, training: Sequence[LabelledNodes], scored: Sequence[LabelledNodes], known: Mapping[str, int]
) -> Yardsticks:
    labels_N, gold_N = (places_of(own, known) for own in (training, scored))
    told = f"{len(labels_N):,} nodes"
    usual = int(np.bincount(labels_N, minlength=len(known)).argmax())
    said = {"most frequent class": np.full(len(gold_N), usual)}
    if spread := propagated(training, scored, known):
        said["label propagation"] = np.concatenate(spread)
    if isinstance(modality, DescribesNodes) and (features := described(modality, training, scored)):
        model = fit_softmax_regression(features[0], labels_N, len(known))
        said["softmax regression on features of nodes alone"] = model.predict(features[1])
    return {name: Yardstick(class_figures(own_N, gold_N, len(known)), told) for name, own_N in said.items()}


def places_of(examples: Sequence[LabelledNodes], known: Mapping[str, int]) -> np.ndarray:
    return np.array([known[label] for one in examples for label in one.labels], np.int64)


def propagated(
    training: Sequence[LabelledNodes], scored: Sequence[LabelledNodes], known: Mapping[str, int]
) -> list[np.ndarray]:
    """For each scored graph the classes that known ones bring; none where nothing of the graphs is known."""
    own = {one.raw.digest: one for one in training}
    if not all(one.raw.digest in own for one in scored):
        return []
    found = []
    for one in scored:
        given = own[one.raw.digest]
        labels_M = np.array([known[label] for label in given.labels], np.int64)
        scores_NC = spread_labels(
            one.raw.edges_E2, len(one.raw), np.array(given.places, np.int64), labels_M, len(known)
        )
        found.append(scores_NC[list(one.places)].argmax(axis=1))
    return found


def described(
    modality: DescribesNodes, training: Sequence[LabelledNodes], scored: Sequence[LabelledNodes]
) -> list[np.ndarray]:
    """features_MF of the nodes of both; nothing where they have none, or too many."""
    found = [
        np.concatenate([modality.node_values(one.raw)[list(one.places)] for one in own]) for own in (training, scored)
    ]
    return found if 0 < found[0].size <= MOST_FEATURES else []
