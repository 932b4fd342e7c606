"""Link prediction: a head on any body says of two nodes of a graph whether an edge joins them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from regard.core.answers import Answer, NumberAnswer
from regard.core.batch import Examples
from regard.core.errors import DataError
from regard.core.metrics import share
from regard.core.probe import Probe
from regard.core.seams.modality import Modality
from regard.core.seams.task import Session, Sums
from regard.core.yardsticks import Yardstick
from regard.data.batching import in_length_order, with_progress
from regard.data.corpus import Corpus
from regard.data.modalities.both import Modalities
from regard.data.modalities.graph.asked import SelectedNodes, parse_nodes, select_nodes
from regard.data.modalities.graph.examples import LabelledEdges
from regard.data.modalities.graph.graphs import Graph
from regard.data.modalities.graph.json_graphs import as_graph
from regard.data.modalities.graph.pairs import codes_of, pairs_without_edge
from regard.layers.headed import PairHead, pair_logits
from regard.tasks import TaskPart
from regard.tasks.baselines.common_neighbours import neighbour_scores
from regard.tasks.graphs.encoding import GraphItems, PartsBatch, PartsItem, PartsTask, gathered
from regard.tasks.metrics.ranking import ranking_scores
from regard.tasks.probing import check_no_target, drawing_of, forward_head, head_logits, max_probe_length
from regard.tasks.reading import logits_of


class LinkPredictionConfig(TaskPart):
    """Whether two nodes are joined."""

    headline = (share("roc_auc", "area under the ROC curve"), share("average_precision", "average precision"))
    accuracy = "accuracy"

    kind: str = "link-prediction"
    hidden: float = Field(0.2, gt=0, lt=1)  # the share of edges that are hidden and asked about in training, each epoch
    width: int = Field(64, ge=1)  # of the vectors whose inner product says how well two nodes go together
    dropout: float = Field(0.1, ge=0, lt=1)  # before these

    def example(self, tokenizer: Any) -> str:
        return "graph.json#one#other"

    def resolved(self, corpus: Corpus[Any]) -> LinkPredictionConfig:
        if any(not isinstance(one, LabelledEdges) for own in corpus.splits.values() for one in own[:1]):
            raise DataError(
                'link-prediction needs graphs some of whose edges are hidden; choose data.kind = "graph-links"'
            )
        return self

    def build(self, corpus: Corpus[Any], modalities: Modalities, seed: int) -> LinkPrediction:
        return LinkPrediction(self, corpus, modalities, seed)


class LinkPrediction(PartsTask):
    """The task over one corpus: what is asked about is never among the edges that the model sees."""

    config: LinkPredictionConfig

    def asked(self, items: GraphItems, one: LabelledEdges) -> PartsItem:
        pairs_M2 = np.array(one.pairs_M2, np.int64).reshape(-1, 2)
        return PartsItem(items.of(one.raw), pairs_M2, np.array(one.joined_M, np.float32))

    def head(self, body: Any) -> nn.Module:
        return PairHead(body.width, self.config.width, self.config.dropout)

    # -- examples and batches -------------------------------------------------------------------------------

    def examples(self, split: str, epoch: int) -> Examples:
        found = self._encoded.get(split, Examples())
        if split != "train":
            return found
        drawn = Hidden(self.modality, self.corpus.splits[split], self.config.hidden, (self.seed, epoch))
        return Examples(drawn, found.lengths_NA, lazy=True)

    # -- what is typed --------------------------------------------------------------------------------------

    def parse(self, argument: str) -> SelectedNodes:
        """``graph.json#one#other``."""
        return parse_nodes(argument, 2)

    def members(self, argument: str) -> list[str]:
        return [argument]

    # -- probes ---------------------------------------------------------------------------------------------

    def probe(self, session: Session, raw: Any, target: str = "") -> Probe:
        check_no_target(target, "pair of nodes")
        return self.probe_examples(session, [self.without_edge(as_asked(raw))])

    def probe_examples(self, session: Session, items: Sequence[PartsItem]) -> Probe:
        first, modality = items[0], self.modality
        pair_M2 = torch.from_numpy(first.places[:1])

        def answers(vectors_TK: Tensor) -> list[NumberAnswer]:
            return [*map(number_answer, chances(pair_logits(vectors_TK, pair_M2.to(vectors_TK.device))))]

        return session.move(
            Probe(
                modality.collate([one.item for one in items]), forward_head, head_logits, str, "number",
                axis=modality.axis(first.item), answers=answers, text=modality.describe(first.item),
                drawing=drawing_of(modality, first.item),
            )
        )  # fmt: skip

    def random_examples(
        self, session: Session, generator: np.random.Generator, rows: int, length: int
    ) -> list[PartsItem]:
        room = max_probe_length(session.model, length)
        return [PartsItem(item, no_pairs(), no_gold(0)) for item in self.modality.random_items(generator, rows, room)]

    # -- loss -----------------------------------------------------------------------------------------------

    def sums(self, model: nn.Module, batch: PartsBatch) -> Sums:
        logits_M = asked_logits(model, batch)
        loss = functional.binary_cross_entropy_with_logits(logits_M, batch.gold_M, reduction="sum")
        right, count = ((logits_M > 0) == (batch.gold_M > 0)).sum(), len(batch.gold_M)
        return Sums({"loss": loss, "accuracy": right}, {"loss": count, "accuracy": count})

    # -- answers and scores ---------------------------------------------------------------------------------

    @torch.inference_mode()
    def logits(self, session: Session, examples: Examples) -> list[Tensor]:
        """logits_M of the pairs that each example asks about."""
        model, found = session.model.eval(), [torch.zeros(0)] * len(examples)
        order = in_length_order(examples.lengths_NA, self.modality.batch_positions)
        for indices in with_progress(order, len(examples), session.progress):
            own = examples.at(indices)
            said_M = asked_logits(model, session.move(self.collate(own))).cpu()
            for index, rows_M in zip(indices, said_M.split([len(one.places) for one in own]), strict=True):
                found[index] = rows_M
        return found

    def estimate(self, session: Session, inputs: Sequence[Any]) -> list[NumberAnswer]:
        """For each pair of nodes how probably they are joined; an edge between them is not shown."""
        items = [self.without_edge(as_asked(one)) for one in inputs]
        said = self.logits(session, gathered(self.modality, items))
        return [number_answer(chances(logits_M)[0]) for logits_M in said]

    def without_edge(self, asked: SelectedNodes) -> PartsItem:
        graph, places_M2 = asked.graph, np.array([asked.places])
        kept = codes_of(graph.edges_E2, len(graph)) != codes_of(places_M2, len(graph))
        return PartsItem(self.modality.encode([graph.with_edges(np.flatnonzero(kept))])[0], places_M2, no_gold(1))

    def predict(self, session: Session, inputs: Sequence[Any]) -> list[list[Answer]]:
        return [[one] for one in self.estimate(session, inputs)]

    def score(self, session: Session, split: str) -> dict[str, Any]:
        """How far edges stand before pairs without one, and how many are told apart at 1/2."""
        encoded = self._encoded[split]
        logits_N = torch.cat(self.logits(session, encoded)).double()
        right_N = np.concatenate([one.gold_M for one in encoded]) > 0
        loss = functional.binary_cross_entropy_with_logits(logits_N, torch.from_numpy(right_N).double())
        return {
            "leading": ["roc_auc"], **ranking_scores(logits_N.numpy(), right_N),
            "accuracy": float(((logits_N.numpy() > 0) == right_N).mean()), "loss": float(loss),
            "examples": len(right_N), "edges": int(right_N.sum()), "graphs": len(encoded),
        }  # fmt: skip

    def yardsticks(self, corpus: Corpus[LabelledEdges], split: str) -> Mapping[str, Yardstick]:
        """Neighbours in common, among the edges that the model sees."""
        scored = corpus.splits[split]
        right_N = np.array([joined for one in scored for joined in one.joined_M])
        own = [neighbour_scores(one.raw.edges_E2, len(one.raw), np.array(one.pairs_M2)) for one in scored]
        told = f"{sum(len(one.raw.edges_E2) for one in scored):,} edges"
        return {
            name: Yardstick(ranking_scores(np.concatenate([one[name] for one in own]), right_N), told)
            for name in own[0]
        }


class Hidden(Sequence[PartsItem]):
    """Training graphs of an epoch: a share of the edges is hidden and asked about, and as many pairs without one."""

    def __init__(
        self, modality: Modality, examples: Sequence[LabelledEdges], share: float, key: tuple[int, ...]
    ) -> None:
        self.modality, self.own, self.share, self.key = modality, examples, share, key

    def __len__(self) -> int:
        return len(self.own)

    def __getitem__(self, place: Any) -> Any:
        graph, generator = self.own[place].raw, np.random.default_rng((*self.key, int(place)))
        edges = len(graph.edges_E2)
        order_E, count = generator.permutation(edges), max(round(self.share * edges), 1)
        others_M2 = pairs_without_edge(graph.edges_E2, len(graph), count, generator)
        seen: Graph = graph.with_edges(np.sort(order_E[count:]))
        item = self.modality.augment(self.modality.encode([seen])[0], generator)
        gold_M = np.repeat(np.array([1, 0], np.float32), (count, len(others_M2)))
        return PartsItem(item, np.concatenate((graph.edges_E2[order_E[:count]], others_M2)), gold_M)


def as_asked(raw: Any) -> SelectedNodes:
    """Two nodes as they were parsed, or a graph and the names of two of its nodes."""
    if isinstance(raw, SelectedNodes) and len(raw.places) == 2:
        return raw
    if isinstance(raw, tuple) and len(raw) == 3:
        return select_nodes(as_graph(raw[0]), raw[1:])
    raise DataError(
        "two nodes of a graph are asked about: give (graph, one, other), or a path and their names, as in "
        "graph.json#a#b"
    )


def asked_logits(model: nn.Module, batch: PartsBatch) -> Tensor:
    """logits_M of the pairs that are asked about."""
    return pair_logits(logits_of(model, batch.inputs).flatten(0, 1), batch.places)


def chances(logits_M: Tensor) -> list[float]:
    """How probable an edge is."""
    return logits_M.detach().double().sigmoid().tolist()


def number_answer(chance: float) -> NumberAnswer:
    return NumberAnswer(f"{chance:.6g}", math.log(max(chance, 1e-30)), chance, (chance,))


def no_pairs() -> np.ndarray:
    return np.zeros((0, 2), np.int64)


def no_gold(count: int) -> np.ndarray:
    return np.zeros(count, np.float32)
