"""Node classification: a head on any body predicts the class of every node that is asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from regard.core.answers import Answer, LabelAnswer
from regard.core.batch import Examples
from regard.core.errors import DataError
from regard.core.probe import UNKNOWN, Probe
from regard.core.seams.modality import CutsParts
from regard.core.seams.task import Session, Sums
from regard.core.yardsticks import Yardstick
from regard.data.batching import in_length_order, with_progress
from regard.data.corpus import Corpus
from regard.data.modalities.both import Modalities
from regard.data.modalities.graph.asked import SelectedNodes, nodes_at, parse_nodes, select_nodes
from regard.data.modalities.graph.examples import LabelledNodes
from regard.data.modalities.graph.json_graphs import as_graph
from regard.data.tables import distinct
from regard.layers.headed import TokenHead
from regard.tasks import TaskPart
from regard.tasks.augmented import augmented
from regard.tasks.classification import CLASS_HEADLINE, ERRORS_LISTED, FIGURES, ranked_labels
from regard.tasks.graphs.encoding import GraphItems, PartsBatch, PartsItem, PartsTask, gathered
from regard.tasks.graphs.node_yardsticks import node_yardsticks
from regard.tasks.labels import check_known_labels, check_two_labels
from regard.tasks.metrics.classes import class_scores
from regard.tasks.probing import check_no_target, drawing_of, forward_head, head_logits, max_probe_length, reach_of
from regard.tasks.reading import logits_of


class NodeClassificationConfig(TaskPart):
    """Which class each node belongs to; ``labels`` are those of the training data unless they are named."""

    headline = CLASS_HEADLINE
    accuracy = "accuracy"

    kind: str = "node-classification"
    labels: tuple[str, ...] = ()
    dropout: float = Field(0.1, ge=0, lt=1)  # before the last matrix
    label_smoothing: float = Field(0.0, ge=0, lt=1)

    def example(self, tokenizer: Any) -> str:
        return "graph.json#node"

    def resolved(self, corpus: Corpus[Any]) -> NodeClassificationConfig:
        """With the labels that the data has."""
        check_examples(corpus)
        there = distinct([label for one in corpus.splits.get("train", ()) for label in one.labels])
        return self.model_copy(update={"labels": self.labels or tuple(sorted(there))})

    def unresolved(self) -> NodeClassificationConfig:
        return self.model_copy(update={"labels": ()})

    def build(self, corpus: Corpus[Any], modalities: Modalities, seed: int) -> NodeClassification:
        check_examples(corpus)
        return NodeClassification(self, corpus, modalities, seed)


def check_examples(corpus: Corpus[Any]) -> None:
    if any(not isinstance(one, LabelledNodes) for own in corpus.splits.values() for one in own[:1]):
        raise DataError('node-classification needs graphs whose nodes have classes; choose data.kind = "graph-nodes"')


class NodeClassification(PartsTask):
    """The task over one corpus. A graph is read whole in every split, and its nodes are asked about in some."""

    config: NodeClassificationConfig

    def __init__(
        self, config: NodeClassificationConfig, corpus: Corpus[LabelledNodes], modalities: Modalities, seed: int
    ) -> None:
        self.labels = config.labels
        self.label_places = {label: place for place, label in enumerate(config.labels)}
        every = [(label, one) for own in corpus.splits.values() for one in own for label in one.labels]
        check_known_labels(every, self.label_places)
        super().__init__(config, corpus, modalities, seed)

    def asked(self, items: GraphItems, one: LabelledNodes) -> PartsItem:
        gold_M = np.array([self.label_places[label] for label in one.labels], np.int64)
        return PartsItem(items.of(one.raw), np.array(one.places, np.int64), gold_M)

    def head(self, body: Any) -> nn.Module:
        """W s + b."""
        check_two_labels(self.config.labels)
        return TokenHead(body.width, len(self.config.labels), self.config.dropout)

    # -- examples and batches -------------------------------------------------------------------------------

    def examples(self, split: str, epoch: int) -> Examples:
        found = self._encoded.get(split, Examples())
        return augmented(found, self.modality, (self.seed, epoch)) if split == "train" else found

    # -- what is typed --------------------------------------------------------------------------------------

    def parse(self, argument: str) -> SelectedNodes:
        """``graph.json#node``."""
        return parse_nodes(argument, 1)

    def members(self, argument: str) -> list[str]:
        """Of a path all nodes."""
        return nodes_at(argument)

    # -- probes ---------------------------------------------------------------------------------------------

    def probe(self, session: Session, raw: Any, target: str = "") -> Probe:
        """A node with what it can see, as far as that is few nodes enough to be drawn."""
        check_no_target(target, "node")
        graph, (place,) = as_asked(raw)
        item = self.modality.encode([graph])[0]
        if isinstance(self.modality, CutsParts):
            item, place = self.modality.part_around(item, place, reach_of(session.model))
        made = self.probe_examples(session, [PartsItem(item, np.array([place]), nothing(1))])
        return replace(made, text=f"{graph}#{graph.nodes[as_asked(raw).places[0]]}")

    def probe_examples(self, session: Session, items: Sequence[PartsItem]) -> Probe:
        """What is looked at is the first of the nodes that are asked about."""
        first = items[0]
        asked = tuple(first.places[:1].tolist())
        axis = self.modality.axis(first.item)
        made = Probe(
            self.modality.collate([one.item for one in items]), forward_head, head_logits, self.labels.__getitem__,
            "label", axis=axis, asked=asked, expected=(UNKNOWN,) * len(axis.labels),
            answers=lambda logits_TW: self.ranked(softmax_of(logits_TW[asked[0]])) if asked else (),
            text=self.modality.describe(first.item), drawing=drawing_of(self.modality, first.item),
        )  # fmt: skip
        return session.move(made)

    def random_examples(
        self, session: Session, generator: np.random.Generator, rows: int, length: int
    ) -> list[PartsItem]:
        room = max_probe_length(session.model, length)
        return [PartsItem(item, nothing(0), nothing(0)) for item in self.modality.random_items(generator, rows, room)]

    # -- loss -----------------------------------------------------------------------------------------------

    def sums(self, model: nn.Module, batch: PartsBatch) -> Sums:
        logits_MC = node_logits(model, batch)
        smoothing = self.config.label_smoothing if model.training else 0.0
        loss = functional.cross_entropy(logits_MC, batch.gold_M, reduction="sum", label_smoothing=smoothing)
        right, count = (logits_MC.argmax(dim=-1) == batch.gold_M).sum(), len(batch.gold_M)
        return Sums({"loss": loss, "accuracy": right}, {"loss": count, "accuracy": count})

    # -- answers and scores ---------------------------------------------------------------------------------

    @torch.inference_mode()
    def figures(self, session: Session, examples: Examples, figure: str = "softmax") -> list[np.ndarray]:
        """figures_MC of the nodes that each example asks about."""
        model, found = session.model.eval(), [np.zeros((0, len(self.labels)))] * len(examples)
        order = in_length_order(examples.lengths_NA, self.modality.batch_positions)
        for indices in with_progress(order, len(examples), session.progress):
            own = examples.at(indices)
            said_MC = FIGURES[figure](node_logits(model, session.move(self.collate(own))).cpu().double()).numpy()
            ends = np.cumsum([len(one.places) for one in own])
            for index, rows_MC in zip(indices, np.split(said_MC, ends[:-1]), strict=True):
                found[index] = rows_MC
        return found

    def classify(self, session: Session, inputs: Sequence[Any], figure: str = "softmax") -> list[list[LabelAnswer]]:
        """For each node all labels with their probabilities, the largest first; a graph is read once for all of its
        nodes."""
        asked = [as_asked(one) for one in inputs]
        graphs = {id(one.graph): one.graph for one in asked}
        wanted: dict[int, list[int]] = {key: [] for key in graphs}
        for number, one in enumerate(asked):
            wanted[id(one.graph)].append(number)
        items = [
            PartsItem(item, np.array([asked[number].places[0] for number in wanted[key]]), nothing(len(wanted[key])))
            for key, item in zip(graphs, self.modality.encode(list(graphs.values())), strict=True)
        ]
        found: list[list[LabelAnswer]] = [[] for _ in asked]
        said = self.figures(session, gathered(self.modality, items), figure)
        for numbers, rows_MC in zip(wanted.values(), said, strict=True):
            for number, row_C in zip(numbers, rows_MC, strict=True):
                found[number] = self.ranked(row_C)
        return found

    def ranked(self, figures_C: np.ndarray) -> list[LabelAnswer]:
        return ranked_labels(self.labels, figures_C)

    def predict(self, session: Session, inputs: Sequence[Any]) -> list[list[Answer]]:
        """The labels of each node, the most probable first; their score is the probability."""
        return [[*own] for own in self.classify(session, inputs)]

    def score(self, session: Session, split: str) -> dict[str, Any]:
        """Accuracy, F1, calibration and by class, over all nodes that the split asks about; and the errors."""
        examples, encoded = self.corpus.splits[split], self._encoded[split]
        said_NC = np.concatenate(self.figures(session, encoded))
        gold_N = np.concatenate([one.gold_M for one in encoded])
        return {
            **class_scores(said_NC, gold_N, self.labels), "graphs": len(examples),
            "errors": mistakes(examples, said_NC, self.labels),
        }  # fmt: skip

    def yardsticks(self, corpus: Corpus[LabelledNodes], split: str) -> Mapping[str, Yardstick]:
        """The most frequent class, classes that spread along the edges, and a classifier of features alone."""
        known = [kept(one, self.label_places) for one in corpus.splits["train"]]
        return node_yardsticks(self.modality, known, corpus.splits[split], self.label_places)


def as_asked(raw: Any) -> SelectedNodes:
    """A node as it was parsed, or a graph and the name of one of its nodes."""
    if isinstance(raw, SelectedNodes) and len(raw.places) == 1:
        return raw
    if isinstance(raw, tuple) and len(raw) == 2:
        return select_nodes(as_graph(raw[0]), [raw[1]])
    raise DataError("a node of a graph is asked about: give (graph, node), or a path and its name, as in graph.json#a")


def kept(one: LabelledNodes, known: Mapping[str, int]) -> LabelledNodes:
    """Without nodes of classes that the model does not know."""
    pairs = [(place, label) for place, label in zip(one.places, one.labels, strict=True) if label in known]
    return replace(one, places=tuple(place for place, _ in pairs), labels=tuple(label for _, label in pairs))


def node_logits(model: nn.Module, batch: PartsBatch) -> Tensor:
    """logits_MC of the nodes that are asked about."""
    return logits_of(model, batch.inputs).flatten(0, 1)[batch.places]


def softmax_of(logits_W: Tensor) -> np.ndarray:
    return logits_W.detach().double().softmax(-1).cpu().numpy()


def nothing(count: int) -> np.ndarray:
    return np.zeros(count, np.int64)


def mistakes(examples: Sequence[LabelledNodes], said_NC: np.ndarray, labels: Sequence[str]) -> list[dict[str, Any]]:
    """Nodes whose class was said wrongly, the most confident first."""
    every = [
        (f"{one.source}#{one.raw.nodes[place]}", label, one)
        for one in examples for place, label in zip(one.places, one.labels, strict=True)
    ]  # fmt: skip
    best_N, sure_N = said_NC.argmax(axis=1), said_NC.max(axis=1)
    wrong = [index for index, (_, label, _) in enumerate(every) if labels[best_N[index]] != label]
    return [
        {
            "text": every[index][0], "label": every[index][1], "predicted": labels[best_N[index]],
            "probability": float(sure_N[index]), "line": every[index][2].line, "file": every[index][2].origin,
        }
        for index in sorted(wrong, key=lambda index: -sure_N[index])[:ERRORS_LISTED]
    ]  # fmt: skip
