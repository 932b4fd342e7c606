"""Graphs about parts of which something is asked: encoded once, however many splits ask about them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from regard.core.batch import Batch, Examples
from regard.core.inputs import Inputs
from regard.core.ports import Ports
from regard.core.seams.modality import Modality
from regard.data.corpus import Corpus
from regard.data.modalities.both import Modalities
from regard.tasks import TaskPart


class PartsItem(NamedTuple):
    """A graph as its modality encodes it, and what is asked of it: ``places`` of nodes (or of pairs of them), and what
    is right for each."""

    item: Any
    places: np.ndarray
    gold_M: np.ndarray


@dataclass(frozen=True, slots=True)
class PartsBatch(Batch):
    """Graphs, and ``places`` among all their nodes, row after row, that are asked about: asked_M, or pairs_M2."""

    inputs: Inputs
    places: Tensor
    gold_M: Tensor
    positions: int

    @property
    def loss_terms(self) -> int:
        return len(self.gold_M)

    @property
    def tokens(self) -> int:
        return max(self.positions, len(self.gold_M))


@dataclass
class GraphItems:
    """Items of graphs, each made once."""

    modality: Modality
    _items: dict[int, tuple[Any, Any]] = field(default_factory=dict)

    def of(self, graph: Any) -> Any:
        held = self._items.get(id(graph))
        if held is None:
            held = self._items[id(graph)] = (graph, self.modality.encode([graph])[0])  # the graph stays, and its id
        return held[1]


class PartsTask(ABC):
    """What tasks about parts of graphs share: each graph is encoded once, and its parts are asked about in batches."""

    additive = True
    static_shapes = False

    def __init__(self, config: TaskPart, corpus: Corpus[Any], modalities: Modalities, seed: int) -> None:
        self.config, self.corpus, self.modalities, self.seed = config, corpus, modalities, seed
        self.modality = modalities.input
        items = GraphItems(self.modality)
        self._encoded = {
            split: gathered(self.modality, [self.asked(items, one) for one in own])
            for split, own in corpus.splits.items()
        }

    @abstractmethod
    def asked(self, items: GraphItems, one: Any) -> PartsItem:
        """An example as numbers."""

    def ports(self) -> Ports:
        return self.modalities.ports()

    def collate(self, items: Sequence[PartsItem]) -> PartsBatch:
        inputs = self.modality.collate([one.item for one in items])
        places = torch.from_numpy(flat_places(items, inputs.values.shape[1]))
        gold_M = torch.from_numpy(np.concatenate([one.gold_M for one in items]))
        return PartsBatch(inputs, places, gold_M, sum(self.modality.size(one.item) for one in items))


def gathered(modality: Modality, items: Sequence[PartsItem]) -> Examples:
    sizes = [modality.size(one.item) for one in items]
    return Examples(items, np.array(sizes, np.int64).reshape(-1, 1))


def flat_places(items: Sequence[PartsItem], longest: int) -> np.ndarray:
    """Their places, where the nodes of all rows stand one after another, each row padded to the longest."""
    return np.concatenate([one.places + row * longest for row, one in enumerate(items)])
